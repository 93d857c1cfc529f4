//! Reads and changes refs, with compare-and-swap.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use unstuck_core::fault::{Fault, Missing};

use super::fail::GitAction;
use super::git::{Git, LookupAnswer};
use super::object::Oid;
use super::records::{nonempty_lines, parse_ref};

/// A change of one ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefChange {
    /// The full name of the ref.
    pub name: String,
    /// The expected value; `None` if the ref must not exist.
    pub old: Option<Oid>,
    /// The new value; `None` to delete the ref.
    pub new: Option<Oid>,
}

/// The outcome of changing refs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefSwapOutcome {
    /// All refs have their new values.
    Done,
    /// No ref was changed, because this one has an unexpected value.
    Moved {
        /// The full name of that ref.
        name: String,
        /// The current value, if the ref exists.
        at: Option<Oid>,
    },
}

impl Git {
    /// Returns the commit that a name refers to, if it exists.
    pub async fn resolve_commit(&self, name: &str) -> Result<Option<Oid>, Fault> {
        self.resolve_revision(&format!("{name}^{{commit}}")).await
    }

    /// Returns the tree that a name refers to, if it exists.
    pub async fn resolve_tree(&self, name: &str) -> Result<Option<Oid>, Fault> {
        self.resolve_revision(&format!("{name}^{{tree}}")).await
    }

    /// Returns the first parent of a commit, if it has one.
    pub async fn resolve_parent(&self, commit: &Oid) -> Result<Option<Oid>, Fault> {
        self.resolve_revision(&format!("{commit}^1")).await
    }

    /// Returns whether a commit contains a file or folder at this path.
    pub async fn has_path(&self, commit: &Oid, path: &str) -> Result<bool, Fault> {
        Ok(self.resolve_revision(&format!("{commit}:{path}")).await?.is_some())
    }

    async fn resolve_revision(&self, name: &str) -> Result<Option<Oid>, Fault> {
        match self.lookup.resolve_name(self, name).await {
            Some(LookupAnswer::Object(oid)) => return Ok(Some(oid)),
            Some(LookupAnswer::Nothing) => return Ok(None),
            None => {}
        }
        let call = self.call(GitAction::Look).args(["rev-parse", "--verify", "--quiet"]);
        let done = call.args(["--end-of-options", name]).run_expecting(&[0, 1]).await?;
        match done.status {
            0 => self.parse_oid(&done.stdout, GitAction::Look).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the commit that is checked out. The lack of one is `PRECONDITION_MISSING`.
    pub async fn resolve_head(&self) -> Result<Oid, Fault> {
        self.resolve_commit("HEAD").await?.ok_or_else(|| {
            let message = format!(
                "{} has no commit yet; `git add -A && git commit -m Begin` makes the first one",
                self.directory().display()
            );
            Fault::precondition_missing(
                GitAction::Look.fault_source(),
                message,
                Missing { what: "a first commit".to_owned() },
            )
        })
    }

    /// Returns whether `older` is `newer` or an ancestor of it.
    pub async fn is_ancestor(&self, older: &Oid, newer: &Oid) -> Result<bool, Fault> {
        if older == newer {
            return Ok(true);
        }
        let call = self.call(GitAction::Look).args(["merge-base", "--is-ancestor"]);
        let done = call.args([older.as_str(), newer.as_str()]).run_expecting(&[0, 1]).await?;
        Ok(done.status == 0)
    }

    /// Returns every ref whose name begins with one of these prefixes, and the object it points to.
    pub async fn list_refs(&self, prefixes: &[&str]) -> Result<BTreeMap<String, Oid>, Fault> {
        let call = self.call(GitAction::Look);
        let call = call.args(["for-each-ref", "--format=%(objectname) %(refname)"]).args(prefixes);
        let done = call.run().await?;
        let refs = nonempty_lines(&done.stdout).map(|line| parse_ref(line, b' '));
        let refs: Option<BTreeMap<String, Oid>> = refs.collect();
        refs.ok_or_else(|| self.unreadable_fault(GitAction::Look))
    }

    /// Changes all of these refs or none of them. A ref with an unexpected value is a result, not a
    /// fault.
    pub async fn swap_refs(
        &self,
        changes: &[RefChange],
        why: &str,
    ) -> Result<RefSwapOutcome, Fault> {
        let mut updates = String::from("start\n");
        for change in changes {
            let RefChange { name, old, new } = change;
            let Some(any) = new.as_ref().or(old.as_ref()) else { continue };
            let old = old.as_ref().map(Oid::as_str);
            let zero = any.null_name();
            let old = old.unwrap_or(&zero);
            let _ = match new {
                Some(new) => writeln!(updates, "update {name} {new} {old}"),
                None => writeln!(updates, "delete {name} {old}"),
            };
        }
        updates.push_str("prepare\ncommit\n");
        let call = self.call(GitAction::Commit).args(["update-ref", "--create-reflog", "-m", why]);
        let call = call.args(["--no-deref", "--stdin"]).input(updates);
        let call = call
            .with_reference(changes.first().map(|change| change.name.clone()).unwrap_or_default());
        match call.run().await {
            Ok(_) => Ok(RefSwapOutcome::Done),
            Err(fault) => self.diagnose_swap(changes).await?.ok_or(fault),
        }
    }

    /// Points refs of Unstuck at these objects, regardless of their values. Writes no reflog.
    pub(crate) async fn set_refs(
        &self,
        refs: impl IntoIterator<Item = (String, Oid)>,
    ) -> Result<(), Fault> {
        let updates = refs.into_iter().map(|(name, oid)| format!("update {name} {oid}\n"));
        self.update_refs(updates.collect()).await
    }

    /// Deletes refs of Unstuck that have these values.
    pub(crate) async fn delete_refs(&self, refs: BTreeMap<String, Oid>) -> Result<(), Fault> {
        let updates = refs.into_iter().map(|(name, oid)| format!("delete {name} {oid}\n"));
        self.update_refs(updates.collect()).await
    }

    async fn update_refs(&self, updates: String) -> Result<(), Fault> {
        let call = self.call(GitAction::Commit).args(["update-ref", "--no-deref", "--stdin"]);
        call.input(updates).run().await.map(drop)
    }

    /// Determines from the values of the refs why git refused to change them, because git does not
    /// say.
    async fn diagnose_swap(&self, changes: &[RefChange]) -> Result<Option<RefSwapOutcome>, Fault> {
        let mut moved = None;
        let mut done = true;
        for change in changes {
            let at = self.resolve_revision(&change.name).await?;
            done &= at == change.new;
            if at != change.old && moved.is_none() {
                moved = Some(RefSwapOutcome::Moved { name: change.name.clone(), at });
            }
        }
        // Git may have died right after it changed them.
        Ok(if done { Some(RefSwapOutcome::Done) } else { moved })
    }
}
