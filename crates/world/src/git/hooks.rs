//! Finds the hooks of a repository. Most have none, and asking git to run each missing one would
//! cost more than the commit.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::fail::GitAction;
use super::git::Git;

/// Pattern of settings that are hooks themselves, in newer versions of git.
const SETTINGS: &str = r"^hook\.";

/// The location of a repository's hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSources {
    /// The folder of hook files.
    folder: PathBuf,
    /// Hooks that are settings: names and values.
    settings: Vec<String>,
}

impl Git {
    /// Returns the hooks of the working tree, which has them in `folder` unless the operator's
    /// settings say otherwise.
    pub async fn find_hooks(&self, folder: &Path) -> Result<HookSources, Fault> {
        let call = self.call(GitAction::Look).args(["config", "--null", "--type=path"]);
        let said = call.args(["--get-all", "core.hooksPath"]).run_expecting(&[0, 1]).await?.stdout;
        let mut folders: Vec<&[u8]> = split_records(&said).collect();
        // The last one comes from the fixed settings, which keep these commands from running hooks.
        folders.pop();
        let folder = match folders.last() {
            Some(named) => self.directory().join(OsString::from_vec(named.to_vec())),
            None => folder.to_owned(),
        };
        let call = self.call(GitAction::Look).args(["config", "--null", "--get-regexp", SETTINGS]);
        let said = call.run_expecting(&[0, 1]).await?.stdout;
        let setting = |record: &[u8]| String::from_utf8_lossy(record).replacen('\n', "=", 1);
        Ok(HookSources { folder, settings: split_records(&said).map(setting).collect() })
    }
}

fn split_records(said: &[u8]) -> impl Iterator<Item = &[u8]> {
    said.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}

impl HookSources {
    /// Returns whether there may be a hook of this name. Git itself skips files that are not
    /// executable.
    pub fn may_have(&self, name: &str) -> bool {
        !self.settings.is_empty() || self.folder.join(name).exists()
    }

    /// Returns the path of a hook's file, which need not exist.
    pub(crate) fn hook_file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the arguments that make another git run these hooks and no others.
    pub(crate) fn to_arguments(&self) -> Vec<OsString> {
        let mut path = OsString::from("core.hooksPath=");
        path.push(&self.folder);
        let settings = self.settings.iter().map(OsString::from);
        [path].into_iter().chain(settings).flat_map(|setting| ["-c".into(), setting]).collect()
    }

    /// Returns the folder of hook files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}
