//! `unstuck jobs --watch`: runs the jobs at their times, until it is interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::sync::Arc;

use tokio::task::JoinSet;
use unstuck_core::engine::{Command, Event, Recorded, TaskId};
use unstuck_core::plan::TaskSpec;
use unstuck_runner::jobs::{JobsWorld, Scheduler};
use unstuck_runner::{Decider, Notice, Scope, ScriptWorld, SystemClock, Undecided};
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;

use super::defined::{Defined, Workshop, care, find_rows, spec, timetable};
use super::watcher::Watching;
use crate::commands::exec::{Repair, Saying, Teller};
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Heard, Project, Seat, Signal, Signals};
use crate::render::{event_json, when, words};

/// Decisions that are asked for at the same time.
const ASKED_MAX: usize = 256;

pub(super) fn run(project: &Project, json: bool) -> Result<Exit, Error> {
    let defined = Defined::read(project)?;
    if defined.all().is_empty() {
        return Err(Error::NoJobs { root: project.root().to_owned() });
    }
    project::runtime()?.block_on(async {
        let store = project.make_store()?;
        let _watching = Watching::begin(project)?;
        let workshop = Workshop::open(project)?;
        let (mut scripts, mut repairs) = (BTreeMap::new(), Vec::new());
        for job in defined.all() {
            let script = workshop.script(project, job)?;
            let world = ScriptWorld::caring(script, None, care(project, job, true));
            let spec = spec(job, &workshop.redactor);
            let repair = Repair::of_job(project, job, spec, &workshop.guard).await?;
            scripts.insert(job.name.as_str().to_owned(), world.clone());
            repairs.push((world, repair));
        }
        let watch = Watch {
            project,
            store: &store,
            defined: &defined,
            repairs,
            world: JobsWorld::new(scripts, project.runs()),
            json,
        };
        watch.until_interrupted().await.map(Signal::exit)
    })
}

struct Watch<'a> {
    project: &'a Project,
    store: &'a Arc<dyn Store>,
    defined: &'a Defined,
    /// Each script, what it is, and who repairs it.
    repairs: Vec<(ScriptWorld, Repair)>,
    world: JobsWorld,
    json: bool,
}

