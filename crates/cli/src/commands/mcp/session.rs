//! Calls outside a run: a client's session is a build with one task, on which the client itself works. A
//! question parks the task; further work of the client belongs to another session.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::engine::{
    BuildId, Command, Effect, EffectId, Event, RecordedEvent, TaskId, TaskState,
};
use unstuck_core::fault::Code;
use unstuck_core::plan::{GateKey, Plan, TaskSpec};
use unstuck_runner::{PerformScope, RunnerNotice};
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;

use super::wait::ClientWork;
use super::words::{self, ToolError};
use crate::error::CliError;
use crate::project::{LocalProject, ProjectMessage, ProjectSession};

const TASK: &str = "mcp-session";
/// The account of clients. They have their own, so its limits are not those of the project's agents.
const GATE: GateKey = GateKey(0x6d63_7073);
/// Maximum time for the engine to begin or end a session. It takes no time unless the project is held up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The sessions of one client, begun when needed.
pub(super) struct McpSessions {
    project: LocalProject,
    open: Option<OpenSessions>,
}

struct OpenSessions {
    store: Arc<dyn Store>,
    project_session: ProjectSession,
    all: Vec<McpSession>,
}

/// Returns whether a task represents the work of a client.
pub(in crate::commands) fn is_client_task(spec: &TaskSpec) -> bool {
    // Tasks from before the `client` flag are recognized by their name and goal.
    spec.client || (spec.name == TASK && spec.goal == words::GOAL)
}

struct McpSession {
    build: BuildId,
    work: Arc<ClientWork>,
}

impl McpSessions {
    pub(super) const fn new(project: LocalProject) -> Self {
        Self { project, open: None }
    }

    pub(super) const fn project(&self) -> &LocalProject {
        &self.project
    }

    /// Returns the current effect of a session; begins a session if there is none.
    pub(super) async fn current_effect(&mut self) -> Result<Effect, ToolError> {
        let name = Arc::clone(self.project.name());
        let open = self.open_sessions().await?;
        if let Some(effect) = open.all.iter().find_map(|session| session.work.current()) {
            return Ok(effect);
        }
        let work = match open.find_ongoing(&name).await? {
            Some(work) => work,
            None => open.begin_session().await?,
        };
        with_timeout(work.wait_for_attempt())
            .await
            .flatten()
            .ok_or_else(|| ToolError::not_now(words::HELD_UP))
    }

    pub(super) async fn submit_command(
        &mut self,
        command: impl Fn(EffectId) -> Command,
    ) -> Result<Vec<RecordedEvent>, ToolError> {
        for _ in 0..2 {
            let effect = self.current_effect().await?.id;
            let open = self.open_sessions().await?;
            // Looked up before the command, because the effect of an ended attempt is forgotten.
            let build = open.find_build(effect);
            match open.project_session.submit_command(command(effect)).await {
                Ok(events) => {
                    if words::is_denied(&events) {
                        open.remove_session(build);
                    } else if words::ends_run(&events) {
                        open.forget_effect(effect);
                    }
                    return Ok(events);
                }
                // The holder is gone: this process becomes the holder or connects to the next one.
                Err(error) if open.project_session.is_holder_gone(&error) => {
                    self.reconnect().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(ToolError::not_now(words::HELD_UP))
    }

    /// Ends the session, because the client states that its work is done.
    pub(super) async fn end_all(&mut self) -> Result<(), CliError> {
        match &mut self.open {
            Some(open) => open.end_attempts().await,
            None => Ok(()),
        }
    }

    /// Ends the sessions and leaves the project. Open questions stay open; their answers can be read later.
    pub(super) async fn leave(mut self) -> Result<(), CliError> {
        self.end_all().await?;
        match self.open {
            Some(open) => open.project_session.leave().await,
            None => Ok(()),
        }
    }

    async fn open_sessions(&mut self) -> Result<&mut OpenSessions, CliError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let store = self.project.open_or_create_store()?;
                let project_session = ProjectSession::open(&self.project, &store, "mcp").await?;
                let open = OpenSessions { store, project_session, all: Vec::new() };
                open.end_abandoned(&self.project).await?;
                open
            }
        };
        Ok(self.open.insert(open))
    }

