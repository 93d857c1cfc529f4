//! What a server shows: some projects, each with its store and its desk.

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_store::Store;

use crate::auth::Caller;
use crate::desk::Desk;

/// A project that is shown.
#[derive(Debug)]
pub struct Hosted {
    /// Its name, which the store knows it by.
    pub name: Arc<str>,
    /// Where it is remembered.
    pub store: Arc<dyn Store>,
    /// Where wishes about it are handed in.
    pub desk: Arc<dyn Desk>,
}

/// Everything a server shows.
#[derive(Debug, Default)]
pub struct Site {
    projects: BTreeMap<Arc<str>, Arc<Hosted>>,
}

impl Site {
    /// A site of these projects.
    pub fn new(projects: impl IntoIterator<Item = Hosted>) -> Self {
        let named = |hosted: Hosted| (Arc::clone(&hosted.name), Arc::new(hosted));
        Self { projects: projects.into_iter().map(named).collect() }
    }

    /// The projects that somebody may see, in the order of their names.
    pub fn seen_by(&self, caller: &Caller) -> impl Iterator<Item = &Arc<Hosted>> {
        self.projects.values().filter(|hosted| caller.sees(&hosted.name))
    }

    /// One project, if somebody may see it. To others it does not exist.
    pub fn project(&self, caller: &Caller, name: &str) -> Option<&Arc<Hosted>> {
        self.projects.get(name).filter(|hosted| caller.sees(&hosted.name))
    }
}
