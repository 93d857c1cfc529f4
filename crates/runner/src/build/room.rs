//! Disk space: worktrees are removed when they are not needed, and none is created without enough
//! space.

use unstuck_core::fault::{Fault, Tool};
use unstuck_world::workspace::RemovalOutcome;

use super::world::BuildContext;
use crate::effects::EffectRequest;

/// Formats a size, such as `512 MB` or `38.2 GB`.
fn format_size(bytes: u64) -> String {
    let tenths = (bytes >> 20).saturating_mul(10) / 1_024;
    match tenths {
        0..10 => format!("{} MB", bytes >> 20),
        _ => format!("{}.{} GB", tenths / 10, tenths % 10),
    }
}

impl BuildContext {
    /// Requires enough disk space for another worktree.
    pub(super) fn require_disk_space(&self) -> Result<(), Fault> {
        let root = self.settings.project.root();
        let wanted = self.settings.disk_free_bytes_min;
        let Ok(disk) = rustix::fs::statvfs(root) else { return Ok(()) };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free >= wanted {
            return Ok(());
        }
        let message = format!(
            "{} are free at {}, and run.disk_free_mb asks for {}",
            format_size(free),
            root.display(),
            format_size(wanted)
        );
        Err(Fault::env_disk_full("workspace", message, Tool::default()))
    }

    /// Removes the worktree of a task that has landed. One with unsaved content stays.
    pub(super) async fn remove_landed_worktree(&self, order: &EffectRequest) {
        let removed = match self.open_workspace(order).await {
            Ok(workspace) => workspace.remove_worktree(order.effect.run).await,
            Err(fault) => Err(fault),
        };
        match removed {
            Ok(RemovalOutcome::Gone) => {}
            Ok(RemovalOutcome::Kept(why)) => tracing::debug!(?why, "a worktree stays"),
            // The work is done; the rest is cleaned up later.
            Err(fault) => tracing::debug!(%fault, "a worktree could not be removed"),
        }
    }
}
