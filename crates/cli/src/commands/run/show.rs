//! Output while builds run: a live view drawn in place, a line for each event, or events as JSON.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::io::{self, Write};
use std::sync::Arc;

use unstuck_core::engine::{
    BuildId, BuildState, Event, PauseCause, QuestionId, RecordedEvent, RunId, TaskId, TaskState,
};
use unstuck_core::plan::TaskSpec;
use unstuck_core::tell::brief;
use unstuck_runner::{RunnerNotice, collect_kick_commands};
use unstuck_store::tables::{BuildRow, QuestionStatus, TaskRow};
use unstuck_store::{EventPage, Store};

use super::FollowArgs;
use super::board::last_lines;
use super::ending::{BuildsEnding, render_limited, write_head, write_summary};
use super::live::{LiveRequest, LiveView};
use super::own_tree::{self, is_in_place};
use crate::commands::inbox;
use crate::commands::jobs::find_watcher;
use crate::commands::serve::HttpFrontend;
use crate::error::CliError;
use crate::project::{LocalProject, ProjectSession, now};
use crate::render::style::DIM;
use crate::render::{self, Terminal, style, when, words, write_event_json};

/// Maximum number of events per read.
const PAGE_EVENTS: u32 = 500;

pub(super) struct RunOutput<'a> {
    kind: RunOutputKind,
    project: &'a LocalProject,
    store: Arc<dyn Store>,
    terminal: &'a Terminal,
    ours: RunEventFilter,
    /// Questions that were shown in full.
    asked: HashSet<QuestionId>,
    /// Done tasks whose items were ticked.
    ticked: HashSet<TaskId>,
    /// The sequence number of the last event received.
    heard: Option<u64>,
}

enum RunOutputKind {
    /// Each event as JSON, for a program.
    Json,
    /// The live view, for a person.
    Live(Box<LiveView>),
    /// A line for each event.
    Lines,
    /// Only questions.
    Quiet,
}

/// Identifies the events of the builds that are followed.
#[derive(Default)]
struct RunEventFilter {
    builds: Vec<BuildId>,
    specs: HashMap<TaskId, Arc<TaskSpec>>,
    runs: HashMap<RunId, TaskId>,
}

impl RunEventFilter {
    /// Returns the task of an event, as far as events tell.
    fn find_task(&mut self, event: &Event) -> Option<TaskId> {
        if let Event::RunStarted { run, task, .. } = event {
            self.runs.insert(*run, *task);
        }
        let about = event.subject_ids();
        about.task.or_else(|| self.runs.get(&about.run?).copied())
    }

    /// Returns whether an event is about these builds. An event without a build, task or run, such as a
    /// limited account, is about all of them.
    fn is_about(&self, event: &Event, task: Option<TaskId>) -> bool {
        let about = event.subject_ids();
        match (about.build, task) {
            (Some(build), _) => self.builds.contains(&build),
            (None, Some(task)) => self.specs.contains_key(&task),
            (None, None) => about.run.is_none(),
        }
    }
}

impl<'a> RunOutput<'a> {
    pub(super) fn new(
        follow: &FollowArgs,
        project: &'a LocalProject,
        store: &Arc<dyn Store>,
        terminal: &'a Terminal,
    ) -> Result<Self, CliError> {
        let kind = match (follow.json, follow.quiet) {
            (true, _) => RunOutputKind::Json,
            (_, true) => RunOutputKind::Quiet,
            _ => LiveView::enter(terminal)?
                .map_or(RunOutputKind::Lines, |live| RunOutputKind::Live(Box::new(live))),
        };
        let store = Arc::clone(store);
        let ours = RunEventFilter::default();
        let asked = HashSet::new();
        let ticked = HashSet::new();
        Ok(Self { kind, project, store, terminal, ours, asked, ticked, heard: None })
    }

