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
    turns: TaskLocks,
    deciders: DeciderSuccession,
    builds: BTreeMap<BuildId, PerformedBuild>,
    /// Builds that are left to another process.
    left_alone: BTreeMap<BuildId, AbortHandle>,
    left: Arc<Notify>,
}

/// A build that this process performs or waits for.
struct PerformedBuild {
    world: BuildPerformer,
    /// The turn of the build, once taken: no other process performs it meanwhile, even while there is no
    /// holder.
    turn: Arc<OnceLock<FileLock>>,
    waits: Option<AbortHandle>,
}

impl PerformedBuilds {
    pub(in crate::commands) fn new(project: &LocalProject) -> Self {
        Self {
            turns: TaskLocks::new(project.runs_folder()),
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

    /// Releases the turns of builds that have ended.
    pub(in crate::commands) fn release_ended(&mut self, open: &[BuildId]) {
        for (_, performed) in self.builds.iter_mut().filter(|(build, _)| !open.contains(build)) {
            performed.turn = Arc::default();
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
        post: &ProjectConnection,
    ) -> Result<(), CliError> {
        let waited_for = self.builds.extract_if(.., |_, performed| performed.turn.get().is_none());
        waited_for.for_each(|(_, performed)| performed.end());
        for (build, performed) in &self.builds {
            let world = Arc::new(performed.world.clone());
            if !post.try_attach_performer(PerformScope::Build(*build), world).await? {
                // Another process has taken the build.
                performed.world.shut_down();
            }
        }
        self.deciders.set_decider(post.decider());
        Ok(())
    }

    /// Returns whether a build is performed here.
    pub(super) fn is_performed(&mut self, build: BuildId) -> Result<bool, CliError> {
        let Some(performed) = self.builds.get(&build) else { return Ok(false) };
        // A build that had ended and goes on.
        if performed.turn.get().is_none()
            && performed.waits.is_none()
            && let Some(turn) = self.turns.try_lock_build(build)?
        {
            let _ = performed.turn.set(turn);
        }
        Ok(true)
    }

    /// Performs a build from now on, unless another process does.
    pub(super) async fn begin_build(
        &mut self,
        post: &ProjectConnection,
        build: BuildId,
        world: BuildPerformer,
        others: OtherPerformers,
    ) -> Result<(), CliError> {
        let scope = PerformScope::Build(build);
        let turn = Arc::new(OnceLock::new());
        if let Some(free) = self.turns.try_lock_build(build)?
            && post.try_attach_performer(scope.clone(), Arc::new(world.clone())).await?
        {
            let _ = turn.set(free);
            self.builds.insert(build, PerformedBuild { world, turn, waits: None });
            return Ok(());
        }
        match others {
            OtherPerformers::WaitedFor => {
                let mut performed = PerformedBuild { world, turn, waits: None };
                performed.wait_for_turn(self.turns.clone(), post.clone(), build);
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
        let turns = self.turns.clone();
        let left = self.left_notice();
        let waits = tokio::spawn(async move {
            // If the turn cannot be waited for, the next lookup finds the build.
            if turns.lock_build(build).await.is_ok() {
                left.notify_one();
            }
        });
        self.left_alone.insert(build, waits.abort_handle());
    }
}

impl PerformedBuild {
    /// Takes up a build when its turn comes. A follower of the build sees its end in any case, and notices
    /// by itself when the decider is gone.
    fn wait_for_turn(&mut self, turns: TaskLocks, post: ProjectConnection, build: BuildId) {
        let world = Arc::new(self.world.clone());
        let turn = Arc::clone(&self.turn);
        let waits = tokio::spawn(async move {
            if let Ok(taken) = turns.lock_build(build).await {
                let _ = turn.set(taken);
            }
            let _ = post.attach_performer(PerformScope::Build(build), world).await;
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
