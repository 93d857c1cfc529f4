//! `unstuck log`: shows the events of the journal, and follows it.
//!
//! Events are always read from the store by position, also while following: the holder only announces that
//! there is something to read. So no event is missed and none comes twice.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use unstuck_core::engine::{Event, RecordedEvent, SkipReason, TaskId};
use unstuck_core::fault::Fault;
use unstuck_core::plan::TaskSpec;
use unstuck_core::tell::{BuildTally, EventFacts, describe_event};
use unstuck_runner::RunnerNotice;
use unstuck_store::tables::BuildRow;
use unstuck_store::{BuildLookup, EventPage, Store, StoreError};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject, ProjectConnection};
use crate::render::style::DIM;
use crate::render::{event_details, when, words, write_event_json};

/// Show the decision log of the project
#[derive(Debug, clap::Args)]
#[command(after_long_help = LOG_EXAMPLES)]
pub(crate) struct LogArgs {
    /// Keep printing new events
    #[arg(short, long)]
    follow: bool,

    /// Number of latest events to show first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: u32,

    /// Only show events after this position
    #[arg(long, value_name = "SEQ", conflicts_with = "lines")]
    after: Option<u64>,

    /// Write each event as a line of JSON
    #[arg(long)]
    json: bool,
}

const LOG_EXAMPLES: &str = "\
Examples:
  unstuck log -n 20                  the last twenty events
  unstuck log -f                     keep printing new events
  unstuck log --json --after 1200    as JSON, from a position on";

/// Maximum number of events per read.
const PAGE_EVENTS: u32 = 500;

pub(crate) fn run(args: &LogArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let store = project.open_store()?;
    project::create_runtime()?.block_on(async {
        let name = project.name();
        let after = match args.after {
            Some(after) => after,
            None => store.load_newest_seq(name).await?.saturating_sub(args.lines.into()),
        };
        let out = context.terminal.styled();
        let mut reader = LogReader::new(&project, Arc::clone(&store), out, after, args.json);
        if args.follow {
            return follow_journal(&project, &mut reader).await;
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
    facts: LogFacts,
}

impl<W: Write> LogReader<W> {
    fn new(project: &LocalProject, store: Arc<dyn Store>, out: W, after: u64, json: bool) -> Self {
        let project = Arc::clone(project.name());
        let facts = LogFacts::default();
        Self { project, store, out, after, json, facts }
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
                    let (said, more) = self.facts.describe(store, project, recorded).await?;
                    write_event_line(&mut self.out, recorded, &said, &more)?;
                }
            }
            self.after = newest;
        }
        Ok(self.out.flush()?)
    }
}

/// Interval between two attempts to find a holder.
const LOOK: Duration = Duration::from_secs(1);

/// Writes events until an interrupt, or until the reader of the output closes it.
async fn follow_journal<W: Write>(
    project: &LocalProject,
    reader: &mut LogReader<W>,
) -> Result<Exit, CliError> {
    // Registered before the first line, so that a reader of that line can interrupt the process properly.
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = interrupt.recv() => Ok(Exit::Interrupted),
        () = wait_until_closed() => Ok(Exit::Done),
        error = follow_until_error(project, reader) => Err(error),
    }
}

async fn follow_until_error<W: Write>(
    project: &LocalProject,
    reader: &mut LogReader<W>,
) -> CliError {
    loop {
        if let Err(error) = follow_holder(project, reader).await {
            return error;
        }
        // There is no holder. Events may come all the same, from a process that held the project for a
        // moment.
        tokio::time::sleep(LOOK).await;
    }
}

/// Writes the events while there is a holder.
async fn follow_holder<W: Write>(
    project: &LocalProject,
    reader: &mut LogReader<W>,
) -> Result<(), CliError> {
    let holder = ProjectConnection::connect(project).await.ok();
    // Subscribed before the read: an event in between is announced and read once more.
    let notices = match &holder {
        Some((connection, _)) => connection.subscribe_notices().await.ok(),
        None => None,
    };
    reader.write_new_events().await?;
    let (Some((connection, _)), Some(mut notices)) = (holder, notices) else { return Ok(()) };
    loop {
        let more = tokio::select! {
            more = wait_for_notice(&mut notices) => more,
            () = connection.wait_until_gone() => false,
        };
        reader.write_new_events().await?;
        if !more {
            return Ok(());
        }
    }
}

/// Waits until there may be events to read; `false` when no more notices will come. A gap in the notices is
/// a reason to read like any other.
async fn wait_for_notice(notices: &mut Receiver<RunnerNotice>) -> bool {
    let told = notices.recv().await;
    // A single read of the store covers all notices so far.
    while notices.try_recv().is_ok() {}
    !matches!(told, Err(RecvError::Closed))
}

