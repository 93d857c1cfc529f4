//! Whether a login or a right works again that a person says is mended.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unstuck_core::engine::Outcome;
use unstuck_core::fault::Fault;
use unstuck_world::process::{Deadlines, How, Launch};

/// How long it may take.
const CHECK_MAX: Duration = Duration::from_mins(1);
/// What is put before the failure that was to be mended.
const STILL: &str = "it was said to be mended and still does not work: ";

/// Runs the command that proves it; `launch` says where and under which guard.
pub(crate) async fn passes(
    mut launch: Launch,
    command: &[OsString],
    stop: &CancellationToken,
) -> Result<bool, Fault> {
    let Some((program, arguments)) = command.split_first() else { return Ok(true) };
    launch.program.clone_from(program);
    launch.arguments = arguments.to_vec();
    launch.deadlines = Deadlines { total: Some(CHECK_MAX), ..Deadlines::default() };
    let ended = launch.start().await?.wait_unless(stop).await;
    Ok(ended.how == How::Exited(0))
}

/// The same failure once more, so that the same person is asked the same.
pub(crate) fn same_again(fault: &Arc<Fault>) -> Outcome {
    let mut fault = Fault::clone(fault);
    if !fault.message.starts_with(STILL) {
        fault.message = format!("{STILL}{}", fault.message);
    }
    Outcome::Failed { fault: Arc::new(fault), approach: None }
}
