//! Mutual exclusion in a task's worktree.
//!
//! A decision may end a run while its worker still cleans up, and the next run may begin at once.
//! It waits here until the worktree is released.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::TaskId;

use crate::effects::lock_unpoisoned;

/// The locks of the worktrees, by task.
#[derive(Debug, Default)]
pub(super) struct TaskWorktreeLocks(Mutex<BTreeMap<TaskId, Arc<tokio::sync::Mutex<()>>>>);

impl TaskWorktreeLocks {
    /// Waits for the lock of a task's worktree, which is held until the guard is dropped; `None` if
    /// cancelled.
    pub(super) async fn lock_worktree(
        &self,
        task: TaskId,
        stop: &CancellationToken,
    ) -> Option<OwnedMutexGuard<()>> {
        let turn = Arc::clone(lock_unpoisoned(&self.0).entry(task).or_default());
        stop.run_until_cancelled(turn.lock_owned()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_next_waits_for_the_last_and_for_nobody_else() {
        let worktrees = TaskWorktreeLocks::default();
        let never = CancellationToken::new();
        let held = worktrees.lock_worktree(TaskId(1), &never).await.unwrap();
        worktrees.lock_worktree(TaskId(2), &never).await.unwrap();
        let stopped = CancellationToken::new();
        stopped.cancel();
        assert!(worktrees.lock_worktree(TaskId(1), &stopped).await.is_none());
        drop(held);
        assert!(worktrees.lock_worktree(TaskId(1), &never).await.is_some());
    }
}
