//! A job's logs, and the check of whether a login or permission works again that the operator says
//! is fixed.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unstuck_core::engine::EffectOutcome;
use unstuck_core::fault::Fault;
use unstuck_world::process::{Launch, ProcessDeadlines, ProcessEnd, ProcessLog, ProcessOutput};
use unstuck_world::redact::Redactor;

use crate::effects::failed_outcome;

/// Number of firings whose output is kept.
const LOGS_KEPT: usize = 20;
/// Maximum length in bytes of one firing's output.
const LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Maximum duration of the check.
const CHECK_MAX: Duration = Duration::from_mins(1);
/// The rest of the line above a failure that was said to be fixed, after the check's command.
const STILL: &str = " still fails (the check of this job). Before, the script said:";

/// A job's login check and logs.
#[derive(Debug, Default)]
pub struct JobOptions {
    /// The program and arguments that prove that a login or permission works again.
    pub check: Option<Vec<OsString>>,
    /// The folder of its output, for an unwatched job. Without it the output is passed through.
    pub logs: Option<JobLogs>,
}

/// The folder of a job's outputs, one file per firing.
#[derive(Clone, Debug)]
pub struct JobLogs {
    folder: PathBuf,
}

impl JobLogs {
    /// Creates the logs in `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the file of a firing.
    pub fn log_path(&self, firing: u32) -> PathBuf {
        self.folder.join(format!("{firing}.log"))
    }

    /// Returns the destination for the output of a firing. All its runs share one file.
    pub(super) fn open_output(&self, firing: u32, redactor: &Arc<Redactor>) -> ProcessOutput {
        let path = self.log_path(firing);
        if let Err(error) = self.delete_old_logs(&path) {
            tracing::warn!(%error, folder = %self.folder.display(), "outputs cannot be kept");
        }
        ProcessOutput::Log(ProcessLog {
            path,
            redactor: Arc::clone(redactor),
            bytes_max: LOG_BYTES_MAX,
        })
    }

    /// Creates the folder, and deletes the oldest outputs.
    fn delete_old_logs(&self, coming: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        if coming.exists() {
            return Ok(());
        }
        let mut firings: Vec<u32> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let number: Option<u32> =
                name.to_str().and_then(|name| name.strip_suffix(".log")?.parse().ok());
            firings.extend(number);
        }
        firings.sort_unstable();
        let too_many = (firings.len() + 1).saturating_sub(LOGS_KEPT);
        for firing in &firings[..too_many.min(firings.len())] {
            fs::remove_file(self.log_path(*firing))?;
        }
        Ok(())
    }
}

/// Runs the command that proves it, with the directory and guard of `launch`.
pub(super) async fn run_login_check(
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
pub(super) fn repeat_failure(fault: &Arc<Fault>, check: &[OsString]) -> EffectOutcome {
    let mut fault = Fault::clone(fault);
    if !fault.message.lines().next().is_some_and(|line| line.ends_with(STILL)) {
        let words: Vec<_> = check.iter().map(|word| word.to_string_lossy()).collect();
        fault.message = format!("`{}`{STILL}\n{}", words.join(" "), fault.message);
    }
    failed_outcome(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_outputs_are_kept_and_the_oldest_go() {
        let place = tempfile::tempdir().unwrap();
        let logs = JobLogs::new(place.path().join("mail"));
        let redactor = Arc::new(Redactor::default());
        for firing in 1..=30 {
            logs.open_output(firing, &redactor);
            fs::write(logs.log_path(firing), "said").unwrap();
        }
        let kept = fs::read_dir(place.path().join("mail")).unwrap().count();
        assert_eq!(kept, LOGS_KEPT);
        assert!(
            !logs.log_path(10).exists() && logs.log_path(11).exists() && logs.log_path(30).exists()
        );
    }
}
