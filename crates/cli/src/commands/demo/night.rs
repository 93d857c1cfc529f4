//! The night itself, in a process of its own: the real loop on a real store, in virtual time.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use unstuck_core::engine::{Command, QuestionId, Recorded, State};
use unstuck_core::policy::Policy;
use unstuck_core::time::{Span, Time};
use unstuck_runner::build::BuildWorld;
use unstuck_runner::report::{Facts, Report};
use unstuck_runner::{Clock as _, CommandError, Ended, Handle, Notice, Runner, Scope, Setup};
use unstuck_store::tables::QuestionRow;
use unstuck_store::{Answer, Page, SqliteStore, Store};

use super::clock::NightClock;
use super::shop::Shop;
use super::story;
use super::world::{Paced, settings};
use crate::error::Error;
use crate::project;
use crate::render::when;

/// Virtual time that a person takes to see a question and answer it.
const ANSWER_TAKES: Span = Span::from_mins(6);
/// Maximum number of events per read.
const PAGE: u32 = 10_000;

/// A running night.
pub(super) struct Night {
    project: Arc<str>,
    store: Arc<dyn Store>,
    clock: Arc<NightClock>,
    handle: Handle,
    running: JoinHandle<Ended>,
    notices: broadcast::Receiver<Notice>,
    /// Number of events in the journal at the start of this process.
    pub(super) read_back: u64,
    /// The sequence number of the last event shown.
    told: u64,
}

/// The state of the night.
pub(super) enum Look {
    /// Work goes on without a person.
    GoesOn,
    /// No work goes on before this question is answered.
    StandsStill(QuestionId),
    /// The night is over.
    Over,
}

impl Night {
    /// Begins a night in a folder, or continues one that was interrupted there.
    pub(super) async fn begin(folder: &Path, seed: u64) -> Result<Self, Error> {
        let project: Arc<str> = Arc::from(format!("demo-{seed}"));
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(folder.join("state.db"))?);
        let clock = Arc::new(NightClock::starting_at(when::first_evening()));
        let setup = Setup {
            store: Arc::clone(&store),
            project: Arc::clone(&project),
            holder: project::holder("demo"),
            policy: Arc::new(Policy::default()),
            clock: Arc::clone(&clock) as _,
            gates: None,
            turns: None,
        };
        let runner = Runner::open(setup).await?;
        let handle = runner.handle();
        let read_back = runner.state().seq();
        if read_back > 0 {
            let page = Page { after: read_back - 1, limit: 1 };
            let last = store.events(&project, page).await?;
            clock.at_least(last.first().map_or(clock.now(), |recorded| recorded.at));
        }
        clock.belongs_to(handle.clone());
        let notices = handle.watch();
        let running = tokio::spawn(runner.run());
        let settings = settings(folder, &Shop::open(folder)?).await?;
        let told = handle.clone();
        let when = Arc::clone(&clock) as _;
        let build = BuildWorld::new(settings, Arc::new(told), Arc::clone(&store), &*project, when);
        let world = Paced { build, clock: Arc::clone(&clock) };
        handle.attach(Scope::Project, Arc::new(world)).await?;
        let night =
            Self { project, store, clock, handle, running, notices, read_back, told: read_back };
        if read_back == 0 {
            let start = Command::StartBuild { plan: story::plan(), slots: 3, in_place: false };
            night.handle.command(start).await?;
        }
        Ok(night)
    }

    /// Waits until all work of the current virtual moment is complete.
    pub(super) async fn settle(&self) {
        self.clock.settle().await;
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Waits for the next event.
    pub(super) async fn next(&mut self) -> Result<(Arc<Recorded>, Option<Arc<str>>), Error> {
        loop {
            match self.notices.recv().await {
                Ok(Notice::Event { recorded, narration }) => {
                    self.told = recorded.seq;
                    return Ok((recorded, narration));
                }
                Ok(_) => {}
                Err(_) => return Err(CommandError::Ended.into()),
            }
        }
    }

    /// Returns the state of the night; it goes on as long as not all events have been shown.
    pub(super) async fn look(&self) -> Result<Look, Error> {
        let told = self.told;
        let look = move |state: &State| {
            let waits = state.outstanding().is_empty() && state.next_wake().is_none();
            match state.questions().next() {
                _ if told < state.seq() => Look::GoesOn,
                _ if state.builds().all(|build| build.state.has_ended()) => Look::Over,
                Some(question) if waits => Look::StandsStill(question.id),
                _ => Look::GoesOn,
            }
        };
        Ok(self.handle.look(look).await?)
    }

    pub(super) async fn question(&self, id: QuestionId) -> Result<Option<QuestionRow>, Error> {
        Ok(self.store.question(&self.project, id).await?)
    }

    /// Records an answer like any other client: a row in the store, then a notice to the loop.
    pub(super) async fn answer(&self, answer: Answer) -> Result<(), Error> {
        self.clock.at_least(self.clock.now() + ANSWER_TAKES);
        self.store.answer(&self.project, answer).await?;
        self.handle.take_answers().await?;
        Ok(())
    }

    /// Returns the report of the night, the same as for any build.
    pub(super) async fn report(&self) -> Result<Option<Report>, Error> {
        let seen = (false, self.now());
        let facts = Facts::read(self.store.as_ref(), &self.project, None, seen).await?;
        Ok(facts.as_ref().map(Report::of))
    }

    pub(super) async fn journal(&self) -> Result<Vec<Recorded>, Error> {
        Ok(self.store.events(&self.project, Page { after: 0, limit: PAGE }).await?)
    }

    /// Releases the store in an orderly way.
    pub(super) async fn end(self) -> Result<(), Error> {
        self.handle.shut_down(false).await;
        self.running.await.map_err(|_| CommandError::Ended)??;
        Ok(())
    }
}
