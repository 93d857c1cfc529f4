//! What is taken care of for a job that is defined, beside running it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_world::process::{Log, Output};
use unstuck_world::redact::Redactor;

/// The output of so many firings is kept.
const LOGS_KEPT: usize = 20;
/// The longest output of one firing.
const LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What is taken care of.
#[derive(Debug, Default)]
pub struct Care {
    /// The program and arguments that prove that a login or a right works again.
    pub check: Option<Vec<OsString>>,
    /// Where its output is kept, when nobody watches it. It passes through without.
    pub logs: Option<Logs>,
}

/// The folder of a job's outputs, one file for each firing.
#[derive(Clone, Debug)]
pub struct Logs {
    folder: PathBuf,
}

impl Logs {
    /// The outputs in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The file of a firing.
    pub fn file(&self, firing: u32) -> PathBuf {
        self.folder.join(format!("{firing}.log"))
    }

    /// Where the output of a firing goes. All its runs share one file.
    pub(crate) fn output(&self, firing: u32, redactor: &Arc<Redactor>) -> Output {
        let path = self.file(firing);
        if let Err(error) = self.make_room(&path) {
            tracing::warn!(%error, folder = %self.folder.display(), "outputs cannot be kept");
        }
        Output::Log(Log { path, redactor: Arc::clone(redactor), bytes_max: LOG_BYTES_MAX })
    }

    /// Makes the folder, and lets go of the oldest.
    fn make_room(&self, coming: &Path) -> io::Result<()> {
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
            fs::remove_file(self.file(*firing))?;
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
        let logs = Logs::new(place.path().join("mail"));
        let redactor = Arc::new(Redactor::default());
        for firing in 1..=30 {
            logs.output(firing, &redactor);
            fs::write(logs.file(firing), "said").unwrap();
        }
        let kept = fs::read_dir(place.path().join("mail")).unwrap().count();
        assert_eq!(kept, LOGS_KEPT);
        assert!(!logs.file(10).exists() && logs.file(11).exists() && logs.file(30).exists());
    }
}