    /// Sets the builds that are followed from now on.
    pub(super) async fn follow_builds(&mut self, builds: &[BuildId]) -> Result<(), CliError> {
        if self.ours.builds == builds {
            return Ok(());
        }
        self.ours.builds = builds.to_vec();
        own_tree::note_unticked(self.project, builds);
        for (build, tasks) in self.load_rows().await? {
            for task in &tasks {
                self.ours.specs.insert(task.id, Arc::clone(&task.spec));
                // A killed process may not have ticked it.
                if task.moved.state == TaskState::Done && !is_in_place(self.project) {
                    self.tick_once(task.id, &task.spec, task.moved.unchanged.as_ref());
                }
                self.ours.runs.extend(task.moved.last_run.map(|run| (run, task.id)));
            }
            if let RunOutputKind::Lines = self.kind {
                write_head(&mut self.terminal.styled_for_work(), &build)?;
            }
        }
        self.draw().await
    }

    /// Shows the address of the inbox. Credentials are shown only on a live terminal, not in a log.
    pub(super) fn show_server(&mut self, frontend: &HttpFrontend) -> Result<(), CliError> {
        if let RunOutputKind::Quiet = self.kind {
            return Ok(());
        }
        self.write_message(&format!("unstuck: your inbox while this runs: {}/", frontend.base))?;
        if !matches!(self.kind, RunOutputKind::Live(_)) {
            return Ok(());
        }
        if let Some(token) = frontend.create_first_token()? {
            let token = token.as_str();
            self.write_message(&format!("unstuck: your first token, shown only now: {token}"))?;
        }
        match frontend.entry_link()? {
            Some(entry) => self
                .write_message(&format!("unstuck: sign in, once and within five minutes: {entry}")),
            None => Ok(()),
        }
    }

    pub(super) async fn handle_notice(&mut self, notice: &RunnerNotice) -> Result<(), CliError> {
        match notice {
            RunnerNotice::Event { recorded, narration } => {
                self.handle_event(recorded, narration.as_deref()).await
            }
            RunnerNotice::StoreWaiting { message, .. } => {
                self.write_message(&format!("unstuck: {message}. Work waits until this is fixed."))
            }
            RunnerNotice::StoreBack => {
                self.write_message("unstuck: the store can be written again; work continues.")
            }
            RunnerNotice::Gap => self.catch_up().await,
            RunnerNotice::Left => Ok(()),
        }
    }

    /// Writes the events that a JSON reader has not received yet: those missed because they came too fast,
    /// and those after the event that ended the wait.
    async fn catch_up(&mut self) -> Result<(), CliError> {
        if !matches!(self.kind, RunOutputKind::Json) {
            return Ok(());
        }
        while let Some(after) = self.heard {
            let page = EventPage { after, limit: PAGE_EVENTS };
            let events = self.store.load_events(self.project.name(), page).await?;
            if events.is_empty() {
                break;
            }
            for recorded in &events {
                self.handle_event(recorded, None).await?;
            }
        }
        Ok(())
    }

    async fn handle_event(
        &mut self,
        recorded: &RecordedEvent,
        narration: Option<&str>,
    ) -> Result<(), CliError> {
        if self.heard.is_some_and(|heard| recorded.seq <= heard) {
            return Ok(());
        }
        self.heard = Some(recorded.seq);
        let task = self.ours.find_task(&recorded.event);
        if !self.ours.is_about(&recorded.event, task) {
            return Ok(());
        }
        if let Event::TaskDone { task, unchanged } = &recorded.event
            && !is_in_place(self.project)
            && let Some(spec) = self.ours.specs.get(task).cloned()
        {
            self.tick_once(*task, &spec, unchanged.as_ref());
        }
        match (&mut self.kind, narration) {
            (RunOutputKind::Json, _) => {
                let mut out = self.terminal.plain_for_work();
                write_event_json(&mut out, self.project.name(), recorded)?;
                return Ok(out.flush()?);
            }
            (RunOutputKind::Live(live), _) => {
                live.apply_event(recorded, task);
                return Ok(());
            }
            (RunOutputKind::Lines, Some(narration)) => {
                let mut out = self.terminal.styled_for_work();
                write_line(&mut out, recorded, narration)?;
                if let Event::BaseChecked { red, .. } = &recorded.event {
                    for line in red.iter().flat_map(last_lines) {
                        writeln!(out, "    {DIM}{line}{DIM:#}")?;
                    }
                }
            }
            (RunOutputKind::Lines | RunOutputKind::Quiet, _) => {}
        }
        if let Event::TaskParked { question, .. } = &recorded.event {
            self.show_question(*question).await?;
        }
        Ok(())
    }

