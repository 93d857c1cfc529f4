//! Shows a question in full, first for the person who answers, then for operators, and the whole change that it
//! is about, from the task's worktree.

use std::io::{self, Write};

use unstuck_core::engine::QuestionId;
use unstuck_core::fault::Code;
use unstuck_core::question::Evidence;
use unstuck_store::tables::{QuestionStatus, TaskRow};
use unstuck_world::workspace::{self, Workspace, WorkspaceKey};

use super::{Asked, InboxContext, list};
use crate::error::{CliError, InboxError};
use crate::project::{self, project_redactor};
use crate::render::style::{CODE, DIM, STRONG, TITLE};
use crate::render::{self, when, words, wrap_text};

const NAMES_MAX: usize = 5;

/// Shows one question, or every open one.
pub(super) async fn run(
    inbox: &InboxContext<'_>,
    id: Option<QuestionId>,
    evidence: bool,
) -> Result<(), CliError> {
    let mut out = inbox.terminal.styled();
    let Some(id) = id else {
        let mut open = inbox.load_questions(Some(QuestionStatus::Pending)).await?;
        open.retain(Asked::is_open);
        if inbox.json {
            render::write_json(&mut out, &open)?;
        } else if open.is_empty() {
            return list::run(inbox, false).await;
        }
        for (number, asked) in open.iter().enumerate().filter(|_| !inbox.json) {
            out.write_all(if number == 0 { b"" } else { b"\n" })?;
            write_asked(inbox, asked, evidence, &mut out).await?;
        }
        return Ok(out.flush()?);
    };
    let asked = inbox.load_asked(id).await?;
    if inbox.json {
        render::write_json(&mut out, &asked)?;
    } else {
        write_asked(inbox, &asked, evidence, &mut out).await?;
    }
    Ok(out.flush()?)
}

async fn write_asked(
    inbox: &InboxContext<'_>,
    asked: &Asked,
    evidence: bool,
    out: &mut impl Write,
) -> Result<(), CliError> {
    let names = inbox.load_task_names(&asked.row).await?;
    let unfolded = evidence || inbox.shows_evidence();
    let page = InboxQuestionPage { asked, names, unfolded, width: inbox.terminal.width() };
    Ok(page.write_to(out)?)
}

struct InboxQuestionPage<'a> {
    asked: &'a Asked,
    names: Vec<String>,
    unfolded: bool,
    width: usize,
}

