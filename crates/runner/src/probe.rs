//! Lookup of an action's outcome by the command that was recorded with it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Effect, Mutation, Outcome};
use unstuck_core::plan::ProbeCommand;
use unstuck_world::connector::command;
use unstuck_world::process::{Deadlines, Guard, How, Launch, how_it_ended};
use unstuck_world::redact::Redactor;

use crate::results::Results;
use crate::runs::Runs;
use crate::world::Order;

/// The environment variable with the idempotency key, for a command that performs or looks up an
/// action.
pub const IDEMPOTENCY_KEY: &str = "UNSTUCK_IDEMPOTENCY_KEY";

/// The exit codes of a lookup command that have a meaning.
const APPLIED: i32 = 0;
const NOT_APPLIED: i32 = 1;

/// Returns the idempotency key of an action: identical for each sending of it, and different from
/// that of any other action. It includes the project, because two projects may call the same
/// service.
pub(crate) fn idempotency_key(project: &str, mutation: &Mutation) -> String {
    let Mutation { occurrence, spec, .. } = mutation;
    let within = digest(&format!("{occurrence:?}/{}/{}", spec.key, spec.arguments));
    digest(&format!("{project}/{within}"))
}

fn digest(named: &str) -> String {
    blake3::hash(named.as_bytes()).to_hex()[..32].to_owned()
}

/// The environment for lookup commands.
#[derive(Clone, Debug)]
pub struct Prober {
    /// The guard under which the command runs.
    pub guard: Guard,
    /// The folder of the runs' lock files.
    pub runs: PathBuf,
    /// The command's working directory.
    pub directory: PathBuf,
    /// The folder of long results.
    pub results: Results,
    /// The redactor for the output of the command.
    pub redactor: Arc<Redactor>,
}

impl Prober {
    /// Looks an action up; without a recorded command the outcome is [`Outcome::CannotTell`].
    /// Returns `None` if it was stopped.
    pub(crate) async fn look_up(&self, order: &Order, stop: &CancellationToken) -> Option<Outcome> {
        let (Some(mutation), Some(command)) = (&order.mutation, order.look_up()) else {
            return Some(Outcome::CannotTell { said: None });
        };
        let Effect { id, task, .. } = order.effect;
        // The process that sends the action may be dying at this moment: it has to be gone before
        // the lookup.
        if !Runs::new(self.runs.clone()).clear_action(task, &mutation.spec.key, stop).await {
            return None;
        }
        // A lock of its own, because the script's may be held. Recovery reaps both by the task's
        // prefix.
        let lock = self.runs.join(format!("{task}-{id}-probe.lock"));
        let mut launch = Launch::new(self.guard.clone(), &lock, &self.directory, "");
        let key = idempotency_key(&order.project, mutation);
        launch.environment = vec![(IDEMPOTENCY_KEY.into(), Some(key.into()))];
        let mut outcome = look_up(launch, command, &self.results, stop).await;
        if let Some(Outcome::CannotTell { said: Some(said) }) = &mut outcome {
            *said = self.redactor.text(said).into();
        }
        // The process tree is gone, so its lock is not needed any more.
        let _ = fs::remove_file(lock);
        outcome
    }
}

/// Runs the command that looks an action up, with the guard and directory of `launch`. Returns
/// `None` if it was stopped.
pub(crate) async fn look_up(
    mut launch: Launch,
    probe: &ProbeCommand,
    results: &Results,
    stop: &CancellationToken,
) -> Option<Outcome> {
    launch.program = probe.program.clone().into();
    launch.arguments = probe.arguments.iter().map(Into::into).collect();
    launch.deadlines = Deadlines { total: Some(probe.timeout_ms.into()), ..Deadlines::default() };
    let (ended, told) = match command::run(launch, stop).await {
        Ok(ran) => ran,
        // The command was not started, so the lookup can be retried.
        Err(fault) => return Some(Outcome::Failed { fault: Arc::new(fault), approach: None }),
    };
    match (ended.how, told) {
        (How::Stopped, _) if stop.is_cancelled() => None,
        (How::Exited(APPLIED), Some(result)) => Some(applied(&result, results)),
        (How::Exited(NOT_APPLIED), _) => Some(Outcome::NotApplied),
        (how, told) => {
            let told = told.unwrap_or_default();
            let said = how_it_ended(&ended, &told, "probe", &probe.program);
            tracing::warn!(?how, said, program = probe.program, "a look-up cannot tell");
            Some(Outcome::CannotTell { said: said.map(Arc::from) })
        }
    }
}

/// Returns the outcome of an action that happened. A result that cannot be kept is no reason to
/// repeat the action: the operator is asked instead.
fn applied(result: &[u8], results: &Results) -> Outcome {
    match results.keep(result) {
        Ok(result) => Outcome::Applied { result },
        Err(error) => {
            tracing::error!(%error, "what a look-up told could not be kept");
            Outcome::CannotTell { said: None }
        }
    }
}
