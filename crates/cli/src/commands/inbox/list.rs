//! Lists the open questions, oldest first.

use std::borrow::Cow;
use std::io::{self, Write};

use unstuck_core::question::QuestionOption;
use unstuck_core::time::Time;
use unstuck_store::tables::{QuestionRow, QuestionStatus};

use super::{Asked, InboxContext};
use crate::error::CliError;
use crate::project;
use crate::render::style::{CODE, DIM, TITLE};
use crate::render::{self, when, words, wrap_text};

/// Column at which the text of a question begins.
const INDENT: usize = 4;

pub(super) async fn run(inbox: &InboxContext<'_>, all: bool) -> Result<(), CliError> {
    let status = (!all).then_some(QuestionStatus::Pending);
    let questions = inbox.load_questions(status).await?;
    let mut out = inbox.terminal.styled();
    if inbox.json {
        render::write_json(&mut out, &questions)?;
    } else if questions.is_empty() {
        writeln!(out, "{}", render_empty(all))?;
    } else {
        let now = project::now();
        let width = inbox.terminal.width();
        let open = questions.iter().filter(|asked| asked.is_open()).count();
        writeln!(out, "{}", render_heading(open))?;
        for asked in &questions {
            writeln!(out)?;
            write_question(&mut out, asked, now, width)?;
        }
        if let Some(first) = questions.iter().find(|asked| asked.is_open()) {
            writeln!(out)?;
            write_next_steps(&mut out, &first.row)?;
        }
    }
    Ok(out.flush()?)
}

const fn render_empty(all: bool) -> &'static str {
    if all {
        "No question was ever asked here."
    } else {
        "Nothing waits for you. `unstuck status` shows how the work goes."
    }
}

fn render_heading(open: usize) -> String {
    match open {
        0 => "Nothing waits for you.".to_owned(),
        1 => "One question waits for you.".to_owned(),
        many => format!("{many} questions wait for you."),
    }
}

fn write_question(out: &mut impl Write, asked: &Asked, now: Time, width: usize) -> io::Result<()> {
    let row = &asked.row;
    let facts = [render_waiting(row), render_question_age(asked, now)];
    let facts: Vec<&str> = facts.iter().map(String::as_str).filter(|f| !f.is_empty()).collect();
    let id = row.id.to_string();
    let kind = words::describe_kind(row.kind);
    let column = id.chars().count().max(INDENT - 2) + 2;
    let rest = wrap_text(&format!("· {}", facts.join(" · ")), column, width);
    writeln!(out, "{TITLE}{id:2}  {kind}{TITLE:#} {DIM}{rest}{DIM:#}")?;
    writeln!(out, "{:INDENT$}{}", "", wrap_text(&render_problem(row), INDENT, width))?;
    if asked.is_open() {
        write_choices(out, row, width)?;
    }
    Ok(())
}

/// Returns the problem of a question; what waited when it was asked is left out once it has ended.
pub(super) fn render_problem(row: &QuestionRow) -> Cow<'_, str> {
    match row.status {
        QuestionStatus::Pending => Cow::Borrowed(&row.text.problem),
        _ => Cow::Owned(row.text.problem_when_ended()),
    }
}

/// Writes the command word of each choice, with its label.
fn write_choices(out: &mut impl Write, row: &QuestionRow, width: usize) -> io::Result<()> {
    let options = &row.text.options;
    let word = |option: &QuestionOption| words::choice_word(option.value, row.code);
    let widest = options.iter().map(|option| word(option).len()).max().unwrap_or_default();
    for (at, option) in options.iter().enumerate() {
        let here = if row.text.recommends(at) { " (recommended)" } else { "" };
        let label = format!("{}{here}", option.label);
        let value = word(option);
        let label = wrap_text(&label, INDENT + widest + 2, width);
        writeln!(out, "{:INDENT$}{CODE}{value:widest$}{CODE:#}  {label}", "")?;
    }
    Ok(())
}

/// Formats how many tasks wait for the answer; a question without tasks holds the whole build, and one about
/// a job that keeps its schedule holds nothing.
fn render_waiting(row: &QuestionRow) -> String {
    match row.tasks.len() {
        _ if row.status != QuestionStatus::Pending || row.holds_nothing() => String::new(),
        0 => "the build waits".to_owned(),
        1 => "1 task waits".to_owned(),
        many => format!("{many} tasks wait"),
    }
}

/// Formats the age of an open question, or the end of a closed one.
pub(super) fn render_question_age(asked: &Asked, now: Time) -> String {
    let row = &asked.row;
    let ended = when::render_ago(row.resolved_at.unwrap_or(row.created_at), now);
    match (row.status, &asked.answer) {
        (QuestionStatus::Pending, None) => {
            format!("asked {}", when::render_ago(row.created_at, now))
        }
        (QuestionStatus::Pending, Some(answer)) => {
            let word = words::choice_word(answer.decision, row.code);
            let given =
                render_answer(Some(&answer.by), &when::render_ago(answer.at, now), Some(word));
            format!("{given}, takes effect at the next start")
        }
        (QuestionStatus::Withdrawn, _) => {
            format!("withdrawn {ended}: the answer is no longer needed")
        }
        (QuestionStatus::Resolved | QuestionStatus::Skipped, _) => {
            let word = row.decision.map(|decision| words::choice_word(decision, row.code));
            render_answer(row.answered_by.as_deref(), &ended, word)
        }
    }
}

/// Formats an answer, such as `answered by anna 2 min ago: skip_feature`.
fn render_answer(by: Option<&str>, ago: &str, word: Option<&str>) -> String {
    let by = by.map(|by| format!(" by {}", words::plain_line(by))).unwrap_or_default();
    let word = word.map(|word| format!(": {word}")).unwrap_or_default();
    format!("answered{by} {ago}{word}")
}

fn write_next_steps(out: &mut impl Write, first: &QuestionRow) -> io::Result<()> {
    let id = first.id.0;
    writeln!(out, "{DIM}`unstuck inbox show {id}` says more about a question.{DIM:#}")?;
    let chosen = first.text.options.iter().enumerate().find(|(at, _)| first.text.recommends(*at));
    let Some((_, option)) = chosen.or_else(|| first.text.options.iter().enumerate().next()) else {
        return Ok(());
    };
    let command = words::answer_command(id, option, first.code);
    writeln!(out, "{DIM}`{command}` answers it.{DIM:#}")
}
