//! The running of a script, its repair, and the report of the result.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Effect, EffectOutcome};
use unstuck_core::fault::Fault;
use unstuck_core::policy::Amount;
use unstuck_world::process::{
    FileLock, IdleGuard, Launch, Process, ProcessEnd, ProcessResult, derive_fault,
};

use super::script::ScriptCommand;
use crate::effects::{
    EffectRequest, EffectResult, RunLocks, RunningEffects, TaskLocks, lock_unpoisoned, redact_fault,
};
use crate::jobs::{JobOptions, repeat_failure, run_login_check};
use crate::repair::ScriptRepairer;

/// Time to check for a stop request: an operator's Ctrl-C reaches the command and this process at
/// the same time.
const CTRL_C_GRACE: Duration = Duration::from_millis(300);
/// The signal of Ctrl-C, and the exit code of a shell for it.
const SIGINT: i32 = 2;
const STATUS_SIGINT: i32 = 130;
/// The signal to a program whose reader is gone, and the exit code of a shell for it.
const SIGPIPE: i32 = 13;
const STATUS_SIGPIPE: i32 = 141;

/// The state that all clones of a script share.
#[derive(Debug)]
pub(super) struct ScriptContext {
    pub(super) script: ScriptCommand,
    /// The guard that was started ahead, for the first execution, which a caller waits for.
    pub(super) ahead: Mutex<Option<IdleGuard>>,
    pub(super) runs: RunLocks,
    pub(super) turns: TaskLocks,
    pub(super) under_way: RunningEffects,
    pub(super) last_status: Mutex<Option<i32>>,
    pub(super) has_begun: AtomicBool,
    pub(super) turn: Mutex<Option<FileLock>>,
    pub(super) repairer: Mutex<Option<Arc<ScriptRepairer>>>,
    pub(super) care: JobOptions,
}

impl ScriptContext {
    /// Runs the script. An unwatched job may be performed by other processes as well: one at a
    /// time.
    pub(super) async fn run_in_turn(
        &self,
        order: &EffectRequest,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        if self.care.logs.is_none() {
            return self.run_script(order, stop).await;
        }
        let turn = tokio::select! {
            turn = self.turns.lock_task(order.effect.task) => turn,
            () = stop.cancelled() => return None,
        };
        if let Err(error) = &turn {
            tracing::error!(%error, job = order.task.name, "the turn at a job cannot be had");
        }
        let report = self.run_script(order, stop).await;
        drop(turn);
        report
    }

    async fn run_script(
        &self,
        order: &EffectRequest,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        let path = self.runs.lock_path(order.effect.task, order.effect.run);
        let source = format!("exec:{}", order.task.name);
        // The process that ran it before may have been killed a moment ago.
        if !self.runs.reap_task(order.effect.task, stop).await {
            return None;
        }
        if let Some(outcome) = self.still_broken(order, stop).await {
            return outcome.map(EffectResult::from);
        }
        let report = match self.start_process(order, path.clone()).await {
            Ok(process) => {
                let stopper = process.stopper();
                let wait = process.wait();
                tokio::pin!(wait);
                let ended = tokio::select! {
                    ended = &mut wait => ended,
                    () = stop.cancelled() => {
                        stopper.stop();
                        wait.await
                    }
                };
                self.make_effect_result(&ended, &source, stop).await
            }
            Err(fault) => {
                Some(EffectOutcome::Failed { fault: Arc::new(fault), approach: None }.into())
            }
        };
        // The process tree is gone, so its lock is not needed any more. The removal is not awaited,
        // because the file system may take milliseconds for it.
        tokio::task::spawn_blocking(|| fs::remove_file(path));
        report
    }

    /// Returns the outcome if a fault that the operator says is fixed is not; the inner `None`
    /// means that it was stopped.
    async fn still_broken(
        &self,
        order: &EffectRequest,
        stop: &CancellationToken,
    ) -> Option<Option<EffectOutcome>> {
        let (Some(fault), Some(command)) = (&order.mended, &self.care.check) else { return None };
        let Effect { id, task, .. } = order.effect;
        // The name makes recovery end it with the task's other processes.
        let lock = self.script.runs.join(format!("{task}-{id}-check.lock"));
        let launch = Launch::new(self.script.guard.clone(), &lock, &self.script.directory, "");
        let passed = run_login_check(launch, command, stop).await;
        let _ = fs::remove_file(lock);
        match passed {
            _ if stop.is_cancelled() => Some(None),
            Ok(true) => None,
            Ok(false) => Some(Some(repeat_failure(fault))),
            Err(fault) => {
                let fault = Arc::new(redact_fault(&self.script.redactor, &fault));
                Some(Some(EffectOutcome::Failed { fault, approach: None }))
            }
        }
    }

