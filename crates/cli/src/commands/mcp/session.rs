//! Calls outside a run: a client's session is a build with one task, on which the client itself works. A
//! question parks the task; further work of the client belongs to another session.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::engine::{
    BuildId, Command, Effect, EffectId, Event, Recorded, TaskId, TaskState,
};
use unstuck_core::fault::Code;
use unstuck_core::plan::{GateKey, Plan, TaskSpec};
use unstuck_runner::{Notice, Scope};
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;

use super::desk::No;
use super::wait::Waits;
use super::words;
use crate::error::Error;
use crate::project::{Heard, Project, Seat};

/// The name of a session's only task.
const TASK: &str = "mcp-session";
/// The account of clients. They have their own, so its limits are not those of the project's agents.
const GATE: GateKey = GateKey(0x6d63_7073);
/// Maximum time for the engine to begin or end a session. It takes no time unless the project is held up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The sessions of one client, begun when needed.
pub(super) struct Sessions {
    project: Project,
    open: Option<Open>,
}

struct Open {
    store: Arc<dyn Store>,
    seat: Seat,
    all: Vec<Session>,
}

/// Returns whether a task represents the work of a client.
pub(in crate::commands) fn is_of_a_client(spec: &TaskSpec) -> bool {
    // Tasks from before the `client` flag are recognized by their name and goal.
    spec.client || (spec.name == TASK && spec.goal == words::GOAL)
}

struct Session {
    build: BuildId,
    work: Arc<Waits>,
}

impl Sessions {
    pub(super) const fn new(project: Project) -> Self {
        Self { project, open: None }
    }

    pub(super) const fn project(&self) -> &Project {
        &self.project
    }

    /// Returns the current effect of a session; begins a session if there is none.
    pub(super) async fn effect(&mut self) -> Result<Effect, No> {
        let name = Arc::clone(self.project.name());
        let open = self.open().await?;
        if let Some(effect) = open.all.iter().find_map(|session| session.work.current()) {
            return Ok(effect);
        }
        let work = match open.waiting(&name).await? {
            Some(work) => work,
            None => open.begin().await?,
        };
        within(work.begins()).await.flatten().ok_or_else(|| No::not_now(words::HELD_UP))
    }

    pub(super) async fn command(
        &mut self,
        command: impl Fn(EffectId) -> Command,
    ) -> Result<Vec<Recorded>, No> {
        for _ in 0..2 {
            let effect = self.effect().await?.id;
            let open = self.open().await?;
            // Looked up before the command, because the effect of an ended attempt is forgotten.
            let build = open.build_of(effect);
            match open.seat.command(command(effect)).await {
                Ok(events) => {
                    if words::is_denied(&events) {
                        open.let_go(build);
                    } else if words::ends_a_run(&events) {
                        open.forget(effect);
                    }
                    return Ok(events);
                }
                // The holder is gone: this process becomes the holder or connects to the next one.
                Err(error) if open.seat.is_left_by(&error) => self.move_over().await?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(No::not_now(words::HELD_UP))
    }

    /// Ends the session, because the client states that its work is done.
    pub(super) async fn end(&mut self) -> Result<(), Error> {
        match &mut self.open {
            Some(open) => open.end().await,
            None => Ok(()),
        }
    }

    /// Ends the sessions and leaves the project. Open questions stay open; their answers can be read later.
    pub(super) async fn leave(mut self) -> Result<(), Error> {
        self.end().await?;
        match self.open {
            Some(open) => open.seat.leave().await,
            None => Ok(()),
        }
    }

    async fn open(&mut self) -> Result<&mut Open, Error> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let store = self.project.make_store()?;
                let seat = Seat::take(&self.project, &store, "mcp").await?;
                let open = Open { store, seat, all: Vec::new() };
                open.end_what_is_left(&self.project).await?;
                open
            }
        };
        Ok(self.open.insert(open))
    }

    async fn move_over(&mut self) -> Result<(), Error> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.seat = Seat::take(&self.project, &open.store, "mcp").await?;
        for Session { build, work } in &open.all {
            open.seat.try_attach(Scope::Build(*build), Arc::clone(work) as _).await?;
        }
        self.open = Some(open);
        Ok(())
    }
}

