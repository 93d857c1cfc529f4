//! `unstuck jobs --watch`: runs the scheduled jobs until it is interrupted.

mod changes;
mod define;
mod ready;
mod say;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::JoinSet;
use unstuck_core::engine::{Command, Event, Recorded, TaskId};
use unstuck_runner::jobs::{JobsWorld, Scheduler};
use unstuck_runner::{Notice, Scope, SystemClock};
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;

use self::changes::Changes;
use self::ready::{Difference, Ready};
use self::say::Say;
pub(in crate::commands) use self::say::Voice;
use super::defined::{find_rows, timetable};
use super::watcher::Watching;
use crate::commands::exec::Teller;
use crate::error::{Error, JobsError};
use crate::exit::Exit;
use crate::project::{self, Heard, Project, Seat, Signal, Signals};

pub(super) fn run(project: &Project, json: bool) -> Result<Exit, Error> {
    project::runtime()?.block_on(async {
        if project.settings()?.settings.job.is_empty() {
            return Err(JobsError::NoJobs { root: project.root().to_owned() }.into());
        }
        let store = project.make_store()?;
        let voice = if json { Voice::Json } else { Voice::Words };
        let mut watch = Watch::open(project, &store, "jobs --watch", voice).await?;
        watch.until_interrupted().await.map(Signal::exit)
    })
}

/// The watcher, which runs the scheduled jobs of a project.
pub(in crate::commands) struct Watch<'a> {
    project: &'a Project,
    store: &'a Arc<dyn Store>,
    /// The jobs, ready to run.
    ready: Ready,
    /// Reports changes of the settings, where the system supports it.
    changes: Option<Changes>,
    /// The last reported problem with changed settings.
    mistake: Option<String>,
    world: JobsWorld,
    say: Say<'a>,
    _watching: Watching,
}

/// The jobs, for as long as one process holds the project.
struct Round {
    names: BTreeMap<TaskId, String>,
    scheduler: Scheduler,
    /// Jobs that this watcher fired on schedule: their timetable is already up to date.
    ours: BTreeSet<TaskId>,
}

impl<'a> Watch<'a> {
    /// Becomes the watcher for a verb, unless another process is.
    pub(in crate::commands) async fn open(
        project: &'a Project,
        store: &'a Arc<dyn Store>,
        verb: &str,
        voice: Voice,
    ) -> Result<Self, Error> {
        let changes = Changes::of(project.root());
        let watching = Watching::begin(project, verb)?;
        let ready = Ready::of(project).await?;
        let world = JobsWorld::new(ready.worlds(|_| true), project.runs());
        let say = Say { project, voice };
        if let Err(error) = &changes {
            say.line(&format!(
                "changes of the settings go unnoticed until the next start: {error}"
            ));
        }
        let changes = changes.ok();
        Ok(Self { project, store, ready, changes, mistake: None, world, say, _watching: watching })
    }

    /// Ends the processes it started, once its seat is left.
    pub(in crate::commands) async fn end(&self) {
        self.world.end().await;
    }

    async fn until_interrupted(&mut self) -> Result<Signal, Error> {
        let mut signals = Signals::new()?;
        let mut seat = None;
        let signal = tokio::select! {
            biased;
            signal = signals.next() => signal,
            failed = self.go_on(&mut seat) => return Err(failed),
        };
        self.say.line("ending. Once more to end at once.");
        let leave = async {
            if let Some(seat) = seat {
                seat.leave().await?;
            }
            self.end().await;
            Ok::<_, Error>(())
        };
        tokio::select! {
            biased;
            at_once = signals.next() => return Ok(at_once),
            left = leave => left?,
        }
        Ok(signal)
    }

    /// Runs the jobs across changes of the holder, until an error.
    async fn go_on(&mut self, place: &mut Option<Seat>) -> Error {
        let mut has_begun = false;
        loop {
            let seat = match Seat::take(self.project, self.store, "jobs --watch").await {
                Ok(seat) => place.insert(seat),
                Err(error) => return error,
            };
            if std::mem::replace(&mut has_begun, true) {
                self.say.line("the process that held the project has ended; everything goes on.");
            }
            match self.watch_from(seat, &|_| {}).await {
                // The holder is gone, and the jobs go on.
                Ok(()) => {}
                Err(error) if seat.is_left_by(&error) => {}
                Err(error) => return error,
            }
        }
    }

