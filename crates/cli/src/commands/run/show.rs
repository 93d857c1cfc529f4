//! Output while builds run: a live view drawn in place, a line for each event, or events as JSON.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::io::{self, Write as _};
use std::sync::Arc;

use unstuck_core::engine::{
    BuildId, BuildState, Event, GateKey, GateState, PauseCause, QuestionId, Recorded, RunId,
    TaskId, TaskState,
};
use unstuck_core::plan::TaskSpec;
use unstuck_core::text::failed_at;
use unstuck_core::time::Time;
use unstuck_runner::{Notice, kicks};
use unstuck_store::tables::{BuildRow, GateRow, QuestionStatus, TaskRow};
use unstuck_store::{Page, Store};

use super::ending::Ending;
use super::in_place::{self, is_in_place};
use super::live::{Act, Live};
use super::tick;
use crate::args::Follow;
use crate::commands::inbox;
use crate::commands::jobs::current_watcher;
use crate::commands::serve::Face;
use crate::error::Error;
use crate::project::{Project, Seat, now};
use crate::render::{self, Terminal, event_json, stand, style, when, words};

/// Maximum number of events per read.
const PAGE_EVENTS: u32 = 500;

/// The output of a run.
pub(super) struct View<'a> {
    kind: Kind,
    project: &'a Project,
    store: Arc<dyn Store>,
    terminal: &'a Terminal,
    ours: Ours,
    /// Questions that were shown in full.
    asked: HashSet<QuestionId>,
    /// The sequence number of the last event received.
    heard: Option<u64>,
}

/// The form of the output.
enum Kind {
    /// Each event as JSON, for a program.
    Json,
    /// The live view, for a person.
    Live(Box<Live>),
    /// A line for each event.
    Lines,
    /// Only questions.
    Quiet,
}

/// Identifies the events of the builds that are followed.
#[derive(Default)]
struct Ours {
    builds: Vec<BuildId>,
    specs: HashMap<TaskId, Arc<TaskSpec>>,
    runs: HashMap<RunId, TaskId>,
}

impl Ours {
    /// Returns the task of an event, as far as events tell.
    fn task(&mut self, event: &Event) -> Option<TaskId> {
        if let Event::RunStarted { run, task, .. } = event {
            self.runs.insert(*run, *task);
        }
        let about = event.about();
        about.task.or_else(|| self.runs.get(&about.run?).copied())
    }

    /// Returns whether an event is about these builds. An event without a build, task or run, such as a
    /// limited account, is about all of them.
    fn concerns(&self, event: &Event, task: Option<TaskId>) -> bool {
        let about = event.about();
        match (about.build, task) {
            (Some(build), _) => self.builds.contains(&build),
            (None, Some(task)) => self.specs.contains_key(&task),
            (None, None) => about.run.is_none(),
        }
    }
}

impl<'a> View<'a> {
    pub(super) fn new(
        follow: &Follow,
        project: &'a Project,
        store: &Arc<dyn Store>,
        terminal: &'a Terminal,
    ) -> Result<Self, Error> {
        let kind = match (follow.json, follow.quiet) {
            (true, _) => Kind::Json,
            (_, true) => Kind::Quiet,
            _ => Live::enter(terminal)?.map_or(Kind::Lines, |live| Kind::Live(Box::new(live))),
        };
        let store = Arc::clone(store);
        let ours = Ours::default();
        let asked = HashSet::new();
        Ok(Self { kind, project, store, terminal, ours, asked, heard: None })
    }

    /// Sets the builds that are followed from now on.
    pub(super) async fn open(&mut self, builds: &[BuildId]) -> Result<(), Error> {
        if self.ours.builds == builds {
            return Ok(());
        }
        self.ours.builds = builds.to_vec();
        for (build, tasks) in self.rows().await? {
            for task in &tasks {
                self.ours.specs.insert(task.id, Arc::clone(&task.spec));
                // A killed process may not have ticked it.
                if task.moved.state == TaskState::Done && !is_in_place(self.project) {
                    tick::off(self.project, &task.spec, tick::mark(task.moved.unchanged.as_ref()));
                }
                self.ours.runs.extend(task.moved.last_run.map(|run| (run, task.id)));
            }
            if let Kind::Lines = self.kind {
                head(&mut self.terminal.styled(), &build)?;
            }
        }
        self.draw().await
    }

