//! Commits, branches and other refs, changed only where they stand as expected.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use unstuck_core::fault::{Fault, Missing};

use super::fail::Operation;
use super::git::Git;
use super::lookup::Meaning;
use super::oid::Oid;

/// One ref to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefChange {
    /// Its full name.
    pub name: String,
    /// Where it has to stand; nothing where it must not exist.
    pub old: Option<Oid>,
    /// Where it is to stand; nothing where it is to go.
    pub new: Option<Oid>,
}

/// What came of moving refs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swapped {
    /// All of them stand where they were to stand.
    Done,
    /// None was moved, because this one stood elsewhere.
    Moved {
        /// Which one.
        name: String,
        /// Where it stands.
        at: Option<Oid>,
    },
}

impl Git {
    /// The commit that a name means, or nothing.
    pub async fn commit_of(&self, name: &str) -> Result<Option<Oid>, Fault> {
        self.resolve(&format!("{name}^{{commit}}")).await
    }

    /// The tree that a name means, or nothing.
    pub async fn tree_of(&self, name: &str) -> Result<Option<Oid>, Fault> {
        self.resolve(&format!("{name}^{{tree}}")).await
    }

    /// What a commit follows first, or nothing.
    pub async fn parent_of(&self, commit: &Oid) -> Result<Option<Oid>, Fault> {
        self.resolve(&format!("{commit}^1")).await
    }

    /// Whether a commit holds something at this path.
    pub async fn holds(&self, commit: &Oid, path: &str) -> Result<bool, Fault> {
        Ok(self.resolve(&format!("{commit}:{path}")).await?.is_some())
    }

    async fn resolve(&self, name: &str) -> Result<Option<Oid>, Fault> {
        match self.lookup.ask(self, name).await {
            Some(Meaning::Object(oid)) => return Ok(Some(oid)),
            Some(Meaning::Nothing) => return Ok(None),
            None => {}
        }
        let call = self.call(Operation::Look).args(["rev-parse", "--verify", "--quiet"]);
        let done = call.args(["--end-of-options", name]).run_expecting(&[0, 1]).await?;
        match done.status {
            0 => Oid::read(done.stdout.trim_ascii_end())
                .map(Some)
                .ok_or_else(|| self.unreadable(Operation::Look)),
            _ => Ok(None),
        }
    }

    /// The commit that is checked out. In a repository without one that is `PRECONDITION_MISSING`.
    pub async fn head(&self) -> Result<Oid, Fault> {
        self.commit_of("HEAD").await?.ok_or_else(|| {
            let message = format!("{} has no commit yet", self.directory().display());
            Fault::precondition_missing(
                Operation::Look.source(),
                message,
                Missing { what: "a first commit".to_owned() },
            )
        })
    }

    /// Whether every commit of `older` is in `newer`.
    pub async fn is_ancestor(&self, older: &Oid, newer: &Oid) -> Result<bool, Fault> {
        if older == newer {
            return Ok(true);
        }
        let call = self.call(Operation::Look).args(["merge-base", "--is-ancestor"]);
        let done = call.args([older.as_str(), newer.as_str()]).run_expecting(&[0, 1]).await?;
        Ok(done.status == 0)
    }

    /// Every ref whose name begins with one of these, and the object it names.
    pub async fn refs(&self, prefixes: &[&str]) -> Result<BTreeMap<String, Oid>, Fault> {
        let call = self.call(Operation::Look);
        let call = call.args(["for-each-ref", "--format=%(objectname) %(refname)"]).args(prefixes);
        let done = call.run().await?;
        let read = |line: &[u8]| {
            let at = line.iter().position(|byte| *byte == b' ')?;
            let name = std::str::from_utf8(&line[at + 1..]).ok()?;
            Some((name.to_owned(), Oid::read(&line[..at])?))
        };
        let lines = done.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let refs: Option<BTreeMap<String, Oid>> = lines.map(read).collect();
        refs.ok_or_else(|| self.unreadable(Operation::Look))
    }

    /// Moves all of these refs or none of them. A ref that stands elsewhere is an answer, no fault.
    pub async fn swap(&self, changes: &[RefChange], why: &str) -> Result<Swapped, Fault> {
        let mut orders = String::from("start\n");
        for change in changes {
            let RefChange { name, old, new } = change;
            let Some(any) = new.as_ref().or(old.as_ref()) else { continue };
            let (old, zero) = (old.as_ref().map(Oid::as_str), any.zero());
            let old = old.unwrap_or(&zero);
            let _ = match new {
                Some(new) => writeln!(orders, "update {name} {new} {old}"),
                None => writeln!(orders, "delete {name} {old}"),
            };
        }
        orders.push_str("prepare\ncommit\n");
        let call = self.call(Operation::Commit).args(["update-ref", "--create-reflog", "-m", why]);
        let call = call.args(["--no-deref", "--stdin"]).input(orders);
        let call =
            call.about(changes.first().map(|change| change.name.clone()).unwrap_or_default());
        match call.run().await {
            Ok(_) => Ok(Swapped::Done),
            Err(fault) => self.moved(changes).await?.ok_or(fault),
        }
    }

    /// Lets refs of ours name these objects, wherever they stood. They get no log.
    pub(crate) async fn keep_refs(
        &self,
        refs: impl IntoIterator<Item = (String, Oid)>,
    ) -> Result<(), Fault> {
        let orders = refs.into_iter().map(|(name, oid)| format!("update {name} {oid}\n"));
        self.update_refs(orders.collect()).await
    }

    /// Removes refs of ours that stand so.
    pub(crate) async fn forget_refs(&self, refs: BTreeMap<String, Oid>) -> Result<(), Fault> {
        let orders = refs.into_iter().map(|(name, oid)| format!("delete {name} {oid}\n"));
        self.update_refs(orders.collect()).await
    }

    async fn update_refs(&self, orders: String) -> Result<(), Fault> {
        let call = self.call(Operation::Commit).args(["update-ref", "--no-deref", "--stdin"]);
        call.input(orders).run().await.map(drop)
    }

    /// Git does not say why it refused; where the refs stand does.
    async fn moved(&self, changes: &[RefChange]) -> Result<Option<Swapped>, Fault> {
        let mut moved = None;
        let mut done = true;
        for change in changes {
            let at = self.resolve(&change.name).await?;
            done &= at == change.new;
            if at != change.old && moved.is_none() {
                moved = Some(Swapped::Moved { name: change.name.clone(), at });
            }
        }
        // Git may have died right after it moved them.
        Ok(if done { Some(Swapped::Done) } else { moved })
    }
}
