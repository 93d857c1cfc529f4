//! Which hooks a repository has. Most have none, and asking git to run each that is missing would cost
//! more than the commit.

use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::fail::Operation;
use super::git::Git;

/// The settings that say where hooks are, and those that are hooks themselves in newer versions.
const SETTINGS: &str = r"^(core\.hookspath|hook\.)";

/// Where hooks may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hooks {
    /// Where their files are; nothing where only git can tell.
    folder: Option<PathBuf>,
}

impl Git {
    /// The hooks of the working tree, which has them in `folder` unless settings say otherwise.
    pub async fn hooks(&self, folder: &Path) -> Result<Hooks, Fault> {
        let call = self.call(Operation::Look).args(["config", "--null", "--get-regexp", SETTINGS]);
        let said = call.run_expecting(&[0, 1]).await?.stdout;
        let mut settings: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
        settings.retain(|line| !line.is_empty());
        // The last one is our own, which keeps our commands from running any.
        settings.pop();
        let usual = || Some(folder.to_owned());
        Ok(Hooks { folder: if settings.is_empty() { usual() } else { None } })
    }
}

impl Hooks {
    /// Whether there may be one of this name. What is no program is for git to overlook.
    pub fn may_have(&self, name: &str) -> bool {
        self.folder.as_ref().is_none_or(|folder| folder.join(name).exists())
    }
}
