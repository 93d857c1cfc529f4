//! `unstuck jobs --watch`: runs the scheduled jobs until it is interrupted. A lock makes sure that a single
//! process runs the jobs of a project.

mod changes;
mod ready;
mod say;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fs;
use std::sync::Arc;

use tokio::task::JoinSet;
use unstuck_core::engine::{Command, Event, RecordedEvent, TaskId};
use unstuck_runner::jobs::{JobsPerformer, Scheduler};
use unstuck_runner::{PerformScope, RunnerNotice, SystemClock};
use unstuck_store::tables::TaskRow;
use unstuck_store::{Holder, Store};
use unstuck_world::process::FileLock;

use self::changes::SettingsWatch;
use self::ready::{JobsDifference, PreparedJobs};
use self::say::WatchOutput;
use super::defined::{find_job_rows, job_timetable};
use crate::commands::exec::{JobReporter, MessageFormat};
use crate::error::{CliError, JobsError};
use crate::exit::Exit;
use crate::project::{self, EndSignal, EndSignals, LocalProject, ProjectMessage, ProjectSession};

pub(super) fn run(project: &LocalProject, json: bool) -> Result<Exit, CliError> {
    project::create_runtime()?.block_on(async {
        if project.settings()?.settings.job.is_empty() {
            return Err(JobsError::NoJobs { root: project.root().to_owned() }.into());
        }
        let store = project.open_or_create_store()?;
        let format = MessageFormat::new(json, false);
        let mut watch = JobWatcher::open(project, &store, "jobs --watch", format).await?;
        watch.run_until_interrupted().await.map(EndSignal::to_exit)
    })
}

/// The watcher, which runs the scheduled jobs of a project.
pub(in crate::commands) struct JobWatcher<'a> {
    project: &'a LocalProject,
    store: &'a Arc<dyn Store>,
    ready: PreparedJobs,
    /// Reports changes of the settings, where the system supports it.
    changes: Option<SettingsWatch>,
    /// The last reported problem with changed settings.
    mistake: Option<String>,
    world: JobsPerformer,
    say: WatchOutput<'a>,
    _watching: FileLock,
}

/// The jobs, for as long as one process holds the project.
struct WatchRound {
    names: BTreeMap<TaskId, String>,
    scheduler: Scheduler,
    /// Jobs that this watcher fired on schedule: their timetable is already up to date.
    ours: BTreeSet<TaskId>,
}

impl<'a> JobWatcher<'a> {
    /// Becomes the watcher for a verb, unless another process is.
    pub(in crate::commands) async fn open(
        project: &'a LocalProject,
        store: &'a Arc<dyn Store>,
        verb: &str,
        format: MessageFormat,
    ) -> Result<Self, CliError> {
        let changes = SettingsWatch::open(project.root());
        let watching = acquire_watcher_lock(project, verb)?;
        let ready = PreparedJobs::prepare(project).await?;
        let world = JobsPerformer::new(ready.worlds(|_| true), project.runs_folder());
        let say = WatchOutput { project, format };
        if let Err(error) = &changes {
            say.write_line(&format!(
                "changes of the settings go unnoticed until the next start: {error}"
            ));
        }
        let changes = changes.ok();
        Ok(Self { project, store, ready, changes, mistake: None, world, say, _watching: watching })
    }

    /// Ends the processes it started, once its session is left.
    pub(in crate::commands) async fn end_processes(&self) {
        self.world.stop_effects().await;
    }

    async fn run_until_interrupted(&mut self) -> Result<EndSignal, CliError> {
        let mut signals = EndSignals::new()?;
        let mut session = None;
        let signal = tokio::select! {
            biased;
            signal = signals.next() => signal,
            failed = self.run_until_error(&mut session) => return Err(failed),
        };
        self.say.write_line("Stopping. Press Ctrl-C again to stop immediately.");
        let leave = async {
            project::leave_session(session).await?;
            self.end_processes().await;
            Ok::<_, CliError>(())
        };
        tokio::select! {
            biased;
            at_once = signals.next() => return Ok(at_once),
            left = leave => left?,
        }
        Ok(signal)
    }