    /// Shows the address of the inbox. Credentials are shown only on a live terminal, not in a log.
    pub(super) fn serves(&mut self, face: &Face) -> Result<(), Error> {
        if let Kind::Quiet = self.kind {
            return Ok(());
        }
        self.say(&format!("unstuck: your inbox while this runs: {}/", face.base()))?;
        if !matches!(self.kind, Kind::Live(_)) {
            return Ok(());
        }
        if let Some(token) = face.first_token()? {
            let token = token.as_str();
            self.say(&format!("unstuck: your first token, shown only now: {token}"))?;
        }
        match face.entry()? {
            Some(entry) => {
                self.say(&format!("unstuck: sign in, once and within five minutes: {entry}"))
            }
            None => Ok(()),
        }
    }

    /// Handles a notice.
    pub(super) async fn notice(&mut self, notice: &Notice) -> Result<(), Error> {
        match notice {
            Notice::Event { recorded, narration } => {
                self.event(recorded, narration.as_deref()).await
            }
            Notice::StoreWaiting { message, .. } => {
                self.say(&format!("unstuck: {message}. Nothing happens until that is over."))
            }
            Notice::StoreBack => self.say("unstuck: it can be written again. It goes on."),
            Notice::Gap => self.catch_up().await,
            Notice::Left => Ok(()),
        }
    }

    /// Writes the events that a JSON reader has not received yet: those missed because they came too fast,
    /// and those after the event that ended the wait.
    async fn catch_up(&mut self) -> Result<(), Error> {
        if !matches!(self.kind, Kind::Json) {
            return Ok(());
        }
        while let Some(after) = self.heard {
            let page = Page { after, limit: PAGE_EVENTS };
            let events = self.store.events(self.project.name(), page).await?;
            if events.is_empty() {
                break;
            }
            for recorded in &events {
                self.event(recorded, None).await?;
            }
        }
        Ok(())
    }

    async fn event(&mut self, recorded: &Recorded, narration: Option<&str>) -> Result<(), Error> {
        if self.heard.is_some_and(|heard| recorded.seq <= heard) {
            return Ok(());
        }
        self.heard = Some(recorded.seq);
        let task = self.ours.task(&recorded.event);
        if !self.ours.concerns(&recorded.event, task) {
            return Ok(());
        }
        if let Event::TaskDone { task, unchanged } = &recorded.event
            && !is_in_place(self.project)
            && let Some(spec) = self.ours.specs.get(task)
        {
            tick::off(self.project, spec, tick::mark(unchanged.as_ref()));
        }
        match (&mut self.kind, narration) {
            (Kind::Json, _) => {
                let mut out = self.terminal.plain();
                event_json(&mut out, self.project.name(), recorded)?;
                return Ok(out.flush()?);
            }
            (Kind::Live(live), _) => {
                live.happened(recorded, task);
                return Ok(());
            }
            (Kind::Lines, Some(narration)) => {
                line(&mut self.terminal.styled(), recorded, narration)?;
            }
            (Kind::Lines | Kind::Quiet, _) => {}
        }
        if let Event::TaskParked { question, .. } = &recorded.event {
            self.question(*question).await?;
        }
        Ok(())
    }

    /// Shows a question in full, once.
    async fn question(&mut self, id: QuestionId) -> Result<(), Error> {
        if !self.asked.insert(id) {
            return Ok(());
        }
        let found = self.store.question(self.project.name(), id).await?;
        let Some(question) = found else { return Ok(()) };
        let mut lines = vec![format!("  {}", question.text.problem)];
        for option in &question.text.options {
            let command = words::answer_command(id, option, question.code);
            lines.push(format!("    {command}"));
            lines.push(format!("        {}. {}", option.label, option.description));
        }
        render::note(&lines.join("\n"));
        Ok(())
    }

    /// Waits for the next request of a person at the terminal; never returns in other forms of output.
    pub(super) async fn wanted(&mut self) -> Result<Act, Error> {
        match &mut self.kind {
            Kind::Live(live) => live.next().await,
            Kind::Json | Kind::Lines | Kind::Quiet => pending().await,
        }
    }

    /// Draws the current state.
    pub(super) async fn draw(&mut self) -> Result<(), Error> {
        if !matches!(self.kind, Kind::Live(_)) {
            return Ok(());
        }
        let name = self.project.name();
        let rows = self.rows().await?;
        let gates = self.store.gates(name).await?;
        let questions = self.store.questions(name, Some(QuestionStatus::Pending)).await?;
        if let Kind::Live(live) = &mut self.kind {
            live.board.look(rows, gates, questions);
            live.draw()?;
        }
        Ok(())
    }

    /// Retries all waiting tasks now.
    pub(super) async fn kick(&mut self, seat: &Seat) -> Result<(), Error> {
        let rows = self.rows().await?;
        for command in kicks(rows.iter().flat_map(|(_, tasks)| tasks)) {
            // The wait may have ended meanwhile, so a rejection is fine.
            let _ = seat.command(command).await;
        }
        Ok(())
    }