    /// Runs the jobs from a seat; `heard` receives all messages. Returns when the holder is gone.
    pub(in crate::commands) async fn watch_from(
        &mut self,
        seat: &mut Seat,
        heard: &impl Fn(&Heard),
    ) -> Result<(), Error> {
        let mut round = self.begin(seat).await?;
        let teller = Teller::new(self.say.saying(), Arc::clone(self.store), self.project);
        let decider = seat.decider();
        let mut asked = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                next = seat.hear() => match next.inspect(heard)? {
                    Heard::HolderGone => return Ok(()),
                    Heard::Notice(Notice::Event { recorded, narration }) => {
                        round.note(&recorded);
                        let narration = narration.as_deref();
                        self.say.news(&recorded, narration, &round.names, &teller).await?;
                    }
                    Heard::Notice(Notice::StoreWaiting { message, .. }) => {
                        self.say.line(&format!("{message}. Nothing happens until that is over."));
                    }
                    Heard::Notice(Notice::StoreBack) => self.say.line("it can be written again."),
                    Heard::Notice(Notice::Gap) => self.look_again(&mut round.scheduler).await?,
                    Heard::Notice(Notice::Left) => {}
                },
                Some(_) = asked.join_next(), if !asked.is_empty() => {}
                () = changed(self.changes.as_mut()) => self.read_again(seat, &mut round).await?,
                due = round.scheduler.due() => {
                    for task in due {
                        let decider = Arc::clone(&decider);
                        round.ours.insert(task);
                        // A job that was held or removed a moment ago is rejected, which is fine.
                        asked.spawn(async move { decider.command(Command::JobDue { task }).await });
                    }
                }
            }
        }
    }

    /// Defines the jobs and performs them from this seat.
    async fn begin(&self, seat: &Seat) -> Result<Round, Error> {
        let rows = define::all(&self.ready, seat, self.store, self.project).await?;
        self.ready.attach_repairs(seat, self.store);
        let mut scheduler = Scheduler::new(Arc::new(SystemClock));
        for job in self.ready.all() {
            let Some(row) = rows.get(job.name.as_str()) else { continue };
            if let Some(timetable) = timetable(job, row) {
                scheduler.put(row.id, timetable);
            }
        }
        let next = scheduler.next_time();
        let mut round = Round { names: BTreeMap::new(), scheduler, ours: BTreeSet::new() };
        self.perform(seat, &mut round, &rows).await?;
        self.say.begun(rows.len(), next);
        Ok(round)
    }

    /// Performs the jobs that are not performed from here yet.
    async fn perform(
        &self,
        seat: &Seat,
        round: &mut Round,
        rows: &BTreeMap<String, TaskRow>,
    ) -> Result<(), Error> {
        let more = rows.values().filter(|row| !round.names.contains_key(&row.id));
        let more: BTreeMap<TaskId, String> =
            more.map(|row| (row.id, row.spec.name.clone())).collect();
        if more.is_empty() {
            return Ok(());
        }
        let tasks: BTreeSet<TaskId> = more.keys().copied().collect();
        seat.attach(Scope::Tasks(Arc::new(tasks)), Arc::new(self.world.clone())).await?;
        round.names.extend(more);
        Ok(())
    }

    /// Applies changed settings, unless they have a problem. Running jobs are not touched.
    async fn read_again(&mut self, seat: &Seat, round: &mut Round) -> Result<(), Error> {
        match self.ready.again().await {
            Ok(Some(ready)) => {
                let difference = ready.since(&self.ready);
                self.ready = ready;
                self.mistake = None;
                self.take_over(seat, round, &difference).await?;
                self.say.line(&format!("{difference}."));
            }
            Ok(None) if self.mistake.take().is_some() => {
                self.say.line("the settings are as they were.");
            }
            Ok(None) => {}
            Err(error) => {
                let mistake = error.to_string();
                if self.mistake.as_ref() != Some(&mistake) {
                    self.say.mistake(&format!(
                        "the settings cannot be used, so the old ones stay: {mistake}"
                    ));
                    self.mistake = Some(mistake);
                }
            }
        }
        Ok(())
    }

    async fn take_over(
        &self,
        seat: &Seat,
        round: &mut Round,
        difference: &Difference,
    ) -> Result<(), Error> {
        self.world.change(self.ready.worlds(|name| difference.concerns(name)));
        let rows = define::all(&self.ready, seat, self.store, self.project).await?;
        self.ready.attach_repairs(seat, self.store);
        for job in self.ready.all() {
            let name = job.name.as_str().to_owned();
            let Some(row) = rows.get(&name).filter(|_| difference.concerns(&name)) else {
                continue;
            };
            match timetable(job, row) {
                Some(timetable) => round.scheduler.put(row.id, timetable),
                None => round.scheduler.remove(row.id),
            }
        }
        let gone = round.names.iter().filter(|(_, name)| difference.gone.contains(name));
        for (task, _) in gone {
            round.scheduler.remove(*task);
        }
        self.perform(seat, round, &rows).await
    }

    /// Reads the held jobs again, because notices were missed.
    async fn look_again(&self, scheduler: &mut Scheduler) -> Result<(), Error> {
        for row in find_rows(self.store.as_ref(), self.project.name()).await?.values() {
            scheduler.hold(row.id, row.moved.held);
        }
        Ok(())
    }
}

impl Round {
    /// Updates the timetable after an event.
    fn note(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::JobHeld { task } => self.scheduler.hold(*task, true),
            Event::JobReleased { task } => self.scheduler.hold(*task, false),
            Event::JobFired { task } if self.ours.remove(task) => {}
            Event::JobFired { task } => self.scheduler.ran(*task, recorded.at),
            _ => {}
        }
    }
}

/// Returns when the settings may have changed.
async fn changed(changes: Option<&mut Changes>) {
    match changes {
        Some(changes) => changes.next().await,
        None => std::future::pending().await,
    }
}
