//! The index that a check finds in a worktree: it holds all of the work, as the commit will. A
//! check that asks git for its files (`git ls-files`, `git diff --exit-code`) would otherwise miss
//! new files, and take the work itself for a difference. The agent's own index is restored
//! afterwards; it is on disk until then, so that a kill does not lose it.

use std::fs;

use unstuck_core::fault::Fault;

use super::changes::Change;
use super::state::failed;
use super::workspace::Workspace;

/// Name of the state file with the agent's own index while a check runs.
const OWN_INDEX: &str = "index.agent";

impl Workspace {
    /// Replaces the agent's index by one that holds these changes, for a check. Does nothing in the
    /// operator's own tree, whose index is the operator's.
    pub(super) async fn lend_index(&self, changes: &[Change]) -> Result<(), Fault> {
        let sound = self.private.as_ref().filter(|private| private.is_sound(&self.branch));
        let Some(private) = sound.filter(|_| !changes.is_empty()) else { return Ok(()) };
        // An index that is saved already was left by a kill, and the one in its place is the
        // supervisor's.
        if self.state.read(OWN_INDEX)?.is_none() {
            let Some(own) = private.index() else { return Ok(()) };
            self.state.write(OWN_INDEX, &own)?;
        }
        self.tree(changes).await?;
        let scratch = self.state.scratch_index();
        let holding = fs::read(&scratch).map_err(|error| failed(&scratch, &error))?;
        private.put_index(&holding).map_err(|error| failed(private.folder(), &error))
    }

    /// Restores the agent's own index.
    pub(super) fn give_index_back(&self) -> Result<(), Fault> {
        let Some(own) = self.state.read(OWN_INDEX)? else { return Ok(()) };
        if let Some(private) = &self.private {
            private.put_index(&own).map_err(|error| failed(private.folder(), &error))?;
        }
        self.state.forget(OWN_INDEX)
    }

    /// Removes the saved index, because the agent's repository is replaced.
    pub(super) fn forget_own_index(&self) -> Result<(), Fault> {
        self.state.forget(OWN_INDEX)
    }
}
