//! What a server shows: some projects, each with its store, its desk and its live events.

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

/// A project that is to be shown.
#[derive(Debug)]
pub struct Hosted {
    /// Its name, which the store knows it by.
    pub name: Arc<str>,
    /// Where it is remembered.
    pub store: Arc<dyn Store>,
    /// Where wishes about it are handed in.
    pub desk: Arc<dyn Desk>,
    /// Who reads its questions.
    pub audience: Audience,
}

/// Who reads the questions of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// People who read commands and their output: what a question rests on is open below it.
    #[default]
    Developer,
    /// People who do not: it is folded.
    Plain,
}

/// A project that is shown.
#[derive(Debug)]
pub(crate) struct Room {
    /// Its name, which the store knows it by.
    pub(crate) name: Arc<str>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) desk: Arc<dyn Desk>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) audience: Audience,
}

/// Everything a server shows.
pub struct Site {
    rooms: BTreeMap<Arc<str>, Arc<Room>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Changes when something happens in any of them.
    pub(crate) tick: watch::Sender<u64>,
    pub(crate) traffic: Traffic,
    pub(crate) kept: Kept,
    /// The server ends.
    pub(crate) stop: CancellationToken,
}

impl Site {
    /// A site of these projects, whose events are read until `stop`.
    pub async fn open(
        projects: impl IntoIterator<Item = Hosted>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, StoreError> {
        let tick = watch::Sender::new(0);
        let mut rooms = BTreeMap::new();
        for Hosted { name, store, desk, audience } in projects {
            let hub = Hub::new(Arc::clone(&name), Arc::clone(&store)).await?;
            let (reader, tick, stop) = (Arc::clone(&hub), tick.clone(), stop.clone());
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

    /// The projects that somebody may see, in the order of their names.
    pub(crate) fn seen_by(&self, caller: &Caller) -> impl Iterator<Item = &Arc<Room>> {
        self.rooms.values().filter(|room| caller.sees(&room.name))
    }

    /// One project, if somebody may see it. To others it does not exist.
    pub(crate) fn room(&self, caller: &Caller, name: &str) -> Option<&Arc<Room>> {
        self.rooms.get(name).filter(|room| caller.sees(&room.name))
    }

    /// How far the journals have come that somebody may see.
    pub(crate) fn position(&self, caller: &Caller) -> Cursor {
        let mut cursor = Cursor::default();
        for room in self.seen_by(caller) {
            cursor.set(&room.name, *room.hub.head().borrow());
        }
        cursor
    }

    /// All of them.
    pub(crate) fn rooms(&self) -> impl Iterator<Item = &Arc<Room>> {
        self.rooms.values()
    }

    /// Another process may have written something about a project.
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
