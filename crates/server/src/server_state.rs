//! The state of a server: its projects, each with its store, its host and its live events, and its traffic.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderValue, header};
use axum::response::Response;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_runner::Clock;
use unstuck_store::{Store, StoreError};

use crate::auth::Caller;
use crate::events::{EventHub, EventStreamCursor};
use crate::project_host::ProjectHost;
use crate::response_cache::ResponseCache;

/// Number of status classes, from 1xx to 5xx; the first is never sent as a final status.
const STATUS_CLASSES: usize = 5;

/// A project to be shown.
#[derive(Debug)]
pub struct ProjectRegistration {
    /// The name of the project in its store.
    pub name: Arc<str>,
    /// The store of the project.
    pub store: Arc<dyn Store>,
    /// The host that takes commands about it.
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

#[derive(Debug)]
pub(crate) struct HostedProject {
    /// The name of the project in its store.
    pub(crate) name: Arc<str>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) host: Arc<dyn ProjectHost>,
    pub(crate) hub: Arc<EventHub>,
    pub(crate) audience: QuestionAudience,
}

#[derive(Debug, Default)]
pub(crate) struct TrafficCounters {
    /// Number of responses by the first digit of their status.
    pub(crate) responses: [AtomicU64; STATUS_CLASSES],
    /// Number of streams that were begun.
    pub(crate) streams: AtomicU64,
}

impl TrafficCounters {
    pub(crate) fn count_response(&self, response: &Response) {
        let class = usize::from(response.status().as_u16() / 100).clamp(1, STATUS_CLASSES) - 1;
        self.responses[class].fetch_add(1, Ordering::Relaxed);
        let is_stream = |value: &HeaderValue| value.as_bytes().starts_with(b"text/event-stream");
        if response.headers().get(header::CONTENT_TYPE).is_some_and(is_stream) {
            self.streams.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The state that every handler shares.
pub(crate) type SharedServerState = Arc<ServerState>;

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
        let mut hosted_projects = BTreeMap::new();
        for ProjectRegistration { name, store, host, audience } in projects {
            let hub = EventHub::new(Arc::clone(&name), Arc::clone(&store)).await?;
            let reader = Arc::clone(&hub);
            let tick = tick.clone();
            let stop = stop.clone();
            tokio::spawn(async move { reader.run(tick, stop).await });
            let hosted = HostedProject { name: Arc::clone(&name), store, host, hub, audience };
            hosted_projects.insert(name, Arc::new(hosted));
        }
        Ok(Arc::new(Self {
            projects: hosted_projects,
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
        self.projects.values().filter(|hosted| caller.can_see(&hosted.name))
    }

    /// Returns a project, if the caller may see it. For others it does not exist.
    pub(crate) fn find_project(&self, caller: &Caller, name: &str) -> Option<&Arc<HostedProject>> {
        self.projects.get(name).filter(|hosted| caller.can_see(&hosted.name))
    }

    /// Returns the position of all journals that a caller may see.
    pub(crate) fn current_cursor(&self, caller: &Caller) -> EventStreamCursor {
        let mut cursor = EventStreamCursor::default();
        for hosted in self.visible_projects(caller) {
            cursor.set_position(&hosted.name, *hosted.hub.subscribe_head().borrow());
        }
        cursor
    }

    pub(crate) fn all_projects(&self) -> impl Iterator<Item = &Arc<HostedProject>> {
        self.projects.values()
    }

    /// Wakes the reader of a project's events, because another process may have written some.
    pub fn wake_project_reader(&self, project: &str) {
        if let Some(hosted) = self.projects.get(project) {
            hosted.hub.wake_reader();
        }
    }
}

impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerState")
            .field("projects", &self.projects.keys())
            .finish_non_exhaustive()
    }
}
