//! A command of the person's that does something which cannot be taken back.

use std::sync::Arc;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::Outcome;
use unstuck_core::fault::{Crash, Fault};

use crate::process::{Ended, How, Launch, Process, Stop, how_it_ended, verdict};

/// The longest result: one that was cut would not be what came back.
const RESULT_BYTES_MAX: u64 = 16 * 1_024 * 1_024;

/// Runs a program to its end: how it ended, and everything it wrote to its standard output unless
/// that was too much. An error means that it was not started.
pub async fn run(
    launch: Launch,
    stop: &CancellationToken,
) -> Result<(Ended, Option<Vec<u8>>), Fault> {
    Ok(finish(launch.start().await?, stop).await)
}

/// The same for a program that was started already.
pub async fn finish(mut process: Process, stop: &CancellationToken) -> (Ended, Option<Vec<u8>>) {
    let (stopper, stdout) = (process.stopper(), process.take_stdout());
    let run = async { tokio::join!(process.wait(), all(stdout, &stopper)) };
    tokio::pin!(run);
    tokio::select! {
        ran = &mut run => ran,
        () = stop.cancelled() => {
            stopper.stop();
            run.await
        }
    }
}

/// Whether the way a command ended proves that its action did not happen: it could not be started,
/// or it ended with one of the statuses that its caller declared to mean so. No other status and no
/// words prove anything, because the other side may have acted before the command failed.
pub fn did_not_happen(how: How, not_done: &[u8]) -> bool {
    match how {
        How::NotStarted(_) => true,
        How::Exited(status) => not_done.iter().any(|declared| i32::from(*declared) == status),
        _ => false,
    }
}

/// Performs the action that a command is. It happened when the command ends with 0; unless it could
/// not be started, it may have happened otherwise. `keep` says what is remembered of what it wrote.
pub async fn perform(
    launch: Launch,
    source: &str,
    keep: impl FnOnce(&[u8]) -> std::io::Result<Arc<str>>,
) -> Outcome {
    let program = launch.program.to_string_lossy().into_owned();
    let (ended, told) = match run(launch, &CancellationToken::new()).await {
        Ok(ran) => ran,
        Err(fault) => return Outcome::Failed { fault: Arc::new(fault), approach: None },
    };
    match (ended.how, told) {
        (How::Exited(0), told) => {
            // It happened; a result that cannot be kept is no reason to do it again.
            let result = told.and_then(|told| keep(&told).ok());
            Outcome::Applied { result: result.unwrap_or_else(|| Arc::from("")) }
        }
        (how, told) => {
            let fault = Arc::new(fault(&ended, told.as_deref(), source, &program));
            if did_not_happen(how, &[]) {
                Outcome::Failed { fault, approach: None }
            } else {
                Outcome::Unknown { fault }
            }
        }
    }
}

/// What a command came to that did not end with 0: how it ended, and what it wrote on both of its
/// streams. What it wrote is nothing where that was too much.
pub fn fault(ended: &Ended, told: Option<&[u8]>, source: &str, program: &str) -> Fault {
    let Some(mut fault) = verdict(ended, source, program) else {
        let message = format!("{program} wrote more than a result may be, and was ended");
        return Fault::tool_crash(source, message, Crash::default());
    };
    if let Some(said) = how_it_ended(ended, told.unwrap_or_default(), source, program) {
        fault.message = said;
    }
    fault
}

/// All that is written, unless it is too much: then nothing, and the program is ended.
async fn all(stdout: Option<ChildStdout>, stopper: &Stop) -> Option<Vec<u8>> {
    let mut told = Vec::new();
    stdout?.take(RESULT_BYTES_MAX + 1).read_to_end(&mut told).await.ok()?;
    if told.len() as u64 > RESULT_BYTES_MAX {
        stopper.stop();
        return None;
    }
    Some(told)
}