impl Open {
    async fn begin(&mut self) -> Result<Arc<Waits>, No> {
        let task = TaskSpec {
            name: TASK.to_owned(),
            title: words::TITLE.to_owned(),
            goal: words::GOAL.to_owned(),
            gate: GATE,
            client: true,
            ..TaskSpec::default()
        };
        let plan =
            Plan::new(vec![task]).map_err(|error| No(Code::InternalError, error.to_string()))?;
        let plan = Arc::new(plan);
        let start = Command::StartBuild { plan, slots: 1, in_place: false };
        let events = self.seat.command(start).await?;
        let begun = events.iter().find_map(|recorded| recorded.event.starts());
        let work = Waits::begun();
        if let Some(build) = begun {
            self.seat.attach(Scope::Build(build), Arc::clone(&work) as _).await?;
            self.all.push(Session { build, work: Arc::clone(&work) });
        }
        Ok(work)
    }

    /// Returns a session that neither has ended nor waits for a person: it goes on by itself, so another
    /// session would be useless.
    async fn waiting(&self, project: &str) -> Result<Option<Arc<Waits>>, Error> {
        let goes_on = |task: &TaskRow| {
            let state = &task.moved.state;
            !state.has_ended() && !matches!(state, TaskState::Parked { .. })
        };
        for session in &self.all {
            let tasks = self.store.tasks(project, session.build).await?;
            if tasks.iter().any(goes_on) {
                return Ok(Some(Arc::clone(&session.work)));
            }
        }
        Ok(None)
    }

    /// Ends sessions of clients that are gone, whose questions are answered or will be: no work is left in
    /// them.
    async fn end_what_is_left(&self, project: &Project) -> Result<(), Error> {
        for build in self.store.builds(project.name()).await? {
            if build.state.has_ended() || build.standing {
                continue;
            }
            let tasks = self.store.tasks(project.name(), build.id).await?;
            if tasks.iter().all(|task| is_of_a_client(&task.spec)) {
                self.seat.try_attach(Scope::Build(build.id), Waits::over()).await?;
            }
        }
        Ok(())
    }

    /// Removes a session whose work is left out: it ends by itself, and has no more use for its client.
    fn let_go(&mut self, build: Option<BuildId>) {
        self.all.retain(|session| Some(session.build) != build);
    }

    fn build_of(&self, effect: EffectId) -> Option<BuildId> {
        let is_it =
            |session: &&Session| session.work.current().is_some_and(|current| current.id == effect);
        self.all.iter().find(is_it).map(|session| session.build)
    }

    fn forget(&self, effect: EffectId) {
        for session in &self.all {
            session.work.forget(effect);
        }
    }

    /// Ends the current attempts and waits until that is recorded.
    async fn end(&mut self) -> Result<(), Error> {
        let going_on =
            |session: &Session| Some((session.work.current()?, Arc::clone(&session.work)));
        let going_on: Vec<(Effect, Arc<Waits>)> = self.all.iter().filter_map(going_on).collect();
        for (effect, work) in going_on {
            work.end();
            // A session that is held up is ended by the next process.
            if let Some(heard) = within(done(&mut self.seat, effect.task)).await {
                heard?;
            }
        }
        Ok(())
    }
}

async fn done(seat: &mut Seat, wanted: TaskId) -> Result<(), Error> {
    loop {
        match seat.hear().await? {
            Heard::Notice(Notice::Event { recorded, .. }) => match recorded.event {
                Event::TaskDone { task, .. } if task == wanted => return Ok(()),
                _ => {}
            },
            Heard::Notice(_) => {}
            Heard::HolderGone => return Ok(()),
        }
    }
}

async fn within<T>(waited: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(PATIENCE, waited).await.ok()
}
