//! A site: the projects of a server, each with its store, its desk and its live events.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_runner::Clock;
use unstuck_store::{Store, StoreError};

use crate::api::ResponseCache;
use crate::auth::Caller;
use crate::desk::ProjectHost;
use crate::events::{EventHub, EventStreamCursor};
use crate::metrics::TrafficCounters;

/// A project to be shown.
#[derive(Debug)]
pub struct ProjectRegistration {
    /// The name of the project in its store.
    pub name: Arc<str>,
    /// The store of the project.
    pub store: Arc<dyn Store>,
    /// The desk that takes commands about it.
    pub host: Arc<dyn ProjectHost>,
    /// The readers of its questions.
    pub audience: QuestionAudience,
}

/// The readers of a project's questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuestionAudience {
    /// People who read commands and their output: the evidence below a question is open.
    #[default]
    Developer,
    /// Other people: the evidence is folded.
    Plain,
}

/// A project that is shown.
#[derive(Debug)]
pub(crate) struct HostedProject {
    /// The name of the project in its store.
    pub(crate) name: Arc<str>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) host: Arc<dyn ProjectHost>,
    pub(crate) hub: Arc<EventHub>,
    pub(crate) audience: QuestionAudience,
}

/// All projects that a server shows.
pub struct ServerState {
    projects: BTreeMap<Arc<str>, Arc<HostedProject>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// A counter that changes when an event arrives in any project.
    pub(crate) tick: watch::Sender<u64>,
    pub(crate) traffic: TrafficCounters,
    pub(crate) response_cache: ResponseCache,
    /// The token that is cancelled when the server stops.
    pub(crate) stop: CancellationToken,
}

impl ServerState {
    /// Opens a site of these projects, and reads their events until `stop`.
    pub async fn open(
        projects: impl IntoIterator<Item = ProjectRegistration>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, StoreError> {
        let tick = watch::Sender::new(0);
        let mut rooms = BTreeMap::new();
        for ProjectRegistration { name, store, host: desk, audience } in projects {
            let hub = EventHub::new(Arc::clone(&name), Arc::clone(&store)).await?;
            let reader = Arc::clone(&hub);
            let tick = tick.clone();
            let stop = stop.clone();
            tokio::spawn(async move { reader.run(tick, stop).await });
            let room = HostedProject { name: Arc::clone(&name), store, host: desk, hub, audience };
            rooms.insert(name, Arc::new(room));
        }
        Ok(Arc::new(Self {
            projects: rooms,
            clock,
            tick,
            traffic: TrafficCounters::default(),
            response_cache: ResponseCache::default(),
            stop,
        }))
    }

    /// Returns the projects that a caller may see, ordered by name.
    pub(crate) fn visible_projects(
        &self,
        caller: &Caller,
    ) -> impl Iterator<Item = &Arc<HostedProject>> {
        self.projects.values().filter(|room| caller.can_see(&room.name))
    }

    /// Returns a project, if the caller may see it. For others it does not exist.
    pub(crate) fn find_project(&self, caller: &Caller, name: &str) -> Option<&Arc<HostedProject>> {
        self.projects.get(name).filter(|room| caller.can_see(&room.name))
    }

    /// Returns the position of all journals that a caller may see.
    pub(crate) fn current_cursor(&self, caller: &Caller) -> EventStreamCursor {
        let mut cursor = EventStreamCursor::default();
        for room in self.visible_projects(caller) {
            cursor.set_position(&room.name, *room.hub.subscribe_head().borrow());
        }
        cursor
    }

    /// Returns all projects.
    pub(crate) fn all_projects(&self) -> impl Iterator<Item = &Arc<HostedProject>> {
        self.projects.values()
    }

    /// Wakes the reader of a project's events, because another process may have written some.
    pub fn wake_project_reader(&self, project: &str) {
        if let Some(room) = self.projects.get(project) {
            room.hub.wake_reader();
        }
    }
}

impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("rooms", &self.projects.keys()).finish_non_exhaustive()
    }
}
