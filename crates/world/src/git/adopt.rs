//! Brings objects of an untrusted repository into this one.

use std::path::Path;

use unstuck_core::fault::Fault;

use super::fail::GitAction;
use super::git::Git;
use super::oid::Oid;

impl Git {
    /// Returns whether an object is in this repository.
    pub(crate) async fn has_object(&self, object: &Oid) -> Result<bool, Fault> {
        let call = self.call(GitAction::Look).args(["cat-file", "-e", object.as_str()]);
        Ok(call.run_expecting(&[0, 1, 128]).await?.status == 0)
    }

    /// Brings `object` and all that it needs beyond `known` into this repository from the folder
    /// `objects`, which an agent has written. Reads only data from there: no settings, no refs and
    /// no hooks. Each object's hash is computed anew, and a malformed one is refused.
    pub(crate) async fn import_objects(
        &self,
        objects: &Path,
        object: &Oid,
        known: &Oid,
    ) -> Result<(), Fault> {
        let call = self.call(GitAction::Look).args(["pack-objects", "--quiet", "--revs"]);
        let call = call.args(["--stdout", "--no-reuse-object", "--threads=1"]);
        let call = call.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        let pack = call.input(format!("{object}\n^{known}\n")).run().await?.stdout;
        let call = self.call(GitAction::Commit).args(["unpack-objects", "-q", "--strict"]);
        call.input(pack).with_reference(object.as_str()).run().await.map(drop)
    }
}
