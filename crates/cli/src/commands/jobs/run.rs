//! `unstuck jobs run`: runs a job now, in the watcher or in this process.

use std::sync::Arc;

use unstuck_core::engine::Command;
use unstuck_core::plan::JobSpec;
use unstuck_core::time::Span;
use unstuck_runner::ScriptWorld;
use unstuck_store::Store;
use unstuck_world::process::Waiting;

use super::defined::{Defined, Workshop, care, find_rows, logs_of, spec};
use super::watcher;
use crate::commands::exec::{self, Ending, Repair, Saying, Teller, until_it_ends};
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project, Seat, Signals};
use crate::render;
use crate::settings::Job;

/// Returns the amount and form of messages.
pub(super) const fn saying(json: bool, quiet: bool) -> Saying {
    match (json, quiet) {
        (true, _) => Saying::Json,
        (_, true) => Saying::Quiet,
        _ => Saying::Words,
    }
}

pub(super) fn run(
    project: &Project,
    name: &str,
    max_wait: Option<Span>,
    saying: Saying,
) -> Result<Exit, Error> {
    let defined = Defined::read(project)?;
    let job = defined.find(name)?;
    project::runtime()?.block_on(async {
        let store = project.make_store()?;
        let wanted = Wanted { project, store: &store, job, saying, max_wait };
        if watcher::current(project).is_some()
            && let Some(exit) = wanted.beside().await?
        {
            return Ok(exit);
        }
        wanted.here().await
    })
}

/// A job that is to be run.
struct Wanted<'a> {
    project: &'a Project,
    store: &'a Arc<dyn Store>,
    job: &'a Job,
    saying: Saying,
    max_wait: Option<Span>,
}

impl Wanted<'_> {
    /// Runs the job in this process, as `exec` does; its output is passed through.
    async fn here(&self) -> Result<Exit, Error> {
        let workshop = Workshop::open(self.project)?;
        let script = workshop.script(self.project, self.job)?;
        let ahead = Waiting::ahead(None, &workshop.guard);
        let world = ScriptWorld::caring(script, ahead, care(self.project, self.job, false));
        // Its schedule does not apply here, so it is retried like any command, and then a question is
        // asked.
        let mut spec = spec(self.job, &workshop.redactor);
        spec.job = spec.job.map(|job| JobSpec { scheduled: false, ..job });
        let repair = Repair::of_job(self.project, self.job, spec, &workshop.guard).await?;
        let teller = self.teller();
        let job = exec::Job {
            project: self.project,
            store: self.store,
            repair: &repair,
            world: &world,
            teller: &teller,
        };
        Ok(match job.follow_until_stopped(self.max_wait).await? {
            Ok(ending) => ending.exit(),
            Err(at_once) => at_once.exit(),
        })
    }

    /// Lets the watcher run the job, and follows it; returns `None` if the watcher ended meanwhile.
    async fn beside(&self) -> Result<Option<Exit>, Error> {
        let name = self.job.name.as_str();
        let mut signals = Signals::new()?;
        let mut seat = Seat::take(self.project, self.store, "jobs run").await?;
        let Some(row) = find_rows(self.store.as_ref(), self.project.name()).await?.remove(name)
        else {
            // The job was added a moment ago, and the watcher does not know it yet.
            seat.leave().await?;
            return Ok(None);
        };
        seat.command(Command::FireJob { task: row.id }).await?;
        let teller = self.teller();
        let ending = tokio::select! {
            biased;
            // The job belongs to the watcher, and goes on after a signal.
            signal = signals.next() => Some(Ending::Signal(signal)),
            () = watcher::gone(self.project) => None,
            ending = until_it_ends(&mut seat, row.id, &teller, self.max_wait) => Some(ending?),
        };
        seat.leave().await?;
        let Some(ending) = ending.filter(|ending| *ending != Ending::HolderGone) else {
            return Ok(None);
        };
        if self.saying == Saying::Words {
            let rows = find_rows(self.store.as_ref(), self.project.name()).await?;
            let firing = rows.get(name).map_or(row.moved.firing, |row| row.moved.firing);
            let file = logs_of(self.project, name).file(firing);
            let file = file.strip_prefix(self.project.root()).unwrap_or(&file);
            render::note(&format!("unstuck: its output is in {}", file.display()));
        }
        Ok(Some(ending.exit()))
    }

    fn teller(&self) -> Teller {
        let teller = Teller::new(self.saying, Arc::clone(self.store), self.project);
        teller.of_job(self.job.name.as_str())
    }
}