    /// Lets the person answer questions.
    pub(super) async fn answer(&mut self) -> Result<(), Error> {
        let Kind::Live(live) = std::mem::replace(&mut self.kind, Kind::Lines) else {
            return Ok(());
        };
        let (screen, board) = live.give()?;
        inbox::at_the_terminal(self.project, &self.store, self.terminal, screen).await?;
        if let Some(live) = Live::again(self.terminal, board)? {
            self.kind = Kind::Live(Box::new(live));
        }
        self.draw().await
    }

    /// Writes a message beside the events.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Error> {
        match &mut self.kind {
            Kind::Live(live) => live.say(text)?,
            _ => render::note(text),
        }
        Ok(())
    }

    /// Reports that the process is ending.
    pub(super) fn ending(&mut self) -> Result<(), Error> {
        if matches!(self.kind, Kind::Json) {
            return Ok(());
        }
        // A server beside this process takes over its builds.
        let served = current_watcher(self.project).is_some_and(|holder| holder.verb == "serve");
        self.say(if served {
            "unstuck: ending. Once more to end at once; `unstuck serve` goes on, unless you `unstuck pause` it."
        } else {
            "unstuck: ending. Once more to end at once; `unstuck resume` goes on."
        })
    }

    /// Shows the questions that arose before the subscription, or that hold a whole build.
    async fn unshown_questions(&mut self) -> Result<(), Error> {
        if !matches!(self.kind, Kind::Lines | Kind::Quiet) {
            return Ok(());
        }
        let name = self.project.name();
        let open = self.store.questions(name, Some(QuestionStatus::Pending)).await?;
        for row in open {
            let ours = row.build.is_some_and(|build| self.ours.builds.contains(&build));
            if ours || row.tasks.iter().any(|task| self.ours.specs.contains_key(task)) {
                self.question(row.id).await?;
            }
        }
        Ok(())
    }

    /// Shows the summary.
    pub(super) async fn close(&mut self, ending: &Ending) -> Result<(), Error> {
        self.catch_up().await?;
        if is_in_place(self.project) {
            for line in in_place::tidy(self.project, &*self.store, &self.rows().await?).await? {
                self.say(&line)?;
            }
        }
        if matches!(ending, Ending::NeedsPerson | Ending::Paused) {
            self.unshown_questions().await?;
        }
        let limited = *ending == Ending::Limited && !matches!(self.kind, Kind::Json);
        let limited = if limited { Some(self.limited().await?) } else { None };
        match std::mem::replace(&mut self.kind, Kind::Quiet) {
            Kind::Json | Kind::Quiet => {
                if let Some(line) = &limited {
                    render::note(line);
                }
                return Ok(());
            }
            Kind::Live(live) => drop(live.give()?),
            Kind::Lines => {}
        }
        if *ending == Ending::NothingToDo {
            return Ok(writeln!(self.terminal.styled(), "There is nothing to go on with.")?);
        }
        let branch = in_place::own_branch(self.project).await;
        let rows = self.rows().await?;
        for (row, tasks) in &rows {
            let mut out = self.terminal.styled();
            summary(&mut out, row, tasks, branch.as_deref())?;
            out.flush()?;
        }
        let by_person = BuildState::Paused { cause: PauseCause::Person };
        if rows.iter().any(|(row, _)| row.state == by_person) {
            render::note("unstuck: paused. `unstuck resume` goes on.");
        }
        if let Some(line) = &limited {
            render::note(line);
        }
        Ok(())
    }

    /// Formats the end of the wait for all remaining work, and how to continue.
    async fn limited(&self) -> Result<String, Error> {
        let rows = self.rows().await?;
        let gates = self.store.gates(self.project.name()).await?;
        Ok(limited(&rows, &gates, now()))
    }

    /// Returns the followed builds with their tasks.
    async fn rows(&self) -> Result<Vec<(BuildRow, Vec<TaskRow>)>, Error> {
        let name = self.project.name();
        let mut rows = Vec::new();
        for row in self.store.builds(name).await?.into_iter().rev() {
            if self.ours.builds.contains(&row.id) {
                let mut tasks = self.store.tasks(name, row.id).await?;
                for task in tasks.iter_mut().filter(|task| task.moved.attempts > 0) {
                    let runs = self.store.runs(name, task.id).await?;
                    let unbegun = runs.iter().filter(|run| !run.has_begun()).count();
                    let unbegun = u32::try_from(unbegun).unwrap_or(u32::MAX);
                    task.moved.attempts = task.moved.attempts.saturating_sub(unbegun);
                }
                rows.push((row, tasks));
            }
        }
        Ok(rows)
    }
}

