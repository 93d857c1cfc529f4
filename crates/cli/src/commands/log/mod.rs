//! `unstuck log`: shows the events of the journal, and follows it.
//!
//! Events are always read from the store by position, also while following: the holder only announces that
//! there is something to read. So no event is missed and none comes twice.

mod follow;
mod line;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use unstuck_store::{EventPage, Store};

use crate::args::LogArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::{Terminal, write_event_json};

use line::LogNames;

/// Maximum number of events per read.
const PAGE_EVENTS: u32 = 500;

pub(crate) fn run(
    args: &LogArgs,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let project = LocalProject::find(dir)?;
    let store = project.open_store()?;
    project::create_runtime()?.block_on(async {
        let name = project.name();
        let after = match args.after {
            Some(after) => after,
            None => store.load_newest_seq(name).await?.saturating_sub(args.lines.into()),
        };
        let out = terminal.styled();
        let mut reader = LogReader::new(&project, Arc::clone(&store), out, after, args.json);
        if args.follow {
            return follow::run(&project, &mut reader).await;
        }
        reader.write_new_events().await?;
        Ok(Exit::Done)
    })
}

/// Writes events in order, from a position on.
struct LogReader<W> {
    project: Arc<str>,
    store: Arc<dyn Store>,
    out: W,
    /// The position of the last written event.
    after: u64,
    json: bool,
    names: LogNames,
}

impl<W: Write> LogReader<W> {
    fn new(project: &LocalProject, store: Arc<dyn Store>, out: W, after: u64, json: bool) -> Self {
        let project = Arc::clone(project.name());
        let names = LogNames::default();
        Self { project, store, out, after, json, names }
    }

    /// Writes all events after the last position.
    async fn write_new_events(&mut self) -> Result<(), CliError> {
        loop {
            let page = EventPage { after: self.after, limit: PAGE_EVENTS };
            let events = self.store.load_events(&self.project, page).await?;
            let Some(newest) = events.last().map(|recorded| recorded.seq) else { break };
            for recorded in &events {
                if self.json {
                    write_event_json(&mut self.out, &self.project, recorded)?;
                } else {
                    let store = self.store.as_ref();
                    let project = &self.project;
                    let about = self.names.find_subject(store, project, recorded).await?;
                    line::write_event_line(&mut self.out, recorded, about.as_ref())?;
                }
            }
            self.after = newest;
        }
        self.out.flush()?;
        Ok(())
    }
}
