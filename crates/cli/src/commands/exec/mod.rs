//! `unstuck exec`: keeps one command alive.
//!
//! The command is a job with one firing. A firing that did not come to its end, because a person is
//! needed or something died, is taken up again by the next `exec` of the same name.

mod job;
mod named;
mod repair;
mod tell;
mod wait;

use std::path::Path;
use std::sync::Arc;

use unstuck_core::time::Span;
use unstuck_runner::control::TokenKey;
use unstuck_runner::{Results, Script, ScriptWorld};
use unstuck_store::Store;
use unstuck_world::process::Guard;
use unstuck_world::redact::Redactor;

use crate::args::Exec;
use crate::build::redactor;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project, Seat, Signals};
use crate::render::Terminal;
use repair::Repair;
use tell::{Saying, Teller};
use wait::Ending;

/// Carries it out.
pub(crate) fn run(args: Exec, dir: Option<&Path>, _terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    project::runtime()?.block_on(keep_alive(args, &project, dir))
}

async fn keep_alive(args: Exec, project: &Project, dir: Option<&Path>) -> Result<Exit, Error> {
    let guard = project::own_guard()?;
    let ahead = ScriptWorld::guard_ahead(&guard);
    let redactor = redactor(project);
    let name = args.name.clone().unwrap_or_else(|| job::name(&args.command));
    // It is remembered and shown, and a command may spell a secret out.
    let name = redactor.text(&name).into_owned();
    let store = project.make_store()?;
    let repair = Repair::find(&args, project, dir, (job::spec(&name), &guard)).await?;
    let world = ScriptWorld::new(script(&args, guard, (project, redactor), dir)?, ahead);
    let teller = Teller::new(Saying::of(&args), Arc::clone(&store), project);
    let mut signals = Signals::new()?;
    let job = Job { project, store: &store, repair: &repair, world: &world, teller: &teller };
    let mut seat = None;
    let ending = tokio::select! {
        biased;
        signal = signals.next() => {
            teller.ending();
            Ending::Signal(signal)
        }
        ending = job.follow(&mut seat, args.max_wait) => ending?,
    };
    tokio::select! {
        biased;
        at_once = signals.next() => return Ok(at_once.exit()),
        left = job.leave(seat) => left?,
    }
    Ok(match (args.passthrough, world.last_status()) {
        (true, Some(status)) => Exit::Command(u8::try_from(status).unwrap_or(u8::MAX)),
        _ => ending.exit(),
    })
}

/// What is kept alive, and what that takes.
struct Job<'a> {
    project: &'a Project,
    store: &'a Arc<dyn Store>,
    repair: &'a Repair,
    world: &'a ScriptWorld,
    teller: &'a Teller,
}

impl Job<'_> {
    /// Follows it to its end, beside whoever holds the project or as its holder.
    async fn follow(
        &self,
        place: &mut Option<Seat>,
        max_wait: Option<Span>,
    ) -> Result<Ending, Error> {
        loop {
            let seat = place.insert(Seat::take(self.project, self.store, "exec").await?);
            match self.follow_from(seat, max_wait).await {
                // Whoever held the project is gone, and what we do goes on.
                Ok(Ending::HolderGone) => {}
                Err(error) if seat.is_left_by(&error) => {}
                ended => return ended,
            }
        }
    }

    async fn follow_from(&self, seat: &mut Seat, max_wait: Option<Span>) -> Result<Ending, Error> {
        let Self { project, store, repair, world, teller } = *self;
        repair.attach(world, seat, store, project);
        let task = job::take_up(seat, project, &repair.spec, world, teller).await?;
        wait::until_it_ends(seat, task, teller, max_wait).await
    }

    /// Leaves nothing running behind.
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
    (project, redactor): (&Project, Redactor),
    dir: Option<&Path>,
) -> Result<Script, Error> {
    let (program, arguments) = args.command.split_first().ok_or(Error::NoCommand)?;
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
        timeout: args.timeout.map(Into::into),
        socket: project.socket(),
        key,
        results: Results::new(project.results()),
        redactor: Arc::new(redactor),
    })
}

fn unusable(place: &str, source: std::io::Error) -> Error {
    Error::Folder { place: place.to_owned(), source }
}
