//! The worker of a script in this process, regardless of the holder.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectId, Outcome, TaskId, Work};
use unstuck_world::process::Waiting;

use super::perform::Shared;
use super::script::Script;
use crate::jobs::Care;
use crate::ledger::sender_gone;
use crate::lock::lock;
use crate::repair::Repairer;
use crate::runs::Runs;
use crate::turn::Turns;
use crate::under_way::UnderWay;
use crate::world::{Order, Report, World};

/// The worker of a script. Clones share their state.
#[derive(Clone, Debug)]
pub struct ScriptWorld(Arc<Shared>);

impl ScriptWorld {
    /// Creates the worker of `script`, which runs the first time under the guard `ahead`, if there
    /// is one.
    pub fn new(script: Script, ahead: Option<Waiting>) -> Self {
        Self::caring(script, ahead, Care::default())
    }

    /// Creates the worker of a job that is defined in the settings.
    pub fn caring(script: Script, ahead: Option<Waiting>, care: Care) -> Self {
        Self(Arc::new(Shared {
            care,
            runs: Runs::new(script.runs.clone()),
            turns: Turns::new(script.runs.clone()),
            script,
            ahead: Mutex::new(ahead),
            under_way: UnderWay::default(),
            last_status: Mutex::default(),
            has_begun: AtomicBool::new(false),
            turn: Mutex::default(),
            repairer: Mutex::default(),
        }))
    }

    /// Sets the repairer of the script. Without one it is never repaired.
    pub fn repair_with(&self, repairer: Repairer) {
        *lock(&self.0.repairer) = Some(Arc::new(repairer));
    }

    /// Takes the turn at a task for as long as this lives, and returns whether it has it or another
    /// living process does. Performing without the turn may end the work of another process.
    pub fn try_take_turn(&self, task: TaskId) -> io::Result<bool> {
        let mut turn = lock(&self.0.turn);
        if turn.is_none() {
            *turn = self.0.turns.try_take(task)?;
        }
        Ok(turn.is_some())
    }

    /// Takes the turn at a task, and waits while another process has it.
    pub async fn take_turn(&self, task: TaskId) -> io::Result<()> {
        let taken = self.0.turns.take(task).await?;
        *lock(&self.0.turn) = Some(taken);
        Ok(())
    }

    /// Returns whether the command was ever started here.
    pub fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Acquire)
    }

    /// Returns the command's last exit code; `None` if it did not end by itself.
    pub fn last_status(&self) -> Option<i32> {
        *lock(&self.0.last_status)
    }

    /// Stops the running effects, and returns when they are gone.
    pub async fn end(&self) {
        self.0.under_way.end().await;
    }

    /// Starts the command, or its repair, unless it is running already.
    async fn execute(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        self.0.has_begun.store(true, Ordering::Release);
        let effect = order.effect.clone();
        let world = self.clone();
        let work = |stop: CancellationToken| async move {
            match order.effect.what {
                Work::Repair { propose } => world.0.repair(&order, propose, &stop).await,
                _ => world.0.run_in_turn(&order, &stop).await,
            }
        };
        self.0.under_way.perform(&effect, &stop, work).await
    }
}

#[async_trait]
impl World for ScriptWorld {
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        match order.effect.what {
            Work::Execute { .. } | Work::Repair { .. } => self.execute(order, stop).await,
            Work::Probe { .. } => {
                self.0.script.prober().look_up(&order, &stop).await.map(Report::from)
            }
            // The process that was about to send the action is gone, and may have sent it.
            Work::Perform { .. } => Some(Outcome::Unknown { fault: sender_gone() }.into()),
            _ => Some(Outcome::Done.into()),
        }
    }

    fn performing(&self) -> Vec<EffectId> {
        self.0.under_way.effects()
    }

    async fn clear(&self, tasks: &[TaskId]) {
        let never = CancellationToken::new();
        for task in tasks {
            self.0.runs.clear(*task, &never).await;
        }
    }
}
