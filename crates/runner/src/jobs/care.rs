//! Settings of a job's login check and of its logs.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_world::process::{ProcessLog, ProcessOutput};
use unstuck_world::redact::Redactor;

/// Number of firings whose output is kept.
const LOGS_KEPT: usize = 20;
/// Maximum length in bytes of one firing's output.
const LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;

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
    pub(crate) fn open_output(&self, firing: u32, redactor: &Arc<Redactor>) -> ProcessOutput {
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