    /// Lets an agent repair the script. Without a repairer the operator has taken care of it.
    pub(super) async fn repair_script(
        &self,
        order: &EffectRequest,
        only_propose: bool,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        let repairer = lock_unpoisoned(&self.repairer).clone();
        let Some(repairer) = repairer else { return Some(EffectOutcome::Done.into()) };
        // The process that repaired it before may have been killed a moment ago.
        if !self.runs.reap_task(order.effect.task, stop).await {
            return None;
        }
        let report = repairer.perform_repair(order, only_propose, stop).await;
        // The agent is gone, so its lock is not needed any more.
        let _ = fs::remove_file(self.runs.lock_path(order.effect.task, order.effect.run));
        report
    }

    async fn make_effect_result(
        &self,
        ended: &ProcessResult,
        source: &str,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        *lock_unpoisoned(&self.last_status) = match ended.how {
            ProcessEnd::Exited(status) => Some(status),
            ProcessEnd::Signalled(signal) => Some(128 + signal),
            _ => None,
        };
        let by_ctrl_c =
            matches!(ended.how, ProcessEnd::Signalled(SIGINT) | ProcessEnd::Exited(STATUS_SIGINT));
        if ended.how == ProcessEnd::Stopped || by_ctrl_c && is_asked_to_stop(stop).await {
            return None;
        }
        // A retry would write to the same closed pipe.
        if self.care.logs.is_none() && was_cut_off_by_reader(ended) {
            return Some(EffectOutcome::Done.into());
        }
        let command = match ended.how {
            ProcessEnd::NotStarted(_) => self.script.program.to_string_lossy().into_owned(),
            _ => self.script.command_line(),
        };
        let outcome = match derive_fault(ended, source, &command) {
            None => EffectOutcome::Done,
            Some(fault) => {
                let fault = Arc::new(redact_fault(&self.script.redactor, &fault));
                EffectOutcome::Failed { fault, approach: None }
            }
        };
        let time_ms = u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX);
        Some(EffectResult { outcome, spent: Amount { time_ms, ..Amount::ZERO } })
    }

    async fn start_process(
        &self,
        order: &EffectRequest,
        lock_path: PathBuf,
    ) -> Result<Process, Fault> {
        if self.care.logs.is_none() {
            self.script.input.begin_anew().await?;
        }
        let launch = self.script.make_launch(order, lock_path, self.care.logs.as_ref());
        // A guard that was killed while it waited does not prevent the start.
        let ahead = lock_unpoisoned(&self.ahead).take().and_then(IdleGuard::if_alive);
        match ahead {
            Some(guard) => launch.start_under(guard).await,
            None => launch.start().await,
        }
    }
}

/// Returns whether the command ended because the reader of this process's output has closed it.
fn was_cut_off_by_reader(ended: &ProcessResult) -> bool {
    let is_told =
        matches!(ended.how, ProcessEnd::Signalled(SIGPIPE) | ProcessEnd::Exited(STATUS_SIGPIPE));
    let says = || {
        let said = ended.output.to_bytes();
        String::from_utf8_lossy(&said).to_lowercase().contains("broken pipe")
    };
    let failed = !matches!(ended.how, ProcessEnd::Exited(0));
    let stdout = std::io::stdout();
    let mut ours = [PollFd::new(&stdout, PollFlags::OUT)];
    (is_told || failed && says())
        && poll(&mut ours, Some(&Timespec::default())).is_ok()
        && ours[0].revents().contains(PollFlags::ERR)
}

async fn is_asked_to_stop(stop: &CancellationToken) -> bool {
    tokio::time::timeout(CTRL_C_GRACE, stop.cancelled()).await.is_ok()
}
