//! The worker of a script in this process, regardless of the holder.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectId, EffectKind, EffectOutcome, TaskId};
use unstuck_world::process::IdleGuard;

use super::perform::ScriptContext;
use super::script::ScriptCommand;
use crate::effects::{
    EffectRequest, EffectResult, Performer, RunLocks, RunningEffects, TaskLocks, lock_unpoisoned,
};
use crate::jobs::JobOptions;
use crate::ledger::sender_gone_fault;
use crate::repair::ScriptRepairer;

/// The worker of a script. Clones share their state.
#[derive(Clone, Debug)]
pub struct ScriptPerformer(Arc<ScriptContext>);

impl ScriptPerformer {
    /// Creates the worker of `script`, which runs the first time under the guard `ahead`, if there
    /// is one.
    pub fn new(script: ScriptCommand, ahead: Option<IdleGuard>) -> Self {
        Self::with_options(script, ahead, JobOptions::default())
    }

    /// Creates the worker of a job that is defined in the settings.
    pub fn with_options(script: ScriptCommand, ahead: Option<IdleGuard>, care: JobOptions) -> Self {
        Self(Arc::new(ScriptContext {
            care,
            runs: RunLocks::new(script.runs.clone()),
            turns: TaskLocks::new(script.runs.clone()),
            script,
            ahead: Mutex::new(ahead),
            under_way: RunningEffects::default(),
            last_status: Mutex::default(),
            has_begun: AtomicBool::new(false),
            turn: Mutex::default(),
            repairer: Mutex::default(),
        }))
    }

    /// Sets the repairer of the script. Without one it is never repaired.
    pub fn repair_with(&self, repairer: ScriptRepairer) {
        *lock_unpoisoned(&self.0.repairer) = Some(Arc::new(repairer));
    }

    /// Takes the turn at a task for as long as this lives, and returns whether it has it or another
    /// living process does. Performing without the turn may end the work of another process.
    pub fn try_lock_task(&self, task: TaskId) -> io::Result<bool> {
        let mut turn = lock_unpoisoned(&self.0.turn);
        if turn.is_none() {
            *turn = self.0.turns.try_lock_task(task)?;
        }
        Ok(turn.is_some())
    }

    /// Takes the turn at a task, and waits while another process has it.
    pub async fn lock_task(&self, task: TaskId) -> io::Result<()> {
        let taken = self.0.turns.lock_task(task).await?;
        *lock_unpoisoned(&self.0.turn) = Some(taken);
        Ok(())
    }

    /// Returns whether the command was ever started here.
    pub fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Acquire)
    }

    /// Returns the command's last exit code; `None` if it did not end by itself.
    pub fn last_status(&self) -> Option<i32> {
        *lock_unpoisoned(&self.0.last_status)
    }

    /// Stops the running effects, and returns when they are gone.
    pub async fn stop_effects(&self) {
        self.0.under_way.stop_all().await;
    }

    /// Starts the command, or its repair, unless it is running already.
    async fn execute_script(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        self.0.has_begun.store(true, Ordering::Release);
        let effect = order.effect.clone();
        let world = self.clone();
        let work = |stop: CancellationToken| async move {
            match order.effect.what {
                EffectKind::Repair { propose } => {
                    world.0.repair_script(&order, propose, &stop).await
                }
                _ => world.0.run_in_turn(&order, &stop).await,
            }
        };
        self.0.under_way.perform_or_join(&effect, &stop, work).await
    }
}

#[async_trait]
impl Performer for ScriptPerformer {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        match order.effect.what {
            EffectKind::Execute { .. } | EffectKind::Repair { .. } => {
                self.execute_script(order, stop).await
            }
            EffectKind::Probe { .. } => self
                .0
                .script
                .action_prober()
                .probe_action(&order, &stop)
                .await
                .map(EffectResult::from),
            // The process that was about to send the action is gone, and may have sent it.
            EffectKind::Perform { .. } => {
                Some(EffectOutcome::Unknown { fault: sender_gone_fault() }.into())
            }
            _ => Some(EffectOutcome::Done.into()),
        }
    }

    fn running_effects(&self) -> Vec<EffectId> {
        self.0.under_way.effect_ids()
    }

    async fn reap_leftovers(&self, tasks: &[TaskId]) {
        let never = CancellationToken::new();
        for task in tasks {
            self.0.runs.reap_task(*task, &never).await;
        }
    }
}
