//! What is shown while builds run: a line for each thing that happens, or events for a program.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::io::{self, Write as _};
use std::sync::Arc;

use unstuck_core::engine::{BuildId, Event, QuestionId, Recorded, RunId, TaskId, TaskState};
use unstuck_runner::Notice;
use unstuck_store::Store;
use unstuck_store::tables::{BuildRow, TaskRow};

use super::ending::Ending;
use crate::args::Follow;
use crate::error::Error;
use crate::project::Project;
use crate::render::{self, Terminal, event_json, stand, style, when, words};

/// What is shown.
pub(super) struct View<'a> {
    kind: Kind,
    project: Arc<str>,
    store: Arc<dyn Store>,
    terminal: &'a Terminal,
    ours: Ours,
    /// Questions that were shown in full.
    asked: HashSet<QuestionId>,
}

/// Which events are about the builds that are followed.
#[derive(Default)]
struct Ours {
    builds: Vec<BuildId>,
    tasks: HashSet<TaskId>,
    runs: HashMap<RunId, TaskId>,
}

impl Ours {
    /// What names nothing, such as an account that is limited, is everybody's.
    fn concerns(&mut self, event: &Event) -> bool {
        if let Event::RunStarted { run, task, .. } = event {
            self.runs.insert(*run, *task);
        }
        let about = event.about();
        let task = about.task.or_else(|| self.runs.get(&about.run?).copied());
        match (about.build, task) {
            (Some(build), _) => self.builds.contains(&build),
            (None, Some(task)) => self.tasks.contains(&task),
            (None, None) => about.run.is_none(),
        }
    }
}

/// For whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A program reads each event.
    Json,
    /// Somebody reads lines.
    Lines,
    /// Somebody wants to hear of questions only.
    Quiet,
}

impl<'a> View<'a> {
    pub(super) fn new(
        follow: &Follow,
        project: &Project,
        store: &Arc<dyn Store>,
        terminal: &'a Terminal,
    ) -> Self {
        let kind = match (follow.json, follow.quiet) {
            (true, _) => Kind::Json,
            (_, true) => Kind::Quiet,
            _ => Kind::Lines,
        };
        let (project, store) = (Arc::clone(project.name()), Arc::clone(store));
        let (ours, asked) = (Ours::default(), HashSet::new());
        Self { kind, project, store, terminal, ours, asked }
    }

    /// The builds that are followed from now on.
    pub(super) async fn open(&mut self, builds: &[BuildId]) -> Result<(), Error> {
        if self.ours.builds == builds {
            return Ok(());
        }
        self.ours.builds = builds.to_vec();
        for build in builds {
            for task in self.store.tasks(&self.project, *build).await? {
                self.ours.tasks.insert(task.id);
                self.ours.runs.extend(task.moved.last_run.map(|run| (run, task.id)));
            }
        }
        if self.kind != Kind::Lines {
            return Ok(());
        }
        let rows = self.rows().await?;
        let (title, dim) = (style::TITLE, style::DIM);
        let mut out = self.terminal.styled();
        for row in &rows {
            let tasks = words::number(row.tasks as usize, "task", "tasks");
            let id = row.id;
            writeln!(
                out,
                "{title}build {id}{title:#} · {tasks} {dim}· answer with `unstuck inbox`{dim:#}"
            )?;
        }
        out.flush()?;
        Ok(())
    }

    /// Something happened.
    pub(super) async fn notice(&mut self, notice: &Notice) -> Result<(), Error> {
        match notice {
            Notice::Event { recorded, narration } => {
                self.event(recorded, narration.as_deref()).await
            }
            Notice::StoreWaiting { message, .. } => {
                render::note(&format!("unstuck: {message}. Nothing happens until that is over."));
                Ok(())
            }
            Notice::StoreBack => {
                render::note("unstuck: it can be written again. It goes on.");
                Ok(())
            }
            Notice::Gap => Ok(()),
        }
    }