impl Watch<'_> {
    async fn until_interrupted(&self) -> Result<Signal, Error> {
        let mut signals = Signals::new()?;
        let mut seat = None;
        let signal = tokio::select! {
            biased;
            signal = signals.next() => signal,
            failed = self.go_on(&mut seat) => return Err(failed),
        };
        self.say("ending. Once more to end at once.");
        let leave = async {
            if let Some(seat) = seat {
                seat.leave().await?;
            }
            self.world.end().await;
            Ok::<_, Error>(())
        };
        tokio::select! {
            biased;
            at_once = signals.next() => return Ok(at_once),
            left = leave => left?,
        }
        Ok(signal)
    }

    /// Goes on, whoever holds the project, until something is wrong.
    async fn go_on(&self, place: &mut Option<Seat>) -> Error {
        loop {
            let seat = match Seat::take(self.project, self.store, "jobs --watch").await {
                Ok(seat) => place.insert(seat),
                Err(error) => return error,
            };
            match self.watch_from(seat).await {
                // Whoever held the project is gone, and what we do goes on.
                Ok(()) => {}
                Err(error) if seat.is_left_by(&error) => {}
                Err(error) => return error,
            }
        }
    }

    /// Comes back when whoever holds the project is gone.
    async fn watch_from(&self, seat: &mut Seat) -> Result<(), Error> {
        let jobs = self.define(seat).await?;
        for (world, repair) in &self.repairs {
            repair.attach(world, seat, self.store, self.project);
        }
        let names: BTreeMap<TaskId, &str> =
            jobs.values().map(|row| (row.id, row.spec.name.as_str())).collect();
        let tasks: BTreeSet<TaskId> = names.keys().copied().collect();
        seat.attach(Scope::Tasks(Arc::new(tasks)), Arc::new(self.world.clone())).await?;
        let mut scheduler = Scheduler::new(Arc::new(SystemClock));
        for job in self.defined.all() {
            let Some(row) = jobs.get(job.name.as_str()) else { continue };
            if let Some(timetable) = timetable(job, row) {
                scheduler.put(row.id, timetable);
            }
        }
        self.begun(jobs.len(), scheduler.next_time());
        let saying = if self.json { Saying::Json } else { Saying::Words };
        let teller = Teller::new(saying, Arc::clone(self.store), self.project);
        let (decider, mut asked) = (seat.decider(), JoinSet::new());
        // Those whose time we took up ourselves: their beat is known.
        let mut ours = BTreeSet::new();
        loop {
            tokio::select! {
                biased;
                heard = seat.hear() => match heard? {
                    Heard::HolderGone => return Ok(()),
                    Heard::Notice(Notice::Event { recorded, narration }) => {
                        note(&mut scheduler, &mut ours, &recorded);
                        self.tell(&recorded, narration.as_deref(), &names, &teller).await?;
                    }
                    Heard::Notice(Notice::StoreWaiting { message, .. }) => {
                        self.say(&format!("{message}. Nothing happens until that is over."));
                    }
                    Heard::Notice(Notice::StoreBack) => self.say("it can be written again."),
                    Heard::Notice(Notice::Gap) => self.look_again(&mut scheduler).await?,
                },
                Some(_) = asked.join_next(), if !asked.is_empty() => {}
                due = scheduler.due() => {
                    for task in due {
                        let decider = Arc::clone(&decider);
                        ours.insert(task);
                        // One that was held or left a moment ago says no, and that is that.
                        asked.spawn(async move { decider.command(Command::JobDue { task }).await });
                    }
                }
            }
        }
    }

    /// Has the engine know all jobs as the settings have them; what it knows already is not said
    /// again.
    async fn define(&self, seat: &Seat) -> Result<BTreeMap<String, TaskRow>, Error> {
        let find = || find_rows(self.store.as_ref(), self.project.name());
        let known = find().await?;
        let is_new = |spec: &&TaskSpec| known.get(&spec.name).is_none_or(|row| *row.spec != **spec);
        let (decider, mut asked) = (seat.decider(), JoinSet::new());
        for spec in self.specs().filter(is_new) {
            if asked.len() >= ASKED_MAX {
                defined(asked.join_next().await)?;
            }
            asked.spawn(define(Arc::clone(&decider), spec.clone()));
        }
        while let Some(done) = asked.join_next().await {
            defined(Some(done))?;
        }
        let mut rows = find().await?;
        let names: BTreeSet<&str> = self.specs().map(|spec| spec.name.as_str()).collect();
        rows.retain(|name, _| names.contains(name.as_str()));
        Ok(rows)
    }

    fn specs(&self) -> impl Iterator<Item = &TaskSpec> {
        self.repairs.iter().map(|(_, repair)| &repair.spec)
    }

    /// Some news was missed: who is held is read again.
    async fn look_again(&self, scheduler: &mut Scheduler) -> Result<(), Error> {
        for row in find_rows(self.store.as_ref(), self.project.name()).await?.values() {
            scheduler.hold(row.id, row.moved.held);
        }
        Ok(())
    }

    fn begun(&self, jobs: usize, next: Option<unstuck_core::time::Time>) {
        let count = words::number(jobs, "job", "jobs");
        let now = project::now();
        let next = next.map_or_else(
            || "none has a time; `unstuck jobs run NAME` runs one".to_owned(),
            |next| format!("the next one runs {}", when::until(next, now)),
        );
        self.say(&format!("{count}; {next}. Ctrl-C ends it."));
    }

    async fn tell(
        &self,
        recorded: &Recorded,
        narration: Option<&str>,
        names: &BTreeMap<TaskId, &str>,
        teller: &Teller,
    ) -> Result<(), Error> {
        let Some(name) = recorded.event.about().task.and_then(|task| names.get(&task)) else {
            return Ok(());
        };
        if self.json {
            // The reader is gone; the jobs are not.
            let _ = event_json(&mut io::stdout(), self.project.name(), recorded);
            return Ok(());
        }
        match (&recorded.event, narration) {
            (Event::JobFired { .. }, _) => self.say(&format!("{name}: runs")),
            (Event::TaskDone { .. }, _) => self.say(&format!("{name}: done")),
            (Event::TaskParked { question, .. }, _) => {
                self.say(&format!("{name}: needs you"));
                teller.question(*question, None).await?;
            }
            (Event::RunStarted { .. }, _) | (_, None) => {}
            (_, Some(narration)) => self.say(&format!("{name}: {narration}")),
        }
        Ok(())
    }

    fn say(&self, line: &str) {
        if !self.json {
            let at = when::second(project::now());
            let _ = writeln!(io::stdout(), "{at}  {}", words::plain_line(line));
        }
    }
}

/// What a piece of news means for the times.
fn note(scheduler: &mut Scheduler, ours: &mut BTreeSet<TaskId>, recorded: &Recorded) {
    match &recorded.event {
        Event::JobHeld { task } => scheduler.hold(*task, true),
        Event::JobReleased { task } => scheduler.hold(*task, false),
        Event::JobFired { task } if ours.remove(task) => {}
        Event::JobFired { task } => scheduler.ran(*task, recorded.at),
        _ => {}
    }
}

async fn define(decider: Arc<dyn Decider>, spec: TaskSpec) -> Result<(), Undecided> {
    match decider.command(Command::DefineJob { spec: Arc::new(spec) }).await {
        // Somebody else was faster.
        Err(Undecided::Refused(_)) => Ok(()),
        said => said.map(drop),
    }
}

fn defined(
    done: Option<Result<Result<(), Undecided>, tokio::task::JoinError>>,
) -> Result<(), Error> {
    match done {
        Some(Ok(Err(Undecided::Store(fault)))) => Err(Error::Fault(fault)),
        Some(Ok(Err(_)) | Err(_)) => Err(unstuck_runner::control::ClientError::Gone.into()),
        Some(Ok(Ok(()))) | None => Ok(()),
    }
}