fn head(out: &mut impl io::Write, build: &BuildRow) -> io::Result<()> {
    let title = style::TITLE;
    let dim = style::DIM;
    let id = build.id;
    let tasks = words::number(build.tasks as usize, "task", "tasks");
    writeln!(
        out,
        "{title}build {id}{title:#} · {tasks} {dim}· answer with `unstuck inbox`{dim:#}"
    )?;
    out.flush()
}

fn line(out: &mut impl io::Write, recorded: &Recorded, narration: &str) -> io::Result<()> {
    let dim = style::DIM;
    let at = when::stamp(recorded.at);
    let (mark, color) = style::mark(&recorded.event);
    let said = words::plain_line(narration);
    writeln!(out, "{dim}{at}{dim:#}  {color}{mark}{color:#} {said}")?;
    out.flush()
}

/// Formats that the service is limited or that a step is retried, the end of the wait as far as known, and
/// how to continue.
fn limited(builds: &[(BuildRow, Vec<TaskRow>)], gates: &[GateRow], now: Time) -> String {
    let rests = builds.iter().filter_map(|(build, _)| match build.state {
        BuildState::Sleeping { until } => Some(until),
        _ => None,
    });
    let opens = |key: GateKey| {
        let gate = gates.iter().find(|row| row.key == key)?;
        if let GateState::Waiting { until } = gate.state { Some(until) } else { None }
    };
    let tasks = || builds.iter().flat_map(|(_, tasks)| tasks);
    let waits = tasks().filter_map(|task| match task.moved.state {
        TaskState::BackingOff { until, gate, .. } => until.or_else(|| opens(gate?)),
        _ => None,
    });
    let at_gate = |task: &&TaskRow| match task.moved.state {
        TaskState::BackingOff { gate, .. } => Some(gate.is_some()),
        _ => None,
    };
    // A step that failed for a passing reason is repeated, which tells nothing about the service.
    let again = tasks().find(|task| at_gate(task) == Some(false));
    let again = again.filter(|_| !tasks().any(|task| at_gate(&task) == Some(true)));
    let rests = rests.min();
    let waits = waits.min();
    let until = waits.or(rests).filter(|until| *until > now);
    let until = until.map(|until| when::until(until, now));
    let over = "and --max-wait is over; `unstuck resume` goes on";
    if let Some(task) = again
        && let Some(fault) = &task.moved.failure
    {
        let name = task.spec.called();
        let why = failed_at(fault);
        let at = until.map_or_else(String::new, |until| format!(" at {until}"));
        return format!("unstuck: “{name}” is tried again{at}, because {why}, {over}");
    }
    let what = match waits {
        None if rests.is_some() => "the budget for now is spent",
        _ => "the service is limited",
    };
    let until = until.map_or_else(String::new, |until| format!(" until {until}"));
    format!("unstuck: {what}{until}, {over}")
}

/// Writes the summary of a build.
fn summary(
    out: &mut impl io::Write,
    build: &BuildRow,
    tasks: &[TaskRow],
    own_branch: Option<&str>,
) -> io::Result<()> {
    let title = style::TITLE;
    let dim = style::DIM;
    let all = words::number(tasks.len(), "task", "tasks");
    let done = stand::counts(&all, build, tasks);
    let cost = words::amount(build.spent);
    let cost = if cost.is_empty() { String::new() } else { format!(" · {cost}") };
    writeln!(out, "\n{title}build {}: {done}{title:#}{dim}{cost}{dim:#}", build.id)?;
    for task in tasks {
        let (mark, color) = stand::mark(&task.moved.state);
        let name = words::name(task.id, &task.spec);
        let attempts = words::number(task.moved.attempts as usize, "attempt", "attempts");
        let cost = words::amount(task.moved.spent);
        let unchanged = stand::needed_no_change(task);
        let needed = if unchanged { "needed no change".to_owned() } else { String::new() };
        let more = [needed, attempts, cost].into_iter().filter(|part| !part.is_empty());
        let more = more.collect::<Vec<_>>().join(" · ");
        writeln!(out, "  {color}{mark}{color:#} {name}  {dim}{more}{dim:#}")?;
    }
    let is_shipped =
        |task: &TaskRow| task.moved.state == TaskState::Done && !stand::needed_no_change(task);
    if !tasks.iter().any(is_shipped) {
        return Ok(());
    }
    if let Some(branch) = own_branch {
        writeln!(out, "{dim}The work is on your own branch {branch}.{dim:#}")?;
    } else {
        let id = build.id;
        writeln!(out, "{dim}The work is on the branch unstuck/{id}: `unstuck land {id}`.{dim:#}")?;
    }
    Ok(())
}