impl InboxQuestionPage<'_> {
    fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_head(out)?;
        self.write_choices(out)?;
        self.write_attempts(out)?;
        self.write_evidence(out)?;
        self.write_operator_part(out)
    }

    fn write_head(&self, out: &mut impl Write) -> io::Result<()> {
        let row = &self.asked.row;
        let kind = words::describe_kind(row.kind);
        let stands =
            wrap_text(&list::render_question_age(self.asked, project::now()), 0, self.width);
        writeln!(out, "{TITLE}Question {}: {kind}{TITLE:#}", row.id)?;
        writeln!(out, "{DIM}{stands}{DIM:#}")?;
        let given = self.asked.answer.as_ref().and_then(|answer| answer.guidance.as_ref());
        if let Some(guidance) = row.guidance.as_ref().or(given) {
            let said = format!("“{}”", words::plain_line(guidance));
            writeln!(out, "{DIM}{}{DIM:#}", wrap_text(&said, 0, self.width))?;
        }
        let holds = row.status == QuestionStatus::Pending && !row.holds_nothing();
        if holds && !self.names.is_empty() {
            let waits = wrap_text(
                &render_waiting_tasks(self.asked.row.tasks.len(), &self.names),
                0,
                self.width,
            );
            writeln!(out, "{DIM}{waits}{DIM:#}")?;
        }
        writeln!(out, "\n{}", wrap_text(&list::render_problem(row), 0, self.width))
    }

    fn write_attempts(&self, out: &mut impl Write) -> io::Result<()> {
        let attempts = &self.asked.row.text.attempts;
        if attempts.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{TITLE}What was tried{TITLE:#}")?;
        for attempt in attempts {
            writeln!(out, "  - {}", wrap_text(attempt, 4, self.width))?;
        }
        Ok(())
    }

    fn write_evidence(&self, out: &mut impl Write) -> io::Result<()> {
        let mut entries = self.asked.row.evidence.entries();
        // They are shown as what was tried.
        if !self.asked.row.text.attempts.is_empty() {
            entries.retain(|entry| entry.label != "Approaches");
        }
        if entries.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{TITLE}Evidence{TITLE:#}")?;
        if !self.unfolded {
            let show = format!("unstuck inbox show {} --evidence", self.asked.row.id.0);
            return writeln!(out, "  {CODE}{show}{CODE:#}");
        }
        for entry in entries {
            writeln!(out, "  {DIM}{}{DIM:#}", entry.label)?;
            if let Some(at) = entry.at {
                writeln!(out, "    {}", when::render_minute(at))?;
            }
            for line in &entry.lines {
                // Lines of a program are not wrapped, because they are compared letter by letter.
                let line = words::printable_line(line);
                let line = if entry.verbatim { line } else { wrap_text(&line, 4, self.width) };
                writeln!(out, "    {line}")?;
            }
        }
        Ok(())
    }

    fn write_choices(&self, out: &mut impl Write) -> io::Result<()> {
        let id = self.asked.row.id;
        let text = &self.asked.row.text;
        writeln!(out, "\n{TITLE}What you can choose{TITLE:#}")?;
        for (at, option) in text.options.iter().enumerate() {
            let here = if text.recommends(at) { " (recommended)" } else { "" };
            let label = wrap_text(&option.label, 2, self.width);
            writeln!(out, "  {STRONG}{label}{STRONG:#}{DIM}{here}{DIM:#}")?;
            writeln!(out, "    {}", wrap_text(&option.description, 4, self.width))?;
            if self.asked.is_open() {
                let answer = words::answer_command(id.0, option, self.asked.row.code);
                writeln!(out, "    {CODE}{answer}{CODE:#}")?;
            }
        }
        let first =
            if text.recommended.is_some() { "What you should do" } else { "Before you choose" };
        writeln!(out, "\n{TITLE}{first}{TITLE:#}")?;
        writeln!(out, "  {}", wrap_text(&text.recommended_text, 2, self.width))?;
        if self.asked.row.can_check() {
            let check = format!("unstuck inbox check {}", id.0);
            writeln!(out, "  {DIM}Have it looked up once more:{DIM:#} {CODE}{check}{CODE:#}")?;
        }
        Ok(())
    }

    fn write_operator_part(&self, out: &mut impl Write) -> io::Result<()> {
        let row = &self.asked.row;
        if !self.unfolded {
            return Ok(());
        }
        writeln!(out, "\n{TITLE}For operators{TITLE:#}")?;
        // The evidence has the end of the output.
        let lines_max = if row.evidence.output.is_empty() { OPERATOR_LINES_MAX } else { 1 };
        for line in row.operator_text.lines().take(lines_max) {
            writeln!(out, "  {}", wrap_text(&words::plain_line(line), 2, self.width))?;
        }
        let sentence = words::render_rule(&row.why);
        let counts = words::render_counts(&row.why);
        let counts =
            if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
        let why = wrap_text(&format!("{sentence}{counts}"), 13, self.width);
        writeln!(out, "  {DIM}why{DIM:#}        {why}")?;
        if let Some(about) = row.code {
            writeln!(out, "  {DIM}code{DIM:#}       {CODE}unstuck explain {about}{CODE:#}")?;
        }
        writeln!(out, "  {DIM}signature{DIM:#}  {}", row.signature)
    }
}

/// Maximum number of lines for operators that no evidence shows.
const OPERATOR_LINES_MAX: usize = 20;

/// Formats the waiting tasks, such as `2 tasks wait: one, two`.
pub(super) fn render_waiting_tasks(count: usize, names: &[String]) -> String {
    let verb = if count == 1 { "waits" } else { "wait" };
    let shown = names.len().min(NAMES_MAX);
    let rest = count.saturating_sub(shown);
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let names = names[..shown].join(", ");
    format!("{} {verb}: {names}{more}", words::render_count(count, "task", "tasks"))
}

pub(super) async fn show_change(
    inbox: &InboxContext<'_>,
    question: QuestionId,
) -> Result<(), CliError> {
    let row = inbox.load_question(question).await?;
    let tasks = project::find_tasks(inbox.store.as_ref(), inbox.project.name(), &row.tasks).await?;
    let first = row.tasks.first().and_then(|id| tasks.get(id));
    let task = first.ok_or(InboxError::NoChange { question })?;
    let patch = match load_patch(inbox, task).await {
        // A repair that is proposed has left its worktree.
        Err(CliError::Fault(fault))
            if fault.code() == Code::PreconditionMissing
                && proposed_branch(&row.evidence).is_some() =>
        {
            load_proposal(inbox, proposed_branch(&row.evidence).unwrap_or_default()).await?
        }
        // The task has no worktree, such as a command of `exec`.
        Err(CliError::Fault(fault))
            if fault.code() == Code::PreconditionMissing && row.evidence.diff.is_none() =>
        {
            return Err(InboxError::NoChange { question }.into());
        }
        patch => patch?,
    };
    let text = String::from_utf8_lossy(&patch);
    let mut out = inbox.terminal.plain();
    out.write_all(project_redactor(&inbox.project).redact_text(&text).as_bytes())?;
    out.flush()?;
    if patch.is_empty() {
        return Err(InboxError::NoChange { question }.into());
    }
    Ok(())
}

/// Returns the branch of a proposed repair, which the evidence compares with the checkout.
fn proposed_branch(evidence: &Evidence) -> Option<&str> {
    let diff = evidence.diff.as_ref()?;
    diff.whole.strip_prefix("git diff HEAD...")
}

async fn load_proposal(inbox: &InboxContext<'_>, branch: &str) -> Result<Vec<u8>, CliError> {
    let repository = workspace::ProjectRepository::open("git", inbox.project.root()).await?;
    let git = repository.git();
    let head = git.resolve_head().await?;
    let Some(made) = git.resolve_commit(branch).await? else { return Ok(Vec::new()) };
    let base = git.find_merge_base(&head, &made).await?.unwrap_or(head);
    Ok(git.create_patch(&base, &made).await?)
}

async fn load_patch(inbox: &InboxContext<'_>, task: &TaskRow) -> Result<Vec<u8>, CliError> {
    let repository = workspace::ProjectRepository::open("git", inbox.project.root()).await?;
    let place = WorkspaceKey { build: task.build, task: task.id };
    Ok(Workspace::open_read_only(&repository, place).await?.create_patch().await?)
}