    async fn event(&mut self, recorded: &Recorded, narration: Option<&str>) -> Result<(), Error> {
        if !self.ours.concerns(&recorded.event) {
            return Ok(());
        }
        if self.kind == Kind::Json {
            let mut out = self.terminal.plain();
            event_json(&mut out, &self.project, recorded)?;
            return Ok(out.flush()?);
        }
        if let (Kind::Lines, Some(narration)) = (self.kind, narration) {
            let dim = style::DIM;
            let (mark, color) = style::mark(&recorded.event);
            let at = when::stamp(recorded.at);
            let mut out = self.terminal.styled();
            writeln!(
                out,
                "{dim}{at}{dim:#}  {color}{mark}{color:#} {}",
                words::plain_line(narration)
            )?;
            out.flush()?;
        }
        if let Event::TaskParked { question, .. } = &recorded.event {
            self.question(*question).await?;
        }
        Ok(())
    }

    /// A person is asked, once in full.
    async fn question(&mut self, id: QuestionId) -> Result<(), Error> {
        if !self.asked.insert(id) {
            return Ok(());
        }
        let found = self.store.question(&self.project, id).await?;
        let Some(question) = found else { return Ok(()) };
        let mut lines = vec![format!("  {}", question.text.problem)];
        for option in &question.text.options {
            let (value, label) = (option.value, &option.label);
            lines.push(format!("    unstuck inbox answer {id} {value}"));
            lines.push(format!("        {label}. {}", option.description));
        }
        render::note(&lines.join("\n"));
        Ok(())
    }

    /// When to draw anew though nothing happened.
    pub(super) async fn tick(&self) {
        pending::<()>().await;
    }

    pub(super) async fn draw(&mut self) -> Result<(), Error> {
        Ok(())
    }

    pub(super) fn ending(&self) {
        if self.kind != Kind::Json {
            render::note("unstuck: ending. Once more to end at once; `unstuck resume` goes on.");
        }
    }

    /// How it all ended.
    pub(super) async fn close(&mut self, ending: &Ending) -> Result<(), Error> {
        if self.kind != Kind::Lines {
            return Ok(());
        }
        if *ending == Ending::NothingToDo {
            return Ok(writeln!(self.terminal.styled(), "There is nothing to go on with.")?);
        }
        for row in self.rows().await? {
            let tasks = self.store.tasks(&self.project, row.id).await?;
            let mut out = self.terminal.styled();
            summary(&mut out, &row, &tasks)?;
            out.flush()?;
        }
        Ok(())
    }

    async fn rows(&self) -> Result<Vec<BuildRow>, Error> {
        let mut rows = self.store.builds(&self.project).await?;
        rows.retain(|row| self.ours.builds.contains(&row.id));
        rows.reverse();
        Ok(rows)
    }
}

/// A build in a few lines.
fn summary(out: &mut impl io::Write, build: &BuildRow, tasks: &[TaskRow]) -> io::Result<()> {
    let (title, dim) = (style::TITLE, style::DIM);
    let done = format!("{} of {} done", build.done, words::number(tasks.len(), "task", "tasks"));
    let cost = words::amount(build.spent);
    let cost = if cost.is_empty() { String::new() } else { format!(" · {cost}") };
    writeln!(out, "\n{title}build {}: {done}{title:#}{dim}{cost}{dim:#}", build.id)?;
    for task in tasks {
        let (mark, color) = stand::mark(&task.moved.state);
        let name = words::name(task.id, &task.spec);
        let attempts = words::number(task.moved.attempts as usize, "attempt", "attempts");
        let cost = words::amount(task.moved.spent);
        let more = [attempts, cost].into_iter().filter(|part| !part.is_empty());
        let more = more.collect::<Vec<_>>().join(" · ");
        writeln!(out, "  {color}{mark}{color:#} {name}  {dim}{more}{dim:#}")?;
    }
    if tasks.iter().any(|task| task.moved.state == TaskState::Done) {
        writeln!(out, "{dim}The work is on the branch unstuck/{}.{dim:#}", build.id)?;
    }
    Ok(())
}
