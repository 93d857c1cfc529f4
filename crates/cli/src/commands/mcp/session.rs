//! On its own: a client's session is a build with one task, which the client itself works on. A
//! question parks it; what the client does meanwhile belongs to another one.

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

/// What the one task of a session is called.
const TASK: &str = "mcp-session";
/// Clients bring their own account: what limits it is not what limits the project's agents.
const GATE: GateKey = GateKey(0x6d63_7073);
/// How long the engine may take to begin or end a session. It takes no time unless it is held up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The sessions of one client, begun when they are needed.
pub(super) struct Sessions {
    project: Project,
    open: Option<Open>,
}

struct Open {
    store: Arc<dyn Store>,
    seat: Seat,
    all: Vec<Session>,
}

/// Whether a task stands for what a client works on.
pub(in crate::commands) fn is_of_a_client(spec: &TaskSpec) -> bool {
    // Those that were kept before the mark was made are known by their words.
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

    /// What goes on in one of the sessions; one is begun where nothing does.
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
            // Asked before: an attempt that ends is forgotten.
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
                // Whoever held the project is gone: the next seat is ours, or beside somebody else.
                Err(error) if open.seat.is_left_by(&error) => self.move_over().await?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(No::not_now(words::HELD_UP))
    }

    /// The client says that what it worked on is done.
    pub(super) async fn end(&mut self) -> Result<(), Error> {
        match &mut self.open {
            Some(open) => open.end().await,
            None => Ok(()),
        }
    }

    /// What waits for a person goes on waiting; the answer can be read later.
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

    /// A session that neither has ended nor waits for a person: it goes on by itself, and there is no
    /// use in another one.
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

    /// Sessions of clients that are gone, whose questions were answered since or will be: there is
    /// nothing left to do in them.
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

    /// A session whose work is left out comes to its end by itself, and has nothing more for its client.
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

    /// Ends what goes on, and waits until that is known.
    async fn end(&mut self) -> Result<(), Error> {
        let going_on =
            |session: &Session| Some((session.work.current()?, Arc::clone(&session.work)));
        let going_on: Vec<(Effect, Arc<Waits>)> = self.all.iter().filter_map(going_on).collect();
        for (effect, work) in going_on {
            work.end();
            // One that is held up is ended by whoever comes next.
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
