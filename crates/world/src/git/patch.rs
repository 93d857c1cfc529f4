//! Patches: a change as text that can be kept, read and applied again.

use std::path::PathBuf;

use unstuck_core::fault::Fault;

use super::fail::GitAction;
use super::git::Git;
use super::oid::Oid;

impl Git {
    /// Returns the change from one tree to another, as a binary-safe patch that can be applied.
    pub async fn create_patch(&self, old: &Oid, new: &Oid) -> Result<Vec<u8>, Fault> {
        self.create_patch_for(old, new, &[]).await
    }

    /// Returns the change of these paths alone, or of all if `paths` is empty.
    pub async fn create_patch_for(
        &self,
        old: &Oid,
        new: &Oid,
        paths: &[PathBuf],
    ) -> Result<Vec<u8>, Fault> {
        let call = self.call(GitAction::Status).args(["diff-tree", "-r", "-p", "-M", "--binary"]);
        let call = call.args(["--full-index", "--no-color", "--no-ext-diff", "--no-textconv"]);
        let call = call.args([old.as_str(), new.as_str(), "--"]).args(paths);
        Ok(call.run().await?.stdout)
    }

    /// Applies a patch to the index and the working tree, wholly or not at all.
    pub async fn apply_patch(&self, patch: &[u8]) -> Result<(), Fault> {
        if patch.is_empty() {
            return Ok(());
        }
        let call = self.call(GitAction::Merge).args(["apply", "--index", "--whitespace=nowarn"]);
        call.args(["-"]).input(patch).run().await.map(drop)
    }
}