    /// Shows a question in full, once.
    async fn show_question(&mut self, id: QuestionId) -> Result<(), CliError> {
        if !self.asked.insert(id) {
            return Ok(());
        }
        let found = self.store.load_question(self.project.name(), id).await?;
        let Some(question) = found else { return Ok(()) };
        let mut lines = vec![format!("  {}", question.text.problem)];
        for option in &question.text.options {
            let command = words::answer_command(id, option, question.code);
            lines.push(format!("    {command}"));
            lines.push(format!("        {}. {}", option.label, option.description));
        }
        render::write_note(&lines.join("\n"));
        Ok(())
    }

    /// Waits for the next request of a person at the terminal; never returns in other forms of output.
    pub(super) async fn next_request(&mut self) -> Result<LiveRequest, CliError> {
        match &mut self.kind {
            RunOutputKind::Live(live) => live.next_request().await,
            RunOutputKind::Json | RunOutputKind::Lines | RunOutputKind::Quiet => pending().await,
        }
    }

    pub(super) async fn draw(&mut self) -> Result<(), CliError> {
        if !matches!(self.kind, RunOutputKind::Live(_)) {
            return Ok(());
        }
        let name = self.project.name();
        let rows = self.load_rows().await?;
        let gates = self.store.load_gates(name).await?;
        let questions = self.store.load_questions(name, Some(QuestionStatus::Pending)).await?;
        if let RunOutputKind::Live(live) = &mut self.kind {
            live.board.update_rows(rows, gates, questions);
            live.draw()?;
        }
        Ok(())
    }

    /// Retries all waiting tasks now.
    pub(super) async fn kick_waiting(&mut self, session: &ProjectSession) -> Result<(), CliError> {
        let rows = self.load_rows().await?;
        for command in collect_kick_commands(rows.iter().flat_map(|(_, tasks)| tasks)) {
            // The wait may have ended meanwhile, so a rejection is fine.
            let _ = session.submit_command(command).await;
        }
        Ok(())
    }

    pub(super) async fn answer_questions(&mut self) -> Result<(), CliError> {
        let RunOutputKind::Live(live) = std::mem::replace(&mut self.kind, RunOutputKind::Lines)
        else {
            return Ok(());
        };
        let (screen, board) = live.release()?;
        inbox::browse_questions(self.project, &self.store, self.terminal, screen).await?;
        if let Some(live) = LiveView::reenter(self.terminal, board)? {
            self.kind = RunOutputKind::Live(Box::new(live));
        }
        self.draw().await
    }

    /// Writes a message beside the events.
    pub(super) fn write_message(&mut self, text: &str) -> Result<(), CliError> {
        match &mut self.kind {
            RunOutputKind::Live(live) => live.write_above(text)?,
            _ => render::write_note(text),
        }
        Ok(())
    }

    pub(super) fn report_ending(&mut self) -> Result<(), CliError> {
        if matches!(self.kind, RunOutputKind::Json) {
            return Ok(());
        }
        // A server beside this process takes over its builds.
        let served = find_watcher(self.project).is_some_and(|holder| holder.verb == "serve");
        self.write_message(if served {
            "unstuck: Stopping. Press Ctrl-C again to stop immediately. `unstuck serve` continues, \
             unless you `unstuck pause` it."
        } else {
            "unstuck: Stopping. Press Ctrl-C again to stop immediately. `unstuck resume` continues."
        })
    }

