//! Output of the demo, and the person who answers its questions: the user at the terminal, or a stand-in.

use std::io::{self, BufRead, IsTerminal, Write};

use unstuck_core::engine::RecordedEvent;
use unstuck_core::fault::Code;
use unstuck_core::question::{Decision, QuestionText};
use unstuck_core::tell::brief;
use unstuck_core::time::{Span, Time};

use crate::error::CliError;
use crate::render::style::{CODE, DIM, ERROR, TITLE};
use crate::render::{style, when, words, wrap_text};

/// Column at which the sentences begin.
const INDENT: usize = 14;
/// Commands to try next, with their purpose.
const NEXT: [(&str, &str); 3] = [
    ("unstuck init", "looks at it and writes its settings; then `unstuck run \"a goal\"`."),
    ("unstuck report", "what is done, what was checked, what waits for you."),
    ("unstuck why r0", "which rule took each decision about a run."),
];
const QUICK_START: &str =
    "The quick start, docs/guide/quick-start.md, leads there in five minutes.";

pub(super) fn write_opening(
    out: &mut impl Write,
    seed: u64,
    scripted: bool,
    goes_on: bool,
) -> io::Result<()> {
    writeln!(
        out,
        "{TITLE}A night with Unstuck{TITLE:#} {DIM}· 6 tasks, 3 at a time · seed {seed}{DIM:#}"
    )?;
    writeln!(
        out,
        "{DIM}The agents follow a script; git, the checks and every decision are real.{DIM:#}"
    )?;
    if scripted {
        writeln!(
            out,
            "{DIM}There is no terminal to answer at: the recommended answers are taken.{DIM:#}"
        )?;
    }
    if goes_on {
        writeln!(out, "{DIM}An earlier night was interrupted; it continues.{DIM:#}")?;
    }
    writeln!(out)
}

pub(super) fn write_event(
    out: &mut impl Write,
    recorded: &RecordedEvent,
    sentence: &str,
    width: usize,
) -> io::Result<()> {
    let (mark, color) = style::event_mark(&recorded.event);
    let sentence = wrap_text(sentence, INDENT, width);
    writeln!(
        out,
        "  {DIM}{}{DIM:#}  {color}{mark}{color:#} {sentence}",
        when::render_second(recorded.at)
    )
}

pub(super) fn write_kill(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "            {ERROR}✝{ERROR:#} kill -9: nothing is left but what is on disk.")
}

pub(super) fn write_read_back(out: &mut impl Write, at: Time, events: u64) -> io::Result<()> {
    writeln!(
        out,
        "  {DIM}{}{DIM:#}  {DIM}▸{DIM:#} {events} events read back by another process; work continues.",
        when::render_second(at)
    )
}

pub(super) fn write_question(
    out: &mut impl Write,
    words: &QuestionText,
    width: usize,
) -> io::Result<()> {
    writeln!(out)?;
    writeln!(out, "  {TITLE}A question for you{TITLE:#}")?;
    writeln!(out, "  {}", wrap_text(&words.problem, 2, width))?;
    for attempt in &words.attempts {
        writeln!(out, "    · {}", wrap_text(attempt, 6, width))?;
    }
    for (at, option) in words.options.iter().enumerate() {
        let number = at + 1;
        let here = if words.recommends(at) { " (recommended)" } else { "" };
        writeln!(out, "  {TITLE}{number}. {}{TITLE:#}{DIM}{here}{DIM:#}", option.label)?;
        writeln!(out, "     {}", wrap_text(&option.description, 5, width))?;
    }
    writeln!(out, "  {DIM}{}{DIM:#}", wrap_text(&words.recommended_text, 2, width))
}

pub(super) fn write_answer(
    out: &mut impl Write,
    answer: &DemoAnswer,
    code: Option<Code>,
) -> io::Result<()> {
    let who = if answer.scripted { "chosen for you" } else { "your answer" };
    writeln!(out, "  {DIM}{who}: {}{DIM:#}\n", words::choice_word(answer.decision, code))
}

