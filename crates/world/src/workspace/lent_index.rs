//! The index that a check finds in a worktree: it holds all of the work, as the commit will. A
//! check that asks git for its files (`git ls-files`, `git diff --exit-code`) would otherwise miss
//! new files, and take the work itself for a difference. The agent's own index is restored
//! afterwards; it is on disk until then, so that a kill does not lose it.

use std::fs;

use unstuck_core::fault::Fault;

use super::changes::WorktreeChange;
use super::state::io_fault;
use super::workspace::Workspace;

/// Name of the state file with the agent's own index while a check runs.
const OWN_INDEX: &str = "index.agent";

impl Workspace {
    /// Replaces the agent's index by one that holds these changes, for a check. Does nothing in the
    /// operator's own tree, whose index is the operator's.
    pub(super) async fn lend_index(&self, changes: &[WorktreeChange]) -> Result<(), Fault> {
        let sound = self.private.as_ref().filter(|private| private.is_sound(&self.branch));
        let Some(private) = sound.filter(|_| !changes.is_empty()) else { return Ok(()) };
        // An index that is saved already was left by a kill, and the one in its place is the
        // supervisor's.
        if self.state.read_file(OWN_INDEX)?.is_none() {
            let Some(own) = private.read_index() else { return Ok(()) };
            self.state.write_file(OWN_INDEX, &own)?;
        }
        self.write_tree(changes).await?;
        let scratch = self.state.scratch_index_file();
        let holding = fs::read(&scratch).map_err(|error| io_fault(&scratch, &error))?;
        private.write_index(&holding).map_err(|error| io_fault(private.folder(), &error))
    }

    /// Restores the agent's own index.
    pub(super) fn restore_agent_index(&self) -> Result<(), Fault> {
        let Some(own) = self.state.read_file(OWN_INDEX)? else { return Ok(()) };
        if let Some(private) = &self.private {
            private.write_index(&own).map_err(|error| io_fault(private.folder(), &error))?;
        }
        self.state.delete_file(OWN_INDEX)
    }

    /// Removes the saved index, because the agent's repository is replaced.
    pub(super) fn forget_agent_index(&self) -> Result<(), Fault> {
        self.state.delete_file(OWN_INDEX)
    }
}
