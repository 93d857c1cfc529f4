//! One change brought onto another, without touching a working tree.

use std::path::PathBuf;

use unstuck_core::fault::Fault;

use super::fail::Operation;
use super::git::Git;
use super::oid::Oid;
use super::status::{path, records};

/// What came of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Both changes in one. Where they touch the same lines, both versions stand between marks.
    pub tree: Oid,
    /// The files where they do.
    pub conflicts: Vec<PathBuf>,
}

impl Git {
    /// Brings what `theirs` changed since `base` onto `ours`.
    pub async fn merge(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<Merged, Fault> {
        let call = self.call(Operation::Merge).args(["merge-tree", "--write-tree", "-z"]);
        let call = call.args(["--name-only", "--no-messages"]);
        let call = call.args([format!("--merge-base={base}")]);
        let call = call.args([ours.as_str(), theirs.as_str()]).about(ours.as_str());
        let done = call.run_expecting(&[0, 1]).await?;
        self.merged(&done.stdout).ok_or_else(|| self.unreadable(Operation::Merge))
    }

    #[expect(clippy::unused_self, reason = "it reads as one of the operations")]
    fn merged(&self, answer: &[u8]) -> Option<Merged> {
        let mut records = records(answer);
        let tree = Oid::read(records.next()?)?;
        let conflicts: Option<Vec<PathBuf>> =
            records.take_while(|name| !name.is_empty()).map(path).collect();
        Some(Merged { tree, conflicts: conflicts? })
    }
}
