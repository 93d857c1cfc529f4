//! A command of the person's that does something which cannot be taken back.

use std::sync::Arc;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::Outcome;
use unstuck_core::fault::{Crash, Fault};

use crate::process::{Ended, How, Launch, Process, Stop, verdict};

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
    let fault = verdict(&ended, source, &program);
    match (ended.how, fault, told) {
        (How::Exited(0), _, told) => {
            // It happened; a result that cannot be kept is no reason to do it again.
            let result = told.and_then(|told| keep(&told).ok());
            Outcome::Applied { result: result.unwrap_or_else(|| Arc::from("")) }
        }
        (how, Some(fault), _) if did_not_happen(how, &[]) => {
            Outcome::Failed { fault: Arc::new(fault), approach: None }
        }
        (_, fault, _) => Outcome::Unknown {
            fault: Arc::new(fault.unwrap_or_else(|| {
                let message = format!("{program} wrote more than a result may be, and was ended");
                Fault::tool_crash(source, message, Crash::default())
            })),
        },
    }
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