    async fn reconnect(&mut self) -> Result<(), CliError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.project_session = ProjectSession::open(&self.project, &open.store, "mcp").await?;
        for McpSession { build, work } in &open.all {
            open.project_session
                .try_attach_performer(PerformScope::Build(*build), Arc::clone(work) as _)
                .await?;
        }
        self.open = Some(open);
        Ok(())
    }
}

impl OpenSessions {
    async fn begin_session(&mut self) -> Result<Arc<ClientWork>, ToolError> {
        let task = TaskSpec {
            name: TASK.to_owned(),
            title: words::TITLE.to_owned(),
            goal: words::GOAL.to_owned(),
            gate: GATE,
            client: true,
            ..TaskSpec::default()
        };
        let plan = Plan::new(vec![task])
            .map_err(|error| ToolError(Code::InternalError, error.to_string()))?;
        let plan = Arc::new(plan);
        let start = Command::StartBuild { plan, slots: 1, in_place: false };
        let events = self.project_session.submit_command(start).await?;
        let begun = events.iter().find_map(|recorded| recorded.event.started_build());
        let work = ClientWork::new_ongoing();
        if let Some(build) = begun {
            self.project_session
                .attach_performer(PerformScope::Build(build), Arc::clone(&work) as _)
                .await?;
            self.all.push(McpSession { build, work: Arc::clone(&work) });
        }
        Ok(work)
    }

    /// Returns a session that neither has ended nor waits for a person: it goes on by itself, so another
    /// session would be useless.
    async fn find_ongoing(&self, project: &str) -> Result<Option<Arc<ClientWork>>, CliError> {
        let goes_on = |task: &TaskRow| {
            let state = &task.moved.state;
            !state.has_ended() && !matches!(state, TaskState::Parked { .. })
        };
        for session in &self.all {
            let tasks = self.store.load_build_tasks(project, session.build).await?;
            if tasks.iter().any(goes_on) {
                return Ok(Some(Arc::clone(&session.work)));
            }
        }
        Ok(None)
    }

    /// Ends sessions of clients that are gone, whose questions are answered or will be: no work is left in
    /// them.
    async fn end_abandoned(&self, project: &LocalProject) -> Result<(), CliError> {
        for build in self.store.load_builds(project.name()).await? {
            if build.state.has_ended() || build.standing {
                continue;
            }
            let tasks = self.store.load_build_tasks(project.name(), build.id).await?;
            if tasks.iter().all(|task| is_client_task(&task.spec)) {
                self.project_session
                    .try_attach_performer(PerformScope::Build(build.id), ClientWork::new_ended())
                    .await?;
            }
        }
        Ok(())
    }

    /// Removes a session whose work is left out: it ends by itself, and has no more use for its client.
    fn remove_session(&mut self, build: Option<BuildId>) {
        self.all.retain(|session| Some(session.build) != build);
    }

    fn find_build(&self, effect: EffectId) -> Option<BuildId> {
        let is_it = |session: &&McpSession| {
            session.work.current().is_some_and(|current| current.id == effect)
        };
        self.all.iter().find(is_it).map(|session| session.build)
    }

    fn forget_effect(&self, effect: EffectId) {
        for session in &self.all {
            session.work.forget_effect(effect);
        }
    }

    /// Ends the current attempts and waits until that is recorded.
    async fn end_attempts(&mut self) -> Result<(), CliError> {
        let going_on =
            |session: &McpSession| Some((session.work.current()?, Arc::clone(&session.work)));
        let going_on: Vec<(Effect, Arc<ClientWork>)> =
            self.all.iter().filter_map(going_on).collect();
        for (effect, work) in going_on {
            work.end_work();
            // A session that is held up is ended by the next process.
            if let Some(heard) =
                with_timeout(wait_until_done(&mut self.project_session, effect.task)).await
            {
                heard?;
            }
        }
        Ok(())
    }
}

async fn wait_until_done(
    project_session: &mut ProjectSession,
    wanted: TaskId,
) -> Result<(), CliError> {
    loop {
        match project_session.next_message().await? {
            ProjectMessage::Notice(RunnerNotice::Event { recorded, .. }) => match recorded.event {
                Event::TaskDone { task, .. } if task == wanted => return Ok(()),
                _ => {}
            },
            ProjectMessage::Notice(_) => {}
            ProjectMessage::HolderGone => return Ok(()),
        }
    }
}

async fn with_timeout<T>(waited: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(PATIENCE, waited).await.ok()
}
