//! The builds that this process performs, across changes of the holder.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use unstuck_core::engine::BuildId;
use unstuck_runner::build::BuildPerformer;
use unstuck_runner::{Decider, DeciderSuccession, PerformScope, TaskLocks};
use unstuck_world::process::FileLock;

use crate::error::CliError;
use crate::project::{LocalProject, ProjectConnection};

/// The treatment of builds that another process performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum OtherPerformers {
    /// Take them over once that process leaves them. This may never happen, because it may complete them.
    WaitedFor,
    /// Leave them to that process; `left` is notified when it leaves them.
    LeftAlone,
}

/// The builds that this process performs. They go on when the holder changes, and end when this is dropped.
pub(in crate::commands) struct PerformedBuilds {
    locks: TaskLocks,
    deciders: DeciderSuccession,
    builds: BTreeMap<BuildId, PerformedBuild>,
    /// Builds that are left to another process.
    left_alone: BTreeMap<BuildId, AbortHandle>,
    left: Arc<Notify>,
}

/// A build that this process performs or waits for.
struct PerformedBuild {
    world: BuildPerformer,
    /// The lock of the build, once taken: no other process performs it meanwhile, even while there is no
    /// holder.
    lock: Arc<OnceLock<FileLock>>,
    waits: Option<AbortHandle>,
}

impl PerformedBuilds {
    pub(in crate::commands) fn new(project: &LocalProject) -> Self {
        Self {
            locks: TaskLocks::new(project.runs_folder()),
            deciders: DeciderSuccession::default(),
            builds: BTreeMap::new(),
            left_alone: BTreeMap::new(),
            left: Arc::default(),
        }
    }

    /// Returns the notification that another process has left a build.
    pub(in crate::commands) fn left_notice(&self) -> Arc<Notify> {
        Arc::clone(&self.left)
    }

    /// Releases the locks of builds that have ended.
    pub(in crate::commands) fn release_ended(&mut self, open: &[BuildId]) {
        for (_, performed) in self.builds.iter_mut().filter(|(build, _)| !open.contains(build)) {
            performed.lock = Arc::default();
        }
    }

    pub(in crate::commands) fn end_all(&mut self) {
        self.deciders.close();
        for (_, performed) in std::mem::take(&mut self.builds) {
            performed.end();
        }
        for (_, waits) in std::mem::take(&mut self.left_alone) {
            waits.abort();
        }
    }

    pub(super) fn decider(&self) -> Arc<dyn Decider> {
        Arc::new(self.deciders.clone())
    }

    /// Continues from this decider.
    pub(in crate::commands) async fn move_to(
        &mut self,
        connection: &ProjectConnection,
    ) -> Result<(), CliError> {
        let waited_for = self.builds.extract_if(.., |_, performed| performed.lock.get().is_none());
        waited_for.for_each(|(_, performed)| performed.end());
        for (build, performed) in &self.builds {
            let world = Arc::new(performed.world.clone());
            if !connection.try_attach_performer(PerformScope::Build(*build), world).await? {
                // Another process has taken the build.
                performed.world.shut_down();
            }
        }
        self.deciders.set_decider(connection.decider());
        Ok(())
    }

    /// Returns whether a build is performed here.
    pub(super) fn is_performed(&mut self, build: BuildId) -> Result<bool, CliError> {
        let Some(performed) = self.builds.get(&build) else { return Ok(false) };
        // A build that had ended and goes on.
        if performed.lock.get().is_none()
            && performed.waits.is_none()
            && let Some(lock) = self.locks.try_lock_build(build)?
        {
            let _ = performed.lock.set(lock);
        }
        Ok(true)
    }

    /// Performs a build from now on, unless another process does.
    pub(super) async fn begin_build(
        &mut self,
        connection: &ProjectConnection,
        build: BuildId,
        world: BuildPerformer,
        others: OtherPerformers,
    ) -> Result<(), CliError> {
        let scope = PerformScope::Build(build);
        let lock = Arc::new(OnceLock::new());
        if let Some(free) = self.locks.try_lock_build(build)?
            && connection.try_attach_performer(scope.clone(), Arc::new(world.clone())).await?
        {
            let _ = lock.set(free);
            self.builds.insert(build, PerformedBuild { world, lock, waits: None });
            return Ok(());
        }
        match others {
            OtherPerformers::WaitedFor => {
                let mut performed = PerformedBuild { world, lock, waits: None };
                performed.wait_for_lock(self.locks.clone(), connection.clone(), build);
                self.builds.insert(build, performed);
            }
            OtherPerformers::LeftAlone => self.leave_alone(build),
        }
        Ok(())
    }

    fn leave_alone(&mut self, build: BuildId) {
        if self.left_alone.get(&build).is_some_and(|waits| !waits.is_finished()) {
            return;
        }
        let locks = self.locks.clone();
        let left = self.left_notice();
        let waits = tokio::spawn(async move {
            // If the lock cannot be waited for, the next lookup finds the build.
            if locks.lock_build(build).await.is_ok() {
                left.notify_one();
            }
        });
        self.left_alone.insert(build, waits.abort_handle());
    }
}

impl PerformedBuild {
    /// Takes up a build when its lock is free. A follower of the build sees its end in any case, and notices
    /// by itself when the decider is gone.
    fn wait_for_lock(&mut self, locks: TaskLocks, connection: ProjectConnection, build: BuildId) {
        let world = Arc::new(self.world.clone());
        let lock = Arc::clone(&self.lock);
        let waits = tokio::spawn(async move {
            if let Ok(taken) = locks.lock_build(build).await {
                let _ = lock.set(taken);
            }
            let _ = connection.attach_performer(PerformScope::Build(build), world).await;
        });
        self.waits = Some(waits.abort_handle());
    }

    fn end(&self) {
        if let Some(waits) = &self.waits {
            waits.abort();
        }
        self.world.shut_down();
    }
}

impl Drop for PerformedBuilds {
    fn drop(&mut self) {
        self.end_all();
    }
}
