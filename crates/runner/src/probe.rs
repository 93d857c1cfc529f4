//! Looking up whether an action happened, by the command that was kept with it.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Mutation, Outcome};
use unstuck_core::plan::ProbeCommand;
use unstuck_world::connector::command;
use unstuck_world::process::{Deadlines, How, Launch};

use crate::results::Results;

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
        (how, _) => {
            let said = String::from_utf8_lossy(&ended.output.to_bytes()).into_owned();
            tracing::warn!(?how, said, program = probe.program, "a look-up cannot tell");
            Some(Outcome::CannotTell)
        }
    }
}

/// It happened. A result that cannot be kept is no reason to do it again: a person is asked.
fn applied(result: &[u8], results: &Results) -> Outcome {
    match results.keep(result) {
        Ok(result) => Outcome::Applied { result },
        Err(error) => {
            tracing::error!(%error, "what a look-up told could not be kept");
            Outcome::CannotTell
        }
    }
}
