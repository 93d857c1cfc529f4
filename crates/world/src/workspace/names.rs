//! What a task's things are called.

use unstuck_core::engine::{BuildId, RunId, TaskId};

/// A task of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The build.
    pub build: BuildId,
    /// The task.
    pub task: TaskId,
}

/// The branch that a build's tasks land on, in full.
pub(super) fn build_branch(build: BuildId) -> String {
    format!("refs/heads/unstuck/{build}")
}

/// The commit that a build started from.
pub(super) fn build_start(build: BuildId) -> String {
    format!("refs/unstuck/start/{build}")
}

/// Where a build's branch stood last, in case that branch is deleted.
pub(super) fn build_tip(build: BuildId) -> String {
    format!("refs/unstuck/tip/{build}")
}

/// Below it the refs are kept that the person had when a build began.
pub(super) fn build_backup(build: BuildId) -> String {
    format!("refs/unstuck/backup/{build}")
}

/// The commit of a run's attempt.
pub(super) fn attempt(run: RunId) -> String {
    run.saved_ref()
}

/// The address an agent commits under, so that the logs of refs tell what it moved.
pub(super) fn address(run: RunId) -> String {
    format!("{run}@agent.unstuck.invalid")
}

impl Place {
    /// The branch that the task's worktree is on, in full. Git keeps branches as files, so it
    /// cannot lie below the build's branch.
    pub(super) fn branch(self) -> String {
        format!("refs/heads/unstuck/{}.{}", self.build, self.task)
    }

    /// The commit the task's change is counted from.
    pub(super) fn base(self) -> String {
        format!("refs/unstuck/base/{}", self.task)
    }

    /// Where the worktree is on its way to, while it is.
    pub(super) fn pending(self) -> String {
        format!("refs/unstuck/pending/{}", self.task)
    }
}
