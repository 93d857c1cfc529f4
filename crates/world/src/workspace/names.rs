//! The names of a task's refs and branches.

use unstuck_core::engine::{BuildId, RunId, TaskId};

/// A task of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkspaceKey {
    /// The id of the build.
    pub build: BuildId,
    /// The id of the task.
    pub task: TaskId,
}

/// Returns the full name of the branch that a build's tasks land on.
pub(super) fn build_branch_ref(build: BuildId) -> String {
    format!("refs/heads/unstuck/{build}")
}

/// Returns the ref of the commit that a build started from.
pub(super) fn build_start_ref(build: BuildId) -> String {
    format!("refs/unstuck/start/{build}")
}

/// Returns the ref of the last known commit of a build's branch, in case that branch is deleted.
pub(super) fn build_tip_ref(build: BuildId) -> String {
    format!("refs/unstuck/tip/{build}")
}

/// Returns the prefix of the refs that back up those of the operator at the start of a build.
pub(super) fn build_backup_prefix(build: BuildId) -> String {
    format!("refs/unstuck/backup/{build}")
}

/// Returns the ref of the commit of a run's attempt.
pub(super) fn attempt_ref(run: RunId) -> String {
    run.saved_ref()
}

/// Returns the email address that an agent commits under, so that reflogs tell what it moved.
pub(super) fn agent_email(run: RunId) -> String {
    format!("{run}@agent.unstuck.invalid")
}

impl WorkspaceKey {
    /// Returns the full name of the branch that the task's worktree is on. Git keeps branches as
    /// files, so it cannot lie below the build's branch.
    pub(super) fn branch_ref(self) -> String {
        format!("refs/heads/unstuck/{}.{}", self.build, self.task)
    }

    /// Returns the ref of the commit that the task's change is counted from.
    pub(super) fn base_ref(self) -> String {
        format!("refs/unstuck/base/{}", self.task)
    }

    /// Returns the ref of the destination of a worktree, which exists only during a move.
    pub(super) fn pending_ref(self) -> String {
        format!("refs/unstuck/pending/{}", self.task)
    }
}
