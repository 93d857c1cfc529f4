//! Which hooks a repository has. Most have none, and asking git to run each that is missing would cost
//! more than the commit.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::fail::Operation;
use super::git::Git;

/// Settings that are hooks themselves, in newer versions of git.
const SETTINGS: &str = r"^hook\.";

/// Where hooks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hooks {
    /// Where their files are.
    folder: PathBuf,
    /// Those that are settings: names and values.
    settings: Vec<String>,
}

impl Git {
    /// The hooks of the working tree, which has them in `folder` unless the person's settings say
    /// otherwise.
    pub async fn hooks(&self, folder: &Path) -> Result<Hooks, Fault> {
        let call = self.call(Operation::Look).args(["config", "--null", "--type=path"]);
        let said = call.args(["--get-all", "core.hooksPath"]).run_expecting(&[0, 1]).await?.stdout;
        let mut folders: Vec<&[u8]> = records(&said).collect();
        // The last one is our own, which keeps our commands from running any.
        folders.pop();
        let folder = match folders.last() {
            Some(named) => self.directory().join(OsString::from_vec(named.to_vec())),
            None => folder.to_owned(),
        };
        let call = self.call(Operation::Look).args(["config", "--null", "--get-regexp", SETTINGS]);
        let said = call.run_expecting(&[0, 1]).await?.stdout;
        let setting = |record: &[u8]| String::from_utf8_lossy(record).replacen('\n', "=", 1);
        Ok(Hooks { folder, settings: records(&said).map(setting).collect() })
    }
}

fn records(said: &[u8]) -> impl Iterator<Item = &[u8]> {
    said.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}

impl Hooks {
    /// Whether there may be one of this name. What is no program is for git to overlook.
    pub fn may_have(&self, name: &str) -> bool {
        !self.settings.is_empty() || self.folder.join(name).exists()
    }

    /// The file of a hook, which need not be there.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What makes another git run these hooks and no others.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut path = OsString::from("core.hooksPath=");
        path.push(&self.folder);
        let settings = self.settings.iter().map(OsString::from);
        [path].into_iter().chain(settings).flat_map(|setting| ["-c".into(), setting]).collect()
    }

    /// Where their files are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}
