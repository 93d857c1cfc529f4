//! Looking up whether an action happened, by the command that was kept with it.

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

/// The variable in which a command finds what the other side can recognise a repeated call by.
pub const IDEMPOTENCY_KEY: &str = "UNSTUCK_IDEMPOTENCY_KEY";

/// The statuses that mean something.
const APPLIED: i32 = 0;
const NOT_APPLIED: i32 = 1;

/// The same for every sending of one action, and for no other one. Two projects may call the same
/// service, so the project is part of it.
pub(crate) fn idempotency_key(project: &str, mutation: &Mutation) -> String {
    let Mutation { occurrence, spec, .. } = mutation;
    let within = digest(&format!("{occurrence:?}/{}/{}", spec.key, spec.arguments));
    digest(&format!("{project}/{within}"))
}

fn digest(named: &str) -> String {
    blake3::hash(named.as_bytes()).to_hex()[..32].to_owned()
}

/// What it takes to look an action up by the command that was kept with it.
#[derive(Clone, Debug)]
pub struct Prober {
    /// What becomes the command's guard.
    pub guard: Guard,
    /// Where lock files of runs are.
    pub runs: PathBuf,
    /// Where it runs.
    pub directory: PathBuf,
    /// Where long results are kept.
    pub results: Results,
    /// Takes secrets out of what the command says.
    pub redactor: Arc<Redactor>,
}

impl Prober {
    /// Looks an action up. Where nothing was kept to do it with, nobody can.
    pub(crate) async fn look_up(&self, order: &Order, stop: &CancellationToken) -> Option<Outcome> {
        let (Some(mutation), Some(command)) = (&order.mutation, order.look_up()) else {
            return Some(Outcome::CannotTell { said: None });
        };
        let Effect { id, task, .. } = order.effect;
        // What sends it may be dying at this very moment: nothing of it is left when we look.
        if !Runs::new(self.runs.clone()).clear_action(task, &mutation.spec.key, stop).await {
            return None;
        }
        // Beside the script's own: that may be running, and recovery ends both.
        let lock = self.runs.join(format!("{task}-{id}-probe.lock"));
        let mut launch = Launch::new(self.guard.clone(), &lock, &self.directory, "");
        let key = idempotency_key(&order.project, mutation);
        launch.environment = vec![(IDEMPOTENCY_KEY.into(), Some(key.into()))];
        let mut outcome = look_up(launch, command, &self.results, stop).await;
        if let Some(Outcome::CannotTell { said: Some(said) }) = &mut outcome {
            *said = self.redactor.text(said).into();
        }
        // The tree is gone, and with it the need for its lock.
        let _ = fs::remove_file(lock);
        outcome
    }
}

/// Runs the command that looks an action up. `launch` says where and under which guard; nothing
/// comes of it when it is stopped.
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
        // It was not looked up at all: that can be tried again.
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

/// It happened. A result that cannot be kept is no reason to do it again: a person is asked.
fn applied(result: &[u8], results: &Results) -> Outcome {
    match results.keep(result) {
        Ok(result) => Outcome::Applied { result },
        Err(error) => {
            tracing::error!(%error, "what a look-up told could not be kept");
            Outcome::CannotTell { said: None }
        }
    }
}
