//! Where the night is kept until it is over.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::project;

/// Where the night is kept.
pub(super) struct Folder {
    path: PathBuf,
    goes_on: bool,
}

impl Folder {
    /// The folder of the night with this seed; one that was cut short is still there.
    pub(super) fn open(seed: u64) -> Result<Self, Error> {
        let path = project::state_folder().join("demo").join(seed.to_string());
        let goes_on = path.exists();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|source| Error::Folder { place: path.display().to_string(), source })?;
        Ok(Self { path, goes_on })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a night was cut short here.
    pub(super) const fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// The night is over. What cannot be removed is found by the next one.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
