//! Irreversible actions that are a command of the operator's.

use std::ffi::OsString;
use std::sync::Arc;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::EffectOutcome;
use unstuck_core::fault::{Crash, Fault};

use crate::commands::find_only_program;
use crate::process::{
    Launch, Process, ProcessEnd, ProcessResult, ProcessStopper, derive_fault, describe_end,
};

/// Maximum size of a result in bytes. A longer result is dropped, because a truncated one would be
/// wrong.
const RESULT_BYTES_MAX: u64 = 16 * 1_024 * 1_024;

/// Runs a program to its end and returns how it ended with all of its standard output; the output
/// is `None` if it was too long. An error means that the program was not started.
pub async fn run_to_end(
    launch: Launch,
    stop: &CancellationToken,
) -> Result<(ProcessResult, Option<Vec<u8>>), Fault> {
    Ok(wait_for_end(launch.start().await?, stop).await)
}

/// Waits for a program that was already started, as [`run_to_end`] does.
pub async fn wait_for_end(
    mut process: Process,
    stop: &CancellationToken,
) -> (ProcessResult, Option<Vec<u8>>) {
    let stopper = process.stopper();
    let stdout = process.take_stdout();
    let run = async { tokio::join!(process.wait(), read_all_output(stdout, &stopper)) };
    tokio::pin!(run);
    tokio::select! {
        ran = &mut run => ran,
        () = stop.cancelled() => {
            stopper.stop();
            run.await
        }
    }
}

/// Returns whether the way a command ended proves that its action did not happen: it could not be
/// started, or it ended with one of the exit codes that its caller declared to mean so. No other
/// exit code and no text proves anything, because the other side may have acted before the command
/// failed.
pub fn did_not_happen(how: ProcessEnd, not_done: &[u8]) -> bool {
    match how {
        ProcessEnd::NotStarted(_) => true,
        ProcessEnd::Exited(status) => {
            not_done.iter().any(|declared| i32::from(*declared) == status)
        }
        _ => false,
    }
}

/// The exit codes of a shell that could not start a program, or did not find it.
const NOT_STARTED: [i32; 2] = [126, 127];
/// The beginning of the messages of a shell about its own failures.
const SHELL_SAYS: &str = "sh:";

/// Returns whether the shell of a line reports that it did not start the only program of the line.
/// A program that a script did not find proves nothing, because other programs ran before it.
fn shell_started_nothing(
    ended: &ProcessResult,
    told: Option<&[u8]>,
    arguments: &[OsString],
) -> bool {
    let ProcessEnd::Exited(status) = ended.how else { return false };
    let [option, line] = arguments else { return false };
    let line = line.to_str().filter(|_| option == "-c");
    let Some(program) = line.and_then(find_only_program) else { return false };
    let said = String::from_utf8_lossy(&ended.output.to_bytes()).into_owned();
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let (Some(only), None) = (lines.next(), lines.next()) else { return false };
    let names_it = only.starts_with(SHELL_SAYS) && only.contains(&format!(" {program}:"));
    NOT_STARTED.contains(&status) && told.is_some_and(<[u8]>::is_empty) && names_it
}

/// Performs the action that a command is. Exit code 0 means that it happened; with any other end it
/// may have happened, unless the command or the only program of its line could not be started. `keep` turns the output into the
/// result that is recorded.
pub async fn perform_command(
    launch: Launch,
    source: &str,
    keep: impl FnOnce(&[u8]) -> std::io::Result<Arc<str>>,
) -> EffectOutcome {
    let program = launch.program.to_string_lossy().into_owned();
    let arguments = launch.arguments.clone();
    let (ended, told) = match run_to_end(launch, &CancellationToken::new()).await {
        Ok(ran) => ran,
        Err(fault) => return EffectOutcome::Failed { fault: Arc::new(fault), approach: None },
    };
    match (ended.how, told) {
        (ProcessEnd::Exited(0), told) => {
            // The action happened; a result that cannot be kept is no reason to repeat it.
            let result = told.and_then(|told| keep(&told).ok());
            EffectOutcome::Applied { result: result.unwrap_or_else(|| Arc::from("")) }
        }
        (how, told) => {
            let fault = Arc::new(command_fault(&ended, told.as_deref(), source, &program));
            let started = !shell_started_nothing(&ended, told.as_deref(), &arguments);
            if !started || did_not_happen(how, &[]) {
                EffectOutcome::Failed { fault, approach: None }
            } else {
                EffectOutcome::Unknown { fault }
            }
        }
    }
}

/// Returns the fault of a command that did not exit with 0: how it ended and what it wrote to both
/// streams. `told` is `None` if the output was too long.
pub fn command_fault(
    ended: &ProcessResult,
    told: Option<&[u8]>,
    source: &str,
    program: &str,
) -> Fault {
    let Some(mut fault) = derive_fault(ended, source, program) else {
        let message = format!("{program} wrote more than a result may be, and was ended");
        return Fault::tool_crash(source, message, Crash::default());
    };
    if let Some(said) = describe_end(ended, told.unwrap_or_default(), source, program) {
        fault.message = said;
    }
    fault
}

/// Reads all output. If it is too long, returns `None` and stops the program.
async fn read_all_output(stdout: Option<ChildStdout>, stopper: &ProcessStopper) -> Option<Vec<u8>> {
    let mut told = Vec::new();
    stdout?.take(RESULT_BYTES_MAX + 1).read_to_end(&mut told).await.ok()?;
    if told.len() as u64 > RESULT_BYTES_MAX {
        stopper.stop();
        return None;
    }
    Some(told)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::process::OutputExcerpt;

    fn ended(status: i32, stderr: &str) -> ProcessResult {
        let mut output = OutputExcerpt::with_limit(1_024);
        output.push(stderr.as_bytes());
        let how = ProcessEnd::Exited(status);
        let duration = Duration::ZERO;
        ProcessResult { how, output, duration, leftovers_ended: 0, lost_output: None }
    }

    // TX6
    #[test]
    fn only_the_shell_itself_proves_that_nothing_was_started() {
        let nothing = |line: &str, status, stderr, told: &str| {
            let arguments = ["-c", line].map(OsString::from);
            shell_started_nothing(&ended(status, stderr), Some(told.as_bytes()), &arguments)
        };
        let dash = "sh: 1: announce-it: not found\n";
        assert!(nothing("announce-it 1.4", 127, dash, ""));
        assert!(nothing("cd web && X=1 announce-it", 127, dash, ""));
        assert!(nothing("announce-it", 127, "sh: line 1: announce-it: command not found\n", ""));
        assert!(nothing("./announce", 126, "sh: 1: ./announce: Permission denied\n", ""));
        for (line, status, stderr, told) in [
            ("./charge && announce-it", 127, dash, ""),
            ("announce-it $(./charge)", 127, dash, ""),
            ("./announce", 127, "./announce: 3: announce-it: not found\n", ""),
            ("./announce", 127, dash, ""),
            ("announce-it", 1, dash, ""),
            ("announce-it", 127, dash, "charged\n"),
            ("announce-it", 127, "charged\nsh: 1: announce-it: not found\n", ""),
        ] {
            assert!(!nothing(line, status, stderr, told), "{line}: {stderr}");
        }
    }
}