/// Shows the reasons of decisions: one decision of each kind.
pub(super) fn write_reasons(
    out: &mut impl Write,
    journal: &[RecordedEvent],
    width: usize,
) -> io::Result<()> {
    writeln!(
        out,
        "\n{TITLE}Why?{TITLE:#} {DIM}Every decision names its rule and its counters.{DIM:#}"
    )?;
    let mut shown = Vec::new();
    for recorded in journal {
        let Some(why) = &recorded.why else { continue };
        let (Some(about), false) = (why.code, shown.contains(&why.rule)) else { continue };
        shown.push(why.rule);
        let counts: Vec<String> = why
            .counts
            .iter()
            .map(|count| format!("{} {} of {}", count.counter, count.at, count.limit))
            .collect();
        let counts =
            if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
        let sentence = format!("{}{counts}", brief::render_rule(why));
        writeln!(out, "  {CODE}{about}{CODE:#}\n    {}", wrap_text(&sentence, 4, width))?;
    }
    let events = journal.len();
    let took = journal_span(journal);
    let closing = format!(
        "{events} events over {took} of virtual time. `unstuck explain CODE` says more about each \
         code."
    );
    writeln!(out, "\n{DIM}{}{DIM:#}", wrap_text(&closing, 0, width))
}

/// Writes the heading of the report, which is the same as for any build.
pub(super) fn write_report_heading(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{TITLE}In the morning{TITLE:#} {DIM}· this is `unstuck report`{DIM:#}\n")
}

/// Writes the next commands. Nothing of the night is kept, so all of them are about other work.
pub(super) fn write_next_steps(out: &mut impl Write, width: usize) -> io::Result<()> {
    writeln!(out, "\n{TITLE}Next, in a project of your own{TITLE:#}")?;
    for (command, does) in NEXT {
        writeln!(out, "  {CODE}{command:14}{CODE:#} {}", wrap_text(does, 17, width))?;
    }
    writeln!(out, "  {}", wrap_text(QUICK_START, 2, width))
}

fn journal_span(journal: &[RecordedEvent]) -> Span {
    match (journal.first(), journal.last()) {
        (Some(first), Some(last)) => last.at.since(first.at),
        _ => Span::ZERO,
    }
}

pub(super) struct DemoAnswer {
    pub(super) decision: Decision,
    pub(super) guidance: Option<String>,
    /// Set if the stand-in took the recommended choice, because there is no terminal.
    pub(super) scripted: bool,
}

/// Number of answers after which the stand-in stops asking for another try.
const PATIENCE: u32 = 10;

/// The person who answers, or the stand-in.
pub(super) struct DemoAnswerer {
    scripted: bool,
    answered: u32,
}

impl DemoAnswerer {
    /// Creates the person at the terminal, or a stand-in without one.
    pub(super) fn new(auto: bool) -> Self {
        let scripted = auto || !io::stdin().is_terminal() || !io::stdout().is_terminal();
        Self { scripted, answered: 0 }
    }

    pub(super) const fn is_scripted(&self) -> bool {
        self.scripted
    }

    pub(super) fn answer_question(
        &mut self,
        out: &mut impl Write,
        words: Option<&QuestionText>,
    ) -> Result<DemoAnswer, CliError> {
        let Some(words) = words else { return Ok(recommended_answer(Decision::Continue)) };
        while !self.scripted {
            write!(out, "  your choice [1-{}]: ", words.options.len())?;
            out.flush()?;
            let Some(line) = read_line()? else {
                self.scripted = true;
                break;
            };
            let number = line.trim().parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            if let Some(option) = number.and_then(|at| words.options.get(at)) {
                let guidance = ask_guidance(out, option.value)?;
                return Ok(DemoAnswer { decision: option.value, guidance, scripted: false });
            }
        }
        self.answered += 1;
        let last = words.options.last().map(|option| option.value);
        let given_up = last.filter(|_| self.answered > PATIENCE);
        Ok(recommended_answer(
            given_up.or(words.recommended).or(last).unwrap_or(Decision::Continue),
        ))
    }
}

const fn recommended_answer(decision: Decision) -> DemoAnswer {
    DemoAnswer { decision, guidance: None, scripted: true }
}

fn ask_guidance(out: &mut impl Write, decision: Decision) -> Result<Option<String>, CliError> {
    if decision != Decision::ProvideGuidance {
        return Ok(None);
    }
    write!(out, "  your hint: ")?;
    out.flush()?;
    Ok(read_line()?.map(|line| line.trim().to_owned()))
}

fn read_line() -> Result<Option<String>, CliError> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let read =
        read.map_err(|source| CliError::Input { place: "standard input".to_owned(), source })?;
    Ok((read > 0).then_some(line))
}
