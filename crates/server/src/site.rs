//! A site: the projects of a server, each with its store, its desk and its live events.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_runner::Clock;
use unstuck_store::{Store, StoreError};

use crate::api::Kept;
use crate::auth::Caller;
use crate::desk::Desk;
use crate::events::{Cursor, Hub};
use crate::metrics::Traffic;

/// A project to be shown.
#[derive(Debug)]
pub struct Hosted {
    /// The name of the project in its store.
    pub name: Arc<str>,
    /// The store of the project.
    pub store: Arc<dyn Store>,
    /// The desk that takes commands about it.
    pub desk: Arc<dyn Desk>,
    /// The readers of its questions.
    pub audience: Audience,
}

/// The readers of a project's questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// People who read commands and their output: the evidence below a question is open.
    #[default]
    Developer,
    /// Other people: the evidence is folded.
    Plain,
}

/// A project that is shown.
#[derive(Debug)]
pub(crate) struct Room {
    /// The name of the project in its store.
    pub(crate) name: Arc<str>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) desk: Arc<dyn Desk>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) audience: Audience,
}

/// All projects that a server shows.
pub struct Site {
    rooms: BTreeMap<Arc<str>, Arc<Room>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// A counter that changes when an event arrives in any project.
    pub(crate) tick: watch::Sender<u64>,
    pub(crate) traffic: Traffic,
    pub(crate) kept: Kept,
    /// The token that is cancelled when the server stops.
    pub(crate) stop: CancellationToken,
}

impl Site {
    /// Opens a site of these projects, and reads their events until `stop`.
    pub async fn open(
        projects: impl IntoIterator<Item = Hosted>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, StoreError> {
        let tick = watch::Sender::new(0);
        let mut rooms = BTreeMap::new();
        for Hosted { name, store, desk, audience } in projects {
            let hub = Hub::new(Arc::clone(&name), Arc::clone(&store)).await?;
            let reader = Arc::clone(&hub);
            let tick = tick.clone();
            let stop = stop.clone();
            tokio::spawn(async move { reader.run(tick, stop).await });
            let room = Room { name: Arc::clone(&name), store, desk, hub, audience };
            rooms.insert(name, Arc::new(room));
        }
        Ok(Arc::new(Self {
            rooms,
            clock,
            tick,
            traffic: Traffic::default(),
            kept: Kept::default(),
            stop,
        }))
    }

    /// Returns the projects that a caller may see, ordered by name.
    pub(crate) fn seen_by(&self, caller: &Caller) -> impl Iterator<Item = &Arc<Room>> {
        self.rooms.values().filter(|room| caller.sees(&room.name))
    }

    /// Returns a project, if the caller may see it. For others it does not exist.
    pub(crate) fn room(&self, caller: &Caller, name: &str) -> Option<&Arc<Room>> {
        self.rooms.get(name).filter(|room| caller.sees(&room.name))
    }

    /// Returns the position of all journals that a caller may see.
    pub(crate) fn position(&self, caller: &Caller) -> Cursor {
        let mut cursor = Cursor::default();
        for room in self.seen_by(caller) {
            cursor.set(&room.name, *room.hub.head().borrow());
        }
        cursor
    }

    /// Returns all projects.
    pub(crate) fn rooms(&self) -> impl Iterator<Item = &Arc<Room>> {
        self.rooms.values()
    }

    /// Wakes the reader of a project's events, because another process may have written some.
    pub fn nudge(&self, project: &str) {
        if let Some(room) = self.rooms.get(project) {
            room.hub.nudge();
        }
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("rooms", &self.rooms.keys()).finish_non_exhaustive()
    }
}
