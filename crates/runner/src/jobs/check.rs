//! The check of whether a login or permission works again that the operator says is fixed.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unstuck_core::engine::EffectOutcome;
use unstuck_core::fault::Fault;
use unstuck_world::process::{Launch, ProcessDeadlines, ProcessEnd};

/// Maximum duration of the check.
const CHECK_MAX: Duration = Duration::from_mins(1);
/// The prefix of the failure that was said to be fixed.
const STILL: &str = "it was said to be mended and still does not work: ";

/// Runs the command that proves it, with the directory and guard of `launch`.
pub(crate) async fn run_login_check(
    mut launch: Launch,
    command: &[OsString],
    stop: &CancellationToken,
) -> Result<bool, Fault> {
    let Some((program, arguments)) = command.split_first() else { return Ok(true) };
    launch.program.clone_from(program);
    launch.arguments = arguments.to_vec();
    launch.deadlines = ProcessDeadlines { total: Some(CHECK_MAX), ..ProcessDeadlines::default() };
    let ended = launch.start().await?.wait_or_stop(stop).await;
    Ok(ended.how == ProcessEnd::Exited(0))
}

/// Returns the same failure once more, so that the operator is asked the same question.
pub(crate) fn repeat_failure(fault: &Arc<Fault>) -> EffectOutcome {
    let mut fault = Fault::clone(fault);
    if !fault.message.starts_with(STILL) {
        fault.message = format!("{STILL}{}", fault.message);
    }
    EffectOutcome::Failed { fault: Arc::new(fault), approach: None }
}
