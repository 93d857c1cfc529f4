//! `unstuck log`: shows the events of the journal, and follows it.
//!
//! Events are always read from the store by position, also while following: the holder only announces that
//! there is something to read. So no event is missed and none comes twice.

mod follow;
mod line;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use unstuck_store::{Page, Store};

use crate::args::Log;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{Terminal, event_json};

use line::Names;

/// Maximum number of events per read.
const PAGE_EVENTS: u32 = 500;

pub(crate) fn run(args: &Log, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let store = project.store()?;
    project::runtime()?.block_on(async {
        let name = project.name();
        let after = match args.after {
            Some(after) => after,
            None => store.newest(name).await?.saturating_sub(args.lines.into()),
        };
        let out = terminal.styled();
        let mut reader = Reader::new(&project, Arc::clone(&store), out, after, args.json);
        if args.follow {
            return follow::run(&project, &mut reader).await;
        }
        reader.read_on().await?;
        Ok(Exit::Done)
    })
}

/// Writes events in order, from a position on.
struct Reader<W> {
    project: Arc<str>,
    store: Arc<dyn Store>,
    out: W,
    /// The position of the last written event.
    after: u64,
    json: bool,
    names: Names,
}

impl<W: Write> Reader<W> {
    fn new(project: &Project, store: Arc<dyn Store>, out: W, after: u64, json: bool) -> Self {
        let project = Arc::clone(project.name());
        let names = Names::default();
        Self { project, store, out, after, json, names }
    }

    /// Writes all events after the last position.
    async fn read_on(&mut self) -> Result<(), Error> {
        loop {
            let page = Page { after: self.after, limit: PAGE_EVENTS };
            let events = self.store.events(&self.project, page).await?;
            let Some(newest) = events.last().map(|recorded| recorded.seq) else { break };
            for recorded in &events {
                if self.json {
                    event_json(&mut self.out, &self.project, recorded)?;
                } else {
                    let store = self.store.as_ref();
                    let project = &self.project;
                    let about = self.names.of(store, project, recorded).await?;
                    line::plain(&mut self.out, recorded, about.as_ref())?;
                }
            }
            self.after = newest;
        }
        self.out.flush()?;
        Ok(())
    }
}