/// Waits until the reader of the output has closed it. A file and a terminal never do.
async fn wait_until_closed() {
    let (tell, closed) = oneshot::channel();
    // The thread ends with the process; it needs no cleanup.
    std::thread::spawn(move || {
        let stdout = io::stdout();
        let mut wanted = [PollFd::new(&stdout, PollFlags::empty())];
        let found = poll(&mut wanted, None);
        if found.is_ok() && wanted[0].revents().intersects(PollFlags::ERR) {
            let _ = tell.send(());
        }
    });
    if closed.await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn write_event_line(
    out: &mut impl Write,
    recorded: &RecordedEvent,
    said: &str,
    more: &[String],
) -> io::Result<()> {
    let at = when::render_stamp(recorded.at);
    let said = words::plain_line(said);
    if more.is_empty() {
        return writeln!(out, "{DIM}{at}{DIM:#}  {said}");
    }
    writeln!(out, "{DIM}{at}{DIM:#}  {said} {DIM}({}){DIM:#}", more.join(", "))
}

/// Finds the facts about the subjects of events, with a cache of lookups.
#[derive(Default)]
struct LogFacts {
    specs: HashMap<TaskId, Option<Arc<TaskSpec>>>,
    /// The latest failure of each task, as far as the log has shown it.
    failures: HashMap<TaskId, Arc<Fault>>,
    places: BuildLookup,
}

impl LogFacts {
    /// Returns the sentence for an event and the details behind it.
    async fn describe(
        &mut self,
        store: &dyn Store,
        project: &str,
        recorded: &RecordedEvent,
    ) -> Result<(String, Vec<String>), StoreError> {
        let event = &recorded.event;
        self.learn_facts(event);
        let task = self.places.resolve_subject(store, project, recorded).await?.task;
        let spec = match task {
            Some(task) => self.load_spec(store, project, task).await?,
            None => None,
        };
        let needed = match event {
            Event::TaskSkipped { left: SkipReason::Needs { task }, .. } => {
                self.load_spec(store, project, *task).await?
            }
            _ => None,
        };
        let done = match event {
            Event::TaskDone { task, .. } => store.load_task(project, *task).await?,
            _ => None,
        };
        let action = match event.mutation() {
            Some(id) => store.load_mutation(project, id).await?,
            None => None,
        };
        let unknown = task.map(|task| format!("task {task}")).unwrap_or_default();
        let facts = EventFacts {
            attempts: done.map_or(0, |row| row.moved.attempts),
            needs: needed.as_ref().map_or("", |spec| spec.display_name()),
            failure: task.and_then(|task| self.failures.get(&task)).map(Arc::as_ref),
            action: action.map(|action| action.spec.kind),
            tally: load_tally(store, project, event).await?,
            ..spec.as_ref().map_or_else(
                || EventFacts { title: &unknown, ..EventFacts::default() },
                |spec| EventFacts::from_spec(spec),
            )
        };
        let said = describe_event(recorded, &facts);
        // The title of a job may come from its goal; people know the name in the settings.
        let job = spec.filter(|spec| spec.job.is_some() && !said.contains(&spec.name));
        let job = job.map(|spec| words::plain_line(&spec.name));
        let more = job.into_iter().chain(event_details(recorded)).collect();
        Ok((said, more))
    }

    /// Records the facts that events themselves carry.
    fn learn_facts(&mut self, event: &Event) {
        match event {
            Event::JobDefined { task, spec } => {
                self.specs.insert(*task, Some(Arc::clone(spec)));
            }
            Event::FaultMet { task, fault, .. } => {
                self.failures.insert(*task, Arc::clone(fault));
            }
            _ => {}
        }
    }

    async fn load_spec(
        &mut self,
        store: &dyn Store,
        project: &str,
        task: TaskId,
    ) -> Result<Option<Arc<TaskSpec>>, StoreError> {
        if let Some(spec) = self.specs.get(&task) {
            return Ok(spec.clone());
        }
        let spec = store.load_task(project, task).await?.map(|row| row.spec);
        self.specs.insert(task, spec.clone());
        Ok(spec)
    }
}

/// Returns the result of the tasks of a build that ended.
async fn load_tally(
    store: &dyn Store,
    project: &str,
    event: &Event,
) -> Result<Option<BuildTally>, StoreError> {
    let Event::BuildCompleted { build } = event else { return Ok(None) };
    let builds = store.load_builds(project).await?;
    Ok(builds.iter().find(|row| row.id == *build).map(BuildRow::tally))
}
