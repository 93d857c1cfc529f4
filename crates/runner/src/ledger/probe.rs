//! Lookup of an action's outcome by the command that was recorded with it.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Effect, EffectOutcome, Mutation};
use unstuck_core::plan::ProbeCommand;
use unstuck_world::connector::command;
use unstuck_world::process::{GuardCommand, Launch, ProcessDeadlines, ProcessEnd, describe_end};
use unstuck_world::redact::Redactor;

use super::results::ResultFiles;
use crate::effects::{EffectRequest, RunLocks, failed_outcome, remove_if_exists};

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
    let within = short_hash(&format!("{occurrence:?}/{}/{}", spec.key, spec.arguments));
    short_hash(&format!("{project}/{within}"))
}

fn short_hash(named: &str) -> String {
    blake3::hash(named.as_bytes()).to_hex()[..32].to_owned()
}

/// The environment for lookup commands.
#[derive(Clone, Debug)]
pub struct ActionProber {
    /// The guard under which the command runs.
    pub guard: GuardCommand,
    /// The folder of the runs' lock files.
    pub runs: PathBuf,
    /// The command's working directory.
    pub directory: PathBuf,
    /// The folder of long results.
    pub results: ResultFiles,
    /// The redactor for the output of the command.
    pub redactor: Arc<Redactor>,
}

impl ActionProber {
    /// Looks an action up; without a recorded command the outcome is [`EffectOutcome::CannotTell`].
    /// Returns `None` if it was stopped.
    pub(crate) async fn probe_action(
        &self,
        order: &EffectRequest,
        stop: &CancellationToken,
    ) -> Option<EffectOutcome> {
        let (Some(mutation), Some(command)) = (&order.mutation, order.probe_command()) else {
            return Some(EffectOutcome::CannotTell { said: None });
        };
        let Effect { id, task, .. } = order.effect;
        // The process that sends the action may be dying at this moment: it has to be gone before
        // the lookup.
        if !RunLocks::new(self.runs.clone()).reap_action(task, &mutation.spec.key, stop).await {
            return None;
        }
        // A lock of its own, because the script's may be held. Recovery reaps both by the task's
        // prefix.
        let lock = self.runs.join(format!("{task}-{id}-probe.lock"));
        let mut launch = Launch::new(self.guard.clone(), &lock, &self.directory, "");
        let key = idempotency_key(&order.project, mutation);
        launch.environment = vec![(IDEMPOTENCY_KEY.into(), Some(key.into()))];
        let mut outcome = run_probe_command(launch, command, &self.results, stop).await;
        if let Some(EffectOutcome::CannotTell { said: Some(said) }) = &mut outcome {
            *said = self.redactor.redact_text(said).into();
        }
        // The process tree is gone, so its lock is not needed any more.
        remove_if_exists(&lock);
        outcome
    }
}

/// Runs the command that looks an action up, with the guard and directory of `launch`. Returns
/// `None` if it was stopped.
pub(crate) async fn run_probe_command(
    mut launch: Launch,
    probe: &ProbeCommand,
    results: &ResultFiles,
    stop: &CancellationToken,
) -> Option<EffectOutcome> {
    launch.program = probe.program.clone().into();
    launch.arguments = probe.arguments.iter().map(Into::into).collect();
    launch.deadlines =
        ProcessDeadlines { total: Some(probe.timeout_ms.into()), ..ProcessDeadlines::default() };
    let (ended, told) = match command::run_to_end(launch, stop).await {
        Ok(ran) => ran,
        // The command was not started, so the lookup can be retried.
        Err(fault) => return Some(failed_outcome(fault)),
    };
    match (ended.how, told) {
        (ProcessEnd::Stopped, _) if stop.is_cancelled() => None,
        (ProcessEnd::Exited(APPLIED), Some(result)) => Some(applied_outcome(&result, results)),
        (ProcessEnd::Exited(NOT_APPLIED), _) => Some(EffectOutcome::NotApplied),
        (how, told) => {
            let told = told.unwrap_or_default();
            let said = describe_end(&ended, &told, "probe", &probe.program);
            tracing::warn!(?how, said, program = probe.program, "a look-up cannot tell");
            Some(EffectOutcome::CannotTell { said: said.map(Arc::from) })
        }
    }
}

/// Returns the outcome of an action that happened. A result that cannot be kept is no reason to
/// repeat the action: the operator is asked instead.
fn applied_outcome(result: &[u8], results: &ResultFiles) -> EffectOutcome {
    match results.keep_result(result) {
        Ok(result) => EffectOutcome::Applied { result },
        Err(error) => {
            tracing::error!(%error, "what a look-up told could not be kept");
            EffectOutcome::CannotTell { said: None }
        }
    }
}
