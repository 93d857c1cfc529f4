//! `unstuck exec`: keeps one command alive.
//!
//! The command is a job with one firing. A firing that did not end, because a person is needed or a process
//! died, is continued by the next `exec` of the same name.

mod job;
mod named;
mod repair;
mod tell;
mod wait;

pub(crate) use repair::Repair;
pub(crate) use tell::{Saying, Teller};
pub(crate) use wait::{Ending, until_it_ends};

use std::path::Path;
use std::sync::Arc;

use unstuck_core::time::Span;
use unstuck_runner::control::TokenKey;
use unstuck_runner::{Results, Script, ScriptWorld};
use unstuck_store::Store;
use unstuck_world::process::guard::{self, Forked};
use unstuck_world::process::{Guard, OwnInput, Waiting};
use unstuck_world::redact::Redactor;

use crate::args::Exec;
use crate::build::redactor;
use crate::error::{Error, ScriptError};
use crate::exit::Exit;
use crate::project::{self, Project, Seat, Signal, Signals};
use crate::render::Terminal;

pub(crate) fn run(args: Exec, dir: Option<&Path>, _terminal: &Terminal) -> Result<Exit, Error> {
    // Before there is a second thread, and before this process has grown.
    let input = OwnInput::of_this_process();
    // A pipe is read here and passed on, so the command needs another standard input than that of a fork.
    let forked = if input.is_passed_on() { None } else { guard::fork() };
    let project = Project::find(dir)?;
    project::runtime()?.block_on(keep_alive(args, &project, dir, (input, forked)))
}

async fn keep_alive(
    args: Exec,
    project: &Project,
    dir: Option<&Path>,
    (input, forked): (OwnInput, Option<Forked>),
) -> Result<Exit, Error> {
    let guard = project::own_guard()?;
    let ahead = (!input.is_passed_on()).then(|| Waiting::ahead(forked, &guard)).flatten();
    let redactor = redactor(project);
    let name = args.name.clone().unwrap_or_else(|| job::name(&args.command));
    // The name is stored and shown, and a command line may contain a secret.
    let name = redactor.text(&name).into_owned();
    refuse_defined(project, &name)?;
    let store = project.make_store()?;
    let repair = Repair::find(&args, project, dir, (job::spec(&name, args.phase), &guard)).await?;
    let world = ScriptWorld::new(script(&args, guard, (project, redactor), (dir, input))?, ahead);
    let teller = Teller::new(Saying::of(&args), Arc::clone(&store), project);
    let job = Job { project, store: &store, repair: &repair, world: &world, teller: &teller };
    let ending = match job.follow_until_stopped(args.max_wait).await? {
        Ok(ending) => ending,
        Err(at_once) => return Ok(at_once.exit()),
    };
    Ok(match (args.passthrough, world.last_status()) {
        (true, Some(status)) => Exit::Command(u8::try_from(status).unwrap_or(u8::MAX)),
        _ => ending.exit(),
    })
}

/// A job that is kept alive, with the parts needed for it.
pub(super) struct Job<'a> {
    pub(super) project: &'a Project,
    pub(super) store: &'a Arc<dyn Store>,
    /// The definition of the job, and its repair.
    pub(super) repair: &'a Repair,
    pub(super) world: &'a ScriptWorld,
    pub(super) teller: &'a Teller,
}

impl Job<'_> {
    /// Follows the job to its end or to the first signal; a second signal is returned as the error, for an
    /// immediate exit.
    pub(super) async fn follow_until_stopped(
        &self,
        max_wait: Option<Span>,
    ) -> Result<Result<Ending, Signal>, Error> {
        let mut signals = Signals::new()?;
        let mut seat = None;
        let ending = tokio::select! {
            biased;
            signal = signals.next() => {
                self.teller.ending();
                Ending::Signal(signal)
            }
            ending = self.follow(&mut seat, max_wait) => ending?,
        };
        tokio::select! {
            biased;
            at_once = signals.next() => return Ok(Err(at_once)),
            left = self.leave(seat) => left?,
        }
        Ok(Ok(ending))
    }

    /// Follows the job to its end, as the holder of the project or as a guest of it.
    async fn follow(
        &self,
        place: &mut Option<Seat>,
        max_wait: Option<Span>,
    ) -> Result<Ending, Error> {
        loop {
            let seat = place.insert(Seat::take(self.project, self.store, "exec").await?);
            match self.follow_from(seat, max_wait).await {
                // The holder is gone, and the job goes on.
                Ok(Ending::HolderGone) => {}
                Err(error) if seat.is_left_by(&error) => {}
                ended => return ended,
            }
        }
    }

    async fn follow_from(&self, seat: &mut Seat, max_wait: Option<Span>) -> Result<Ending, Error> {
        let Self { project, store, repair, world, teller } = *self;
        repair.attach(world, seat, store, project);
        let taken = job::take_up(seat, project, repair, world, teller, max_wait).await?;
        let Some(task) = taken else { return Ok(Ending::Busy) };
        until_it_ends(seat, task, teller, max_wait).await
    }

    /// Leaves the project and ends all processes of the job.
    async fn leave(&self, seat: Option<Seat>) -> Result<(), Error> {
        if let Some(seat) = seat {
            seat.leave().await?;
        }
        self.world.end().await;
        Ok(())
    }
}

fn script(
    args: &Exec,
    guard: Guard,
    (project, redactor): (&Project, Arc<Redactor>),
    (dir, input): (Option<&Path>, OwnInput),
) -> Result<Script, Error> {
    let (program, arguments) = args.command.split_first().ok_or(ScriptError::NoCommand)?;
    let key_path = project.token_key();
    let key = TokenKey::open(&key_path)
        .map_err(|source| unusable(&key_path.display().to_string(), source))?;
    let here = dir.unwrap_or(Path::new("."));
    let directory = std::path::absolute(here)
        .map_err(|source| unusable(&here.display().to_string(), source))?;
    Ok(Script {
        guard,
        runs: project.runs(),
        program: program.clone(),
        arguments: arguments.to_vec(),
        directory,
        input,
        timeout: args.timeout.map(Into::into),
        socket: project.socket(),
        key,
        results: Results::new(project.results()),
        redactor,
    })
}

/// Refuses a name from the settings: such a job defines its own command, and a watcher may be performing
/// it.
fn refuse_defined(project: &Project, name: &str) -> Result<(), Error> {
    let settings = project.settings()?;
    if !settings.settings.job.iter().any(|job| job.name.as_str() == name) {
        return Ok(());
    }
    Err(Error::NotNow {
        verb: "exec",
        said: format!("{name} is a job of the settings"),
        hint: format!("`unstuck jobs run {name}` runs it; --name gives this another name"),
    })
}

fn unusable(place: &str, source: std::io::Error) -> Error {
    Error::Folder { place: place.to_owned(), source }
}