    /// Runs the jobs across changes of the holder, until an error.
    async fn run_until_error(&mut self, place: &mut Option<ProjectSession>) -> CliError {
        let project = self.project;
        let store = self.store;
        let mut has_begun = false;
        let watch = async |session: &mut ProjectSession| {
            if std::mem::replace(&mut has_begun, true) {
                self.say.write_line(
                    "the process that had locked the project has ended; work continues.",
                );
            }
            self.watch_from(session, &|_| {}).await?;
            Ok(None::<Infallible>)
        };
        let Err(error) = project::with_session(project, store, "jobs --watch", place, watch).await;
        error
    }

    /// Runs the jobs in a session; `heard` receives all messages. Returns when the holder is gone.
    pub(in crate::commands) async fn watch_from(
        &mut self,
        session: &mut ProjectSession,
        heard: &impl Fn(&ProjectMessage),
    ) -> Result<(), CliError> {
        let mut round = self.begin_round(session).await?;
        let teller = JobReporter::new(self.say.format, Arc::clone(self.store), self.project);
        let decider = session.decider();
        let mut asked = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                next = session.next_message() => match next.inspect(heard)? {
                    ProjectMessage::HolderGone => return Ok(()),
                    ProjectMessage::Notice(RunnerNotice::Event { recorded, narration }) => {
                        round.note_event(&recorded);
                        let narration = narration.as_deref();
                        self.say.write_event(&recorded, narration, &round.names, &teller).await?;
                    }
                    ProjectMessage::Notice(RunnerNotice::StoreWaiting { message, .. }) => {
                        self.say.write_line(&format!("{message}. Work waits until this is fixed."));
                    }
                    ProjectMessage::Notice(RunnerNotice::StoreBack) => self.say.write_line("the store can be written again."),
                    ProjectMessage::Notice(RunnerNotice::Gap) => self.reload_held(&mut round.scheduler).await?,
                    ProjectMessage::Notice(RunnerNotice::Left) => {}
                },
                Some(_) = asked.join_next(), if !asked.is_empty() => {}
                () = wait_for_change(self.changes.as_mut()) => self.reload_settings(session, &mut round).await?,
                due = round.scheduler.wait_for_due() => {
                    for task in due {
                        let decider = Arc::clone(&decider);
                        round.ours.insert(task);
                        // A job that was held or removed a moment ago is rejected, which is fine.
                        asked.spawn(async move { decider.submit_command(Command::JobDue { task }).await });
                    }
                }
            }
        }
    }

    /// Defines the jobs and performs them in this session.
    async fn begin_round(&self, session: &ProjectSession) -> Result<WatchRound, CliError> {
        let rows = ready::define_jobs(&self.ready, session, self.store, self.project).await?;
        self.ready.attach_repairs(session, self.store);
        let mut scheduler = Scheduler::new(Arc::new(SystemClock));
        for job in self.ready.all() {
            let Some(row) = rows.get(job.name.as_str()) else { continue };
            if let Some(timetable) = job_timetable(job, row) {
                scheduler.set_timetable(row.id, timetable);
            }
        }
        let next = scheduler.next_due_time();
        let mut round = WatchRound { names: BTreeMap::new(), scheduler, ours: BTreeSet::new() };
        self.attach_jobs(session, &mut round, &rows).await?;
        self.say.write_begin(rows.len(), next);
        Ok(round)
    }

    /// Performs the jobs that are not performed from here yet.
    async fn attach_jobs(
        &self,
        session: &ProjectSession,
        round: &mut WatchRound,
        rows: &BTreeMap<String, TaskRow>,
    ) -> Result<(), CliError> {
        let more = rows.values().filter(|row| !round.names.contains_key(&row.id));
        let more: BTreeMap<TaskId, String> =
            more.map(|row| (row.id, row.spec.name.clone())).collect();
        if more.is_empty() {
            return Ok(());
        }
        let tasks: BTreeSet<TaskId> = more.keys().copied().collect();
        session
            .attach_performer(PerformScope::Tasks(Arc::new(tasks)), Arc::new(self.world.clone()))
            .await?;
        round.names.extend(more);
        Ok(())
    }

    /// Applies changed settings, unless they have a problem. Running jobs are not touched.
    async fn reload_settings(
        &mut self,
        session: &ProjectSession,
        round: &mut WatchRound,
    ) -> Result<(), CliError> {
        match self.ready.reload().await {
            Ok(Some(ready)) => {
                let difference = ready.difference_from(&self.ready);
                self.ready = ready;
                self.mistake = None;
                self.apply_difference(session, round, &difference).await?;
                self.say.write_line(&format!("{difference}."));
            }
            Ok(None) if self.mistake.take().is_some() => {
                self.say.write_line("the settings are unchanged.");
            }
            Ok(None) => {}
            Err(error) => {
                let mistake = error.to_string();
                if self.mistake.as_ref() != Some(&mistake) {
                    self.say.write_mistake(&format!(
                        "the new settings are not valid, so the old ones stay: {mistake}"
                    ));
                    self.mistake = Some(mistake);
                }
            }
        }
        Ok(())
    }

    async fn apply_difference(
        &self,
        session: &ProjectSession,
        round: &mut WatchRound,
        difference: &JobsDifference,
    ) -> Result<(), CliError> {
        self.world.replace_jobs(self.ready.worlds(|name| difference.is_new_or_changed(name)));
        let rows = ready::define_jobs(&self.ready, session, self.store, self.project).await?;
        self.ready.attach_repairs(session, self.store);
        for job in self.ready.all() {
            let name = job.name.as_str().to_owned();
            let Some(row) = rows.get(&name).filter(|_| difference.is_new_or_changed(&name)) else {
                continue;
            };
            match job_timetable(job, row) {
                Some(timetable) => round.scheduler.set_timetable(row.id, timetable),
                None => round.scheduler.remove_job(row.id),
            }
        }
        let gone = round.names.iter().filter(|(_, name)| difference.gone.contains(name));
        for (task, _) in gone {
            round.scheduler.remove_job(*task);
        }
        self.attach_jobs(session, round, &rows).await
    }

    /// Reads the held jobs again, because notices were missed.
    async fn reload_held(&self, scheduler: &mut Scheduler) -> Result<(), CliError> {
        for row in find_job_rows(self.store.as_ref(), self.project.name()).await?.values() {
            scheduler.set_held(row.id, row.moved.held);
        }
        Ok(())
    }
}

