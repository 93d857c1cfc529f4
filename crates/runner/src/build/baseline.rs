//! What was red before a build began, measured once and kept beside the worktrees.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use unstuck_core::fault::Fault;
use unstuck_world::git::Oid;
use unstuck_world::validate::{Baseline, Checks};
use unstuck_world::workspace::{Shell, Workspace};

use crate::lock::lock;

/// What was red at the commit a build starts from.
#[derive(Debug)]
pub(super) struct Baselines {
    file: PathBuf,
    known: Mutex<Option<Arc<Baseline>>>,
    /// One task measures, the others wait for it.
    measuring: tokio::sync::Mutex<()>,
}

impl Baselines {
    /// Kept in `folder`.
    pub(super) fn new(folder: &std::path::Path, start: &Oid) -> Self {
        let file = folder.join(format!("baseline-{start}.json"));
        // One that cannot be read is measured again.
        let kept = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let known = Mutex::new(kept.map(Arc::new));
        Self { file, known, measuring: tokio::sync::Mutex::default() }
    }

    /// What is known about `start`.
    pub(super) fn known(&self, start: &Oid) -> Option<Arc<Baseline>> {
        lock(&self.known).clone().filter(|baseline| baseline.commit == *start)
    }

    /// Measures it in a worktree that nobody has worked in yet, unless that was done before.
    pub(super) async fn measure(
        &self,
        start: &Oid,
        workspace: &Workspace,
        gates: &[&Checks],
        shell: &Shell,
    ) -> Result<(), Fault> {
        let _measuring = self.measuring.lock().await;
        if self.known(start).is_some() || workspace.base().await? != *start {
            return Ok(());
        }
        let baseline = Baseline::measure(workspace, gates, shell).await?;
        if let Ok(bytes) = serde_json::to_vec(&baseline)
            && let Err(error) = fs::write(&self.file, bytes)
        {
            tracing::warn!(%error, "what was red at the base is measured again next time");
        }
        *lock(&self.known) = Some(Arc::new(baseline));
        Ok(())
    }
}
