//! Shows a question in full: first for the person who answers, then for operators.

use std::io::{self, Write};

use unstuck_core::engine::QuestionId;
use unstuck_store::tables::QuestionStatus;

use super::{Asked, Desk, list};
use crate::error::Error;
use crate::project;
use crate::render::{self, style, when, words, wrapped};

/// Maximum number of task names.
const NAMES_MAX: usize = 5;

/// Shows one question, or every open one.
pub(super) async fn run(
    desk: &Desk<'_>,
    id: Option<QuestionId>,
    evidence: bool,
) -> Result<(), Error> {
    let mut out = desk.terminal.styled();
    let Some(id) = id else {
        let mut open = desk.questions(Some(QuestionStatus::Pending)).await?;
        open.retain(Asked::is_open);
        if desk.json {
            render::json(&mut out, &open)?;
        } else if open.is_empty() {
            return list::run(desk, false).await;
        }
        for (number, asked) in open.iter().enumerate().filter(|_| !desk.json) {
            out.write_all(if number == 0 { b"" } else { b"\n" })?;
            show(desk, asked, evidence, &mut out).await?;
        }
        return Ok(out.flush()?);
    };
    let asked = desk.asked(id).await?;
    if desk.json {
        render::json(&mut out, &asked)?;
    } else {
        show(desk, &asked, evidence, &mut out).await?;
    }
    Ok(out.flush()?)
}

async fn show(
    desk: &Desk<'_>,
    asked: &Asked,
    evidence: bool,
    out: &mut impl Write,
) -> Result<(), Error> {
    let name = desk.project.name();
    let tasks = project::tasks_of(desk.store.as_ref(), name, &asked.row.tasks).await?;
    let names = tasks.values().map(|task| words::name(task.id, &task.spec)).collect();
    let unfolded = evidence || desk.shows_evidence();
    let page = Page { asked, names, unfolded, width: desk.terminal.width() };
    Ok(page.write(out)?)
}

struct Page<'a> {
    asked: &'a Asked,
    /// The names of the waiting tasks.
    names: Vec<String>,
    /// Set if the evidence is shown.
    unfolded: bool,
    width: usize,
}

impl Page<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.head(out)?;
        self.tried(out)?;
        self.evidence(out)?;
        self.choices(out)?;
        self.operators(out)
    }

    fn head(&self, out: &mut impl Write) -> io::Result<()> {
        let row = &self.asked.row;
        let title = style::TITLE;
        let dim = style::DIM;
        let kind = words::kind(row.kind);
        let stands = wrapped(&list::stands(self.asked, project::now()), 0, self.width);
        writeln!(out, "{title}Question {}: {kind}{title:#}", row.id)?;
        writeln!(out, "{dim}{stands}{dim:#}")?;
        let given = self.asked.answer.as_ref().and_then(|answer| answer.guidance.as_ref());
        if let Some(guidance) = row.guidance.as_ref().or(given) {
            let said = format!("“{}”", words::plain_line(guidance));
            writeln!(out, "{dim}{}{dim:#}", wrapped(&said, 0, self.width))?;
        }
        if row.status == QuestionStatus::Pending && !self.names.is_empty() {
            let waits = wrapped(&waiting(self.asked.row.tasks.len(), &self.names), 0, self.width);
            writeln!(out, "{dim}{waits}{dim:#}")?;
        }
        writeln!(out, "\n{}", wrapped(&row.text.problem, 0, self.width))
    }

    fn tried(&self, out: &mut impl Write) -> io::Result<()> {
        let title = style::TITLE;
        let attempts = &self.asked.row.text.attempts;
        if attempts.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{title}What was tried{title:#}")?;
        for attempt in attempts {
            writeln!(out, "  - {}", wrapped(attempt, 4, self.width))?;
        }
        Ok(())
    }

    fn evidence(&self, out: &mut impl Write) -> io::Result<()> {
        let title = style::TITLE;
        let dim = style::DIM;
        let code = style::CODE;
        let entries = self.asked.row.evidence.entries();
        if entries.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{title}What it rests on{title:#}")?;
        if !self.unfolded {
            let show = format!("unstuck inbox show {} --evidence", self.asked.row.id.0);
            return writeln!(out, "  {code}{show}{code:#}");
        }
        for entry in entries {
            writeln!(out, "  {dim}{}{dim:#}", entry.label)?;
            if let Some(at) = entry.at {
                writeln!(out, "    {}", when::minute(at))?;
            }
            for line in &entry.lines {
                // Lines of a program are not wrapped, because they are compared letter by letter.
                let line = words::shown_line(line);
                let line = if entry.verbatim { line } else { wrapped(&line, 4, self.width) };
                writeln!(out, "    {line}")?;
            }
        }
        Ok(())
    }

    fn choices(&self, out: &mut impl Write) -> io::Result<()> {
        let title = style::TITLE;
        let dim = style::DIM;
        let code = style::CODE;
        let strong = style::STRONG;
        let id = self.asked.row.id;
        let text = &self.asked.row.text;
        writeln!(out, "\n{title}What you can choose{title:#}")?;
        for (at, option) in text.options.iter().enumerate() {
            let here = if text.recommends(at) { " (recommended)" } else { "" };
            let label = wrapped(&option.label, 2, self.width);
            writeln!(out, "  {strong}{label}{strong:#}{dim}{here}{dim:#}")?;
            writeln!(out, "    {}", wrapped(&option.description, 4, self.width))?;
            if self.asked.is_open() {
                let answer = words::answer_command(id.0, option, self.asked.row.code);
                writeln!(out, "    {code}{answer}{code:#}")?;
            }
        }
        let first =
            if text.recommended.is_some() { "What I would do" } else { "Before you choose" };
        writeln!(out, "\n{title}{first}{title:#}")?;
        writeln!(out, "  {}", wrapped(&text.recommended_text, 2, self.width))?;
        if self.asked.row.can_check() {
            let check = format!("unstuck inbox check {}", id.0);
            writeln!(out, "  {dim}Have it looked up once more:{dim:#} {code}{check}{code:#}")?;
        }
        Ok(())
    }

    fn operators(&self, out: &mut impl Write) -> io::Result<()> {
        let row = &self.asked.row;
        let title = style::TITLE;
        let code = style::CODE;
        let dim = style::DIM;
        writeln!(out, "\n{title}For operators{title:#}")?;
        for line in row.operator_text.lines() {
            writeln!(out, "  {}", wrapped(&words::plain_line(line), 2, self.width))?;
        }
        let sentence = words::rule(&row.why);
        let counts = words::counts(&row.why);
        let counts =
            if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
        let why = wrapped(&format!("{sentence}{counts}"), 7, self.width);
        writeln!(out, "  {dim}why{dim:#}  {why}")?;
        if let Some(about) = row.code {
            writeln!(out, "  {dim}code{dim:#} {code}unstuck explain {about}{code:#}")?;
        }
        writeln!(out, "  {dim}key{dim:#}  {}", row.signature)
    }
}

/// Formats the waiting tasks, such as `2 tasks wait: one, two`.
pub(super) fn waiting(count: usize, names: &[String]) -> String {
    let verb = if count == 1 { "waits" } else { "wait" };
    let shown = names.len().min(NAMES_MAX);
    let rest = count.saturating_sub(shown);
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let names = names[..shown].join(", ");
    format!("{} {verb}: {names}{more}", words::number(count, "task", "tasks"))
}