impl WatchRound {
    /// Updates the timetable after an event.
    fn note_event(&mut self, recorded: &RecordedEvent) {
        match &recorded.event {
            Event::JobHeld { task } => self.scheduler.set_held(*task, true),
            Event::JobReleased { task } => self.scheduler.set_held(*task, false),
            Event::JobFired { task } if self.ours.remove(task) => {}
            Event::JobFired { task } => self.scheduler.note_run(*task, recorded.at),
            _ => {}
        }
    }
}

async fn wait_for_change(changes: Option<&mut SettingsWatch>) {
    match changes {
        Some(changes) => changes.next().await,
        None => std::future::pending().await,
    }
}

/// Becomes the watcher, unless another process is: this process runs the jobs until the lock is dropped.
fn acquire_watcher_lock(project: &LocalProject, verb: &str) -> Result<FileLock, CliError> {
    let path = project.watcher_path();
    let unusable = CliError::unusable(&path);
    let Some(lock) = FileLock::try_acquire(&project.watcher_lock_path()).map_err(unusable)? else {
        return Err(JobsError::Watched { holder: read_watcher(project) }.into());
    };
    let us = serde_json::to_vec(&project::describe_holder(verb))
        .map_err(|error| unusable(error.into()))?;
    fs::write(&path, us).map_err(unusable)?;
    Ok(lock)
}

pub(crate) fn find_watcher(project: &LocalProject) -> Option<Holder> {
    let path = project.watcher_lock_path();
    let taken = path.exists() && matches!(FileLock::try_acquire(&path), Ok(None));
    taken.then(|| read_watcher(project))
}

pub(crate) async fn wait_until_watcher_gone(project: &LocalProject) {
    // Without the lock there is nothing to wait for.
    let _ = FileLock::acquire(&project.watcher_lock_path()).await;
}

fn read_watcher(project: &LocalProject) -> Holder {
    let written = fs::read(project.watcher_path()).ok();
    let written = written.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    written.unwrap_or_else(|| Holder { pid: 0, ..project::describe_holder("jobs --watch") })
}
