//! `unstuck exec`: keeps one command alive.
//!
//! The command is a job with one firing. A firing that did not end, because a person is needed or a process
//! died, is continued by the next `exec` of the same name.

mod job;
mod named;
mod repair;
mod tell;
mod wait;

pub(crate) use repair::JobRepair;
pub(crate) use tell::{JobReporter, MessageFormat};
pub(crate) use wait::{JobEnding, follow_until_end};

use std::path::Path;
use std::sync::Arc;

use unstuck_core::time::Span;
use unstuck_runner::control::TokenKey;
use unstuck_runner::{ResultFiles, ScriptCommand, ScriptPerformer};
use unstuck_store::Store;
use unstuck_world::process::guard::{self, ForkedGuard};
use unstuck_world::process::{GuardCommand, IdleGuard, OwnInput};
use unstuck_world::redact::Redactor;

use crate::args::ExecArgs;
use crate::build::project_redactor;
use crate::error::{CliError, ScriptError};
use crate::exit::Exit;
use crate::project::{self, EndSignal, EndSignals, LocalProject, ProjectSession};
use crate::render::Terminal;

pub(crate) fn run(
    args: ExecArgs,
    dir: Option<&Path>,
    _terminal: &Terminal,
) -> Result<Exit, CliError> {
    // Before there is a second thread, and before this process has grown.
    let input = OwnInput::from_this_process();
    // A pipe is read here and passed on, so the command needs another standard input than that of a fork.
    let forked = if input.is_passed_on() { None } else { guard::fork_guard() };
    let project = LocalProject::find(dir)?;
    project::create_runtime()?.block_on(keep_command_alive(args, &project, dir, (input, forked)))
}

async fn keep_command_alive(
    args: ExecArgs,
    project: &LocalProject,
    dir: Option<&Path>,
    (input, forked): (OwnInput, Option<ForkedGuard>),
) -> Result<Exit, CliError> {
    let guard = project::own_guard()?;
    let ahead = (!input.is_passed_on()).then(|| IdleGuard::start_ahead(forked, &guard)).flatten();
    let redactor = project_redactor(project);
    let name = args.name.clone().unwrap_or_else(|| job::command_name(&args.command));
    // The name is stored and shown, and a command line may contain a secret.
    let name = redactor.redact_text(&name).into_owned();
    refuse_defined(project, &name)?;
    let store = project.open_or_create_store()?;
    let repair =
        JobRepair::for_command(&args, project, dir, (job::job_spec(&name, args.phase), &guard))
            .await?;
    let world = ScriptPerformer::new(
        create_script(&args, guard, (project, redactor), (dir, input))?,
        ahead,
    );
    let teller = JobReporter::new(MessageFormat::from_args(&args), Arc::clone(&store), project);
    let job =
        JobFollower { project, store: &store, repair: &repair, world: &world, teller: &teller };
    let ending = match job.follow_until_stopped(args.max_wait).await? {
        Ok(ending) => ending,
        Err(at_once) => return Ok(at_once.to_exit()),
    };
    Ok(match (args.passthrough, world.last_status()) {
        (true, Some(status)) => Exit::Command(u8::try_from(status).unwrap_or(u8::MAX)),
        _ => ending.to_exit(),
    })
}

/// A job that is kept alive, with the parts needed for it.
pub(super) struct JobFollower<'a> {
    pub(super) project: &'a LocalProject,
    pub(super) store: &'a Arc<dyn Store>,
    /// The definition of the job, and its repair.
    pub(super) repair: &'a JobRepair,
    pub(super) world: &'a ScriptPerformer,
    pub(super) teller: &'a JobReporter,
}

impl JobFollower<'_> {
    /// Follows the job to its end or to the first signal; a second signal is returned as the error, for an
    /// immediate exit.
    pub(super) async fn follow_until_stopped(
        &self,
        max_wait: Option<Span>,
    ) -> Result<Result<JobEnding, EndSignal>, CliError> {
        let mut signals = EndSignals::new()?;
        let mut seat = None;
        let ending = tokio::select! {
            biased;
            signal = signals.next() => {
                self.teller.report_ending();
                JobEnding::Signal(signal)
            }
            ending = self.follow_to_end(&mut seat, max_wait) => ending?,
        };
        tokio::select! {
            biased;
            at_once = signals.next() => return Ok(Err(at_once)),
            left = self.leave(seat) => left?,
        }
        Ok(Ok(ending))
    }

    /// Follows the job to its end, as the holder of the project or as a guest of it.
    async fn follow_to_end(
        &self,
        place: &mut Option<ProjectSession>,
        max_wait: Option<Span>,
    ) -> Result<JobEnding, CliError> {
        loop {
            let seat = place.insert(ProjectSession::open(self.project, self.store, "exec").await?);
            match self.follow_from(seat, max_wait).await {
                // The holder is gone, and the job goes on.
                Ok(JobEnding::HolderGone) => {}
                Err(error) if seat.is_holder_gone(&error) => {}
                ended => return ended,
            }
        }
    }

    async fn follow_from(
        &self,
        seat: &mut ProjectSession,
        max_wait: Option<Span>,
    ) -> Result<JobEnding, CliError> {
        let Self { project, store, repair, world, teller } = *self;
        repair.attach_to(world, seat, store, project);
        let taken = job::take_up_job(seat, project, repair, world, teller, max_wait).await?;
        let Some(task) = taken else { return Ok(JobEnding::Busy) };
        follow_until_end(seat, task, teller, max_wait).await
    }

    /// Leaves the project and ends all processes of the job.
    async fn leave(&self, seat: Option<ProjectSession>) -> Result<(), CliError> {
        if let Some(seat) = seat {
            seat.leave().await?;
        }
        self.world.stop_effects().await;
        Ok(())
    }
}

fn create_script(
    args: &ExecArgs,
    guard: GuardCommand,
    (project, redactor): (&LocalProject, Arc<Redactor>),
    (dir, input): (Option<&Path>, OwnInput),
) -> Result<ScriptCommand, CliError> {
    let (program, arguments) = args.command.split_first().ok_or(ScriptError::NoCommand)?;
    let key_path = project.token_key_path();
    let key = TokenKey::open(&key_path)
        .map_err(|source| folder_error(&key_path.display().to_string(), source))?;
    let here = dir.unwrap_or(Path::new("."));
    let directory = std::path::absolute(here)
        .map_err(|source| folder_error(&here.display().to_string(), source))?;
    Ok(ScriptCommand {
        guard,
        runs: project.runs_folder(),
        program: program.clone(),
        arguments: arguments.to_vec(),
        directory,
        input,
        timeout: args.timeout.map(Into::into),
        socket: project.socket_path(),
        key,
        results: ResultFiles::new(project.results_folder()),
        redactor,
    })
}

/// Refuses a name from the settings: such a job defines its own command, and a watcher may be performing
/// it.
fn refuse_defined(project: &LocalProject, name: &str) -> Result<(), CliError> {
    let settings = project.settings()?;
    if !settings.settings.job.iter().any(|job| job.name.as_str() == name) {
        return Ok(());
    }
    Err(CliError::NotNow {
        verb: "exec",
        said: format!("{name} is a job of the settings"),
        hint: format!("`unstuck jobs run {name}` runs it; --name gives this another name"),
    })
}

fn folder_error(place: &str, source: std::io::Error) -> CliError {
    CliError::Folder { place: place.to_owned(), source }
}
