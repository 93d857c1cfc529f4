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
use unstuck_core::engine::{Event, QuestionId, RecordedEvent, TaskId};
use unstuck_core::plan::TaskSpec;
use unstuck_core::tell::wanted_action;
use unstuck_runner::RunnerNotice;
use unstuck_store::{BuildLookup, EventPage, Store, StoreError};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject, ProjectConnection};
use crate::render::style::{DIM, STRONG};
use crate::render::{render_event, render_job_event, when, words, write_event_json};

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
                    write_event_line(&mut self.out, recorded, about.as_ref())?;
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
    about: Option<&LogSubject>,
) -> io::Result<()> {
    let at = when::render_stamp(recorded.at);
    let general = || render_event(&recorded.event, recorded.at);
    match about {
        Some(LogSubject { name, is_job, wanted }) => {
            let of_job = is_job.then(|| render_job_event(recorded, wanted.as_deref())).flatten();
            let phrase = of_job.unwrap_or_else(general);
            writeln!(out, "{DIM}{at}{DIM:#}  {STRONG}{name}{STRONG:#}: {phrase}")
        }
        None => writeln!(out, "{DIM}{at}{DIM:#}  {}", general()),
    }
}

/// The task that an event is about.
#[derive(Clone, Debug)]
struct LogSubject {
    /// The name as a person knows it.
    name: String,
    is_job: bool,
    /// The action that a person has to take, if the event asks for one.
    wanted: Option<String>,
}

/// The names of the tasks of events, with a cache of lookups.
#[derive(Default)]
struct LogNames {
    tasks: HashMap<TaskId, LogSubject>,
    places: BuildLookup,
    /// The action that each question asks of a person.
    wanted: HashMap<QuestionId, String>,
}

impl LogNames {
    /// Returns the task of an event; `None` if the event is not about a single task.
    async fn find_subject(
        &mut self,
        store: &dyn Store,
        project: &str,
        recorded: &RecordedEvent,
    ) -> Result<Option<LogSubject>, StoreError> {
        self.learn_names(&recorded.event);
        let place = self.places.resolve_subject(store, project, recorded).await?;
        let Some(task) = place.task else { return Ok(None) };
        let about = self.load_subject(store, project, task).await?;
        let wanted = match &recorded.event {
            Event::TaskParked { question, .. } => self.wanted.get(question).cloned(),
            _ => None,
        };
        Ok(Some(LogSubject { wanted, ..about }))
    }

    /// Records the names that events themselves carry, which saves lookups.
    fn learn_names(&mut self, event: &Event) {
        match event {
            Event::JobDefined { task, spec } => {
                self.tasks.insert(*task, LogSubject::from_spec(*task, spec));
            }
            Event::QuestionAsked { question } => {
                let fault = question.fault.as_deref();
                let wanted = wanted_action(question.kind, question.why.rule, fault);
                self.wanted.insert(question.id, words::plain_line(&wanted));
            }
            _ => {}
        }
    }

    async fn load_subject(
        &mut self,
        store: &dyn Store,
        project: &str,
        task: TaskId,
    ) -> Result<LogSubject, StoreError> {
        if let Some(about) = self.tasks.get(&task) {
            return Ok(about.clone());
        }
        let found = project::find_task(store, project, task).await?;
        let unknown = || LogSubject { name: format!("task {task}"), is_job: false, wanted: None };
        let about = found.map_or_else(unknown, |row| LogSubject::from_spec(task, &row.spec));
        self.tasks.insert(task, about.clone());
        Ok(about)
    }
}

impl LogSubject {
    /// Describes a task; a job has the name from the settings.
    fn from_spec(task: TaskId, spec: &TaskSpec) -> Self {
        let is_job = spec.job.is_some();
        let name = if is_job && !spec.name.trim().is_empty() {
            words::plain_line(&spec.name)
        } else {
            words::task_name(task, spec)
        };
        Self { name, is_job, wanted: None }
    }
}