    /// Shows the questions that arose before the subscription, or that hold a whole build.
    async fn show_unshown_questions(&mut self) -> Result<(), CliError> {
        if !matches!(self.kind, RunOutputKind::Lines | RunOutputKind::Quiet) {
            return Ok(());
        }
        let name = self.project.name();
        let open = self.store.load_questions(name, Some(QuestionStatus::Pending)).await?;
        for row in open {
            let ours = row.build.is_some_and(|build| self.ours.builds.contains(&build));
            if ours || row.tasks.iter().any(|task| self.ours.specs.contains_key(task)) {
                self.show_question(row.id).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn close(&mut self, ending: &BuildsEnding) -> Result<(), CliError> {
        self.catch_up().await?;
        self.tick_missed().await?;
        if is_in_place(self.project) {
            for line in
                own_tree::revert_left_out(self.project, &*self.store, &self.load_rows().await?)
                    .await?
            {
                self.write_message(&line)?;
            }
        }
        if matches!(ending, BuildsEnding::NeedsPerson | BuildsEnding::Paused) {
            self.show_unshown_questions().await?;
        }
        let limited = *ending == BuildsEnding::Limited && !matches!(self.kind, RunOutputKind::Json);
        let limited = if limited {
            let gates = self.store.load_gates(self.project.name()).await?;
            Some(render_limited(&self.load_rows().await?, &gates, now()))
        } else {
            None
        };
        match std::mem::replace(&mut self.kind, RunOutputKind::Quiet) {
            RunOutputKind::Json | RunOutputKind::Quiet => {
                if let Some(line) = &limited {
                    render::write_note(line);
                }
                return Ok(());
            }
            RunOutputKind::Live(live) => drop(live.release()?),
            RunOutputKind::Lines => {}
        }
        if *ending == BuildsEnding::NothingToDo {
            let builds = self.store.load_builds(self.project.name()).await?;
            let newest = builds.iter().find(|row| !row.standing && row.session.is_none());
            let newest = newest.map(|row| {
                format!(" Build {} is {}.", row.id, brief::describe_build_state(row.state))
            });
            let newest = newest.unwrap_or_default();
            let mut out = self.terminal.styled_for_work();
            return Ok(writeln!(out, "There is nothing to continue.{newest}")?);
        }
        let branch = own_tree::own_branch(self.project).await;
        let rows = self.load_rows().await?;
        for (row, tasks) in &rows {
            let mut out = self.terminal.styled_for_work();
            write_summary(&mut out, row, tasks, branch.as_deref())?;
            out.flush()?;
        }
        for (row, _) in rows.iter().filter(|(row, _)| row.state == BuildState::Cancelled) {
            render::write_note(&format!("unstuck: build {} was cancelled, as you asked.", row.id));
        }
        let by_person = BuildState::Paused { cause: PauseCause::Person };
        if rows.iter().any(|(row, _)| row.state == by_person) {
            render::write_note("unstuck: paused. `unstuck resume` continues.");
        }
        if let Some(line) = &limited {
            render::write_note(line);
        }
        Ok(())
    }

    /// Returns the followed builds with their tasks.
    /// Ticks the done items whose event came before the builds were followed, or too fast.
    async fn tick_missed(&mut self) -> Result<(), CliError> {
        if !is_in_place(self.project) {
            for (_, tasks) in self.load_rows().await? {
                for task in tasks.iter().filter(|task| task.moved.state == TaskState::Done) {
                    self.tick_once(task.id, &task.spec, task.moved.unchanged.as_ref());
                }
            }
        }
        own_tree::forget_unticked(self.project, &self.ours.builds);
        Ok(())
    }

    fn tick_once(&mut self, task: TaskId, spec: &TaskSpec, unchanged: Option<&Arc<str>>) {
        if self.ticked.insert(task) {
            own_tree::tick_off(self.project, spec, own_tree::done_mark(unchanged));
        }
    }

    async fn load_rows(&self) -> Result<Vec<(BuildRow, Vec<TaskRow>)>, CliError> {
        let name = self.project.name();
        let mut rows = Vec::new();
        for row in self.store.load_builds(name).await?.into_iter().rev() {
            if self.ours.builds.contains(&row.id) {
                let mut tasks = self.store.load_build_tasks(name, row.id).await?;
                for task in tasks.iter_mut().filter(|task| task.moved.attempts > 0) {
                    let runs = self.store.load_task_runs(name, task.id).await?;
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

fn write_line(out: &mut impl Write, recorded: &RecordedEvent, narration: &str) -> io::Result<()> {
    let at = when::render_stamp(recorded.at);
    let (mark, color) = style::event_mark(&recorded.event);
    let said = words::plain_line(narration);
    writeln!(out, "{DIM}{at}{DIM:#}  {color}{mark}{color:#} {said}")?;
    out.flush()
}
