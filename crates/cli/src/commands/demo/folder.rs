//! The folder of a night until it is over.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::error::CliError;
use crate::project;

/// The folder of a night.
pub(super) struct NightFolder {
    path: PathBuf,
    goes_on: bool,
}

impl NightFolder {
    /// Opens the folder of the night with this seed; that of an interrupted night still exists.
    pub(super) fn open(seed: u64) -> Result<Self, CliError> {
        let path = project::user_state_folder().join("demo").join(seed.to_string());
        let goes_on = path.exists();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|source| CliError::Folder { place: path.display().to_string(), source })?;
        Ok(Self { path, goes_on })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a night was interrupted here.
    pub(super) const fn is_resumed(&self) -> bool {
        self.goes_on
    }

    /// Removes the folder at the end of the night. The next night finds files that cannot be removed.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
