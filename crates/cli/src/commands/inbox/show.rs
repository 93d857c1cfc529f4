//! One question in full: for the person who answers first, for operators below.

use std::io::{self, Write};

use unstuck_core::engine::QuestionId;
use unstuck_core::question::Decision;
use unstuck_store::tables::QuestionStatus;

use super::{Asked, Desk, list};
use crate::error::Error;
use crate::project;
use crate::render::{self, style, words, wrapped};

/// How many names are enough to know what it is about.
const NAMES_MAX: usize = 5;

pub(super) async fn run(desk: &Desk<'_>, id: QuestionId) -> Result<(), Error> {
    let asked = desk.asked(id).await?;
    let mut out = desk.terminal.styled();
    if desk.json {
        render::json(&mut out, &asked)?;
    } else {
        let name = desk.project.name();
        let tasks = project::tasks_of(desk.store.as_ref(), name, &asked.row.tasks).await?;
        let names = tasks.values().map(|task| words::name(task.id, &task.spec)).collect();
        let page = Page { asked: &asked, names, width: desk.terminal.width() };
        page.write(&mut out)?;
    }
    out.flush()?;
    Ok(())
}

struct Page<'a> {
    asked: &'a Asked,
    /// The tasks that wait.
    names: Vec<String>,
    width: usize,
}

impl Page<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.head(out)?;
        self.tried(out)?;
        self.choices(out)?;
        self.operators(out)
    }

    fn head(&self, out: &mut impl Write) -> io::Result<()> {
        let (row, title, dim) = (&self.asked.row, style::TITLE, style::DIM);
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
        let (title, attempts) = (style::TITLE, &self.asked.row.text.attempts);
        if attempts.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{title}What was tried{title:#}")?;
        for attempt in attempts {
            writeln!(out, "  - {}", wrapped(attempt, 4, self.width))?;
        }
        Ok(())
    }

    fn choices(&self, out: &mut impl Write) -> io::Result<()> {
        let (title, dim, code, strong) = (style::TITLE, style::DIM, style::CODE, style::STRONG);
        let (id, text) = (self.asked.row.id, &self.asked.row.text);
        writeln!(out, "\n{title}What you can choose{title:#}")?;
        for option in &text.options {
            let here = if option.value == text.recommended { " (recommended)" } else { "" };
            writeln!(out, "  {strong}{}{strong:#}{dim}{here}{dim:#}", option.label)?;
            writeln!(out, "    {}", wrapped(&option.description, 4, self.width))?;
            if self.asked.is_open() {
                let answer = answer(id, option.value);
                writeln!(out, "    {code}{answer}{code:#}")?;
            }
        }
        writeln!(out, "\n{title}What I would do{title:#}")?;
        writeln!(out, "  {}", wrapped(&text.recommended_text, 2, self.width))?;
        if text.options.iter().any(|option| option.value == Decision::ItHappened) {
            let check = format!("unstuck inbox check {}", id.0);
            writeln!(out, "  {dim}Have it looked up once more:{dim:#} {code}{check}{code:#}")?;
        }
        Ok(())
    }

    fn operators(&self, out: &mut impl Write) -> io::Result<()> {
        let (row, title, code, dim) = (&self.asked.row, style::TITLE, style::CODE, style::DIM);
        writeln!(out, "\n{title}For operators{title:#}")?;
        for line in row.operator_text.lines() {
            writeln!(out, "  {}", wrapped(&words::plain_line(line), 2, self.width))?;
        }
        let sentence = row.why.rule.sentence();
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

/// `2 tasks wait: one, two`.
pub(super) fn waiting(count: usize, names: &[String]) -> String {
    let verb = if count == 1 { "waits" } else { "wait" };
    let shown = names.len().min(NAMES_MAX);
    let rest = count.saturating_sub(shown);
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let names = names[..shown].join(", ");
    format!("{} {verb}: {names}{more}", words::number(count, "task", "tasks"))
}

/// What to type.
fn answer(question: QuestionId, decision: Decision) -> String {
    let guidance = if decision == Decision::ProvideGuidance { " --guidance '…'" } else { "" };
    format!("unstuck inbox answer {} {decision}{guidance}", question.0)
}
