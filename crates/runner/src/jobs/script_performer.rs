//! The worker of a script in this process, regardless of the holder: it runs the script under the
//! guard, has it repaired, and reports the result.

use std::fs;
use std::io::{self, BufRead as _, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Effect, EffectId, EffectKind, EffectOutcome, TaskId};
use unstuck_core::fault::{CommandEnd, Fault, Kind, Missing, REFUSED_ACTION, text_rules};
use unstuck_core::policy::Amount;
use unstuck_core::text::{QUESTION_CHARS_MAX, quote_words};
use unstuck_world::process::{
    FileLock, IdleGuard, Launch, Process, ProcessEnd, ProcessResult, StartFailure, derive_fault,
};

use super::job_options::{self, JobOptions};
use super::script::ScriptCommand;
use crate::effects::{
    EffectRequest, EffectResult, Performer, RunLocks, RunningEffects, TaskLocks, failed_outcome,
    lock_unpoisoned, redact_fault, remove_if_exists,
};
use crate::ledger::sender_gone_fault;
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
            lost_output: Mutex::default(),
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

    /// Returns why the command's output could not be passed on when it last ran.
    pub fn lost_output(&self) -> Option<String> {
        lock_unpoisoned(&self.0.lost_output).clone()
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
        let performer = self.clone();
        let work = |stop: CancellationToken| async move {
            match order.effect.what {
                EffectKind::Repair { propose } => {
                    performer.0.repair_script(&order, propose, &stop).await
                }
                _ => performer.0.run_in_turn(&order, &stop).await,
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
        self.0.runs.reap_tasks(tasks).await;
    }
}

/// The state that all clones of a script share.
#[derive(Debug)]
struct ScriptContext {
    script: ScriptCommand,
    /// The guard that was started ahead, for the first execution, which a caller waits for.
    ahead: Mutex<Option<IdleGuard>>,
    runs: RunLocks,
    turns: TaskLocks,
    under_way: RunningEffects,
    last_status: Mutex<Option<i32>>,
    lost_output: Mutex<Option<String>>,
    has_begun: AtomicBool,
    turn: Mutex<Option<FileLock>>,
    repairer: Mutex<Option<Arc<ScriptRepairer>>>,
    care: JobOptions,
}

impl ScriptContext {
    /// Runs the script. An unwatched job may be performed by other processes as well: one at a
    /// time.
    async fn run_in_turn(
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
            Err(fault) => Some(failed_outcome(fault).into()),
        };
        // The process tree is gone, so its lock is not needed any more. The removal is not awaited,
        // because the file system may take milliseconds for it.
        tokio::task::spawn_blocking(move || remove_if_exists(&path));
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
        let passed = job_options::run_login_check(launch, command, stop).await;
        remove_if_exists(&lock);
        match passed {
            _ if stop.is_cancelled() => Some(None),
            Ok(true) => None,
            Ok(false) => Some(Some(job_options::repeat_failure(fault, command))),
            Err(fault) => Some(Some(failed_outcome(redact_fault(&self.script.redactor, &fault)))),
        }
    }

    /// Lets an agent repair the script. Without a repairer the operator has taken care of it.
    async fn repair_script(
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
        remove_if_exists(&self.runs.lock_path(order.effect.task, order.effect.run));
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
        lock_unpoisoned(&self.lost_output).clone_from(&ended.lost_output);
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
        let fault = match ended.how {
            ProcessEnd::NotStarted(StartFailure::DirectoryMissing) => {
                Some(missing_folder_fault(source, &self.script.directory))
            }
            ProcessEnd::NotStarted(StartFailure::NotFound | StartFailure::AccessDenied) => {
                unusable_program_fault(source, &self.script)
                    .or_else(|| derive_fault(ended, source, &command))
            }
            ProcessEnd::Exited(STATUS_REFUSED) => refused_action_fault(ended, &command)
                .or_else(|| derive_fault(ended, source, &command)),
            _ => derive_fault(ended, source, &command).map(|fault| {
                let module = missing_module_fault(ended, &fault, &self.script.directory);
                module.unwrap_or(fault)
            }),
        };
        let outcome = match fault {
            None => EffectOutcome::Done,
            Some(fault) => failed_outcome(redact_fault(&self.script.redactor, &fault)),
        };
        let time_ms = u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX);
        let command = (outcome == EffectOutcome::Done)
            .then(|| self.script.redactor.redact_text(&command).into_owned());
        Some(EffectResult { outcome, spent: Amount { time_ms, ..Amount::ZERO }, command })
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

/// Returns the fault of a script whose folder does not exist.
fn missing_folder_fault(source: &str, folder: &Path) -> Fault {
    let folder = folder.display();
    let message = format!(
        "the folder {folder} does not exist, in which the script is to start (`directory` in its \
         [[job]], if that sets one)"
    );
    Fault::precondition_missing(source, message, Missing { what: format!("the folder {folder}") })
}

/// Returns the fault of a program that is a folder, or a script whose interpreter is not there.
fn unusable_program_fault(source: &str, script: &ScriptCommand) -> Option<Fault> {
    let program = script.program.display();
    let path = script.directory.join(&script.program);
    if !script.program.as_os_str().as_bytes().contains(&b'/') {
        return None;
    }
    let what = if path.is_dir() {
        format!("a program to run: {program} is a folder")
    } else if !path.is_file() {
        return None;
    } else {
        let mut first = String::new();
        let file = fs::File::open(&path).ok()?;
        io::BufReader::new(file.take(LINE_BYTES_MAX)).read_line(&mut first).ok()?;
        let interpreter = first.strip_prefix("#!")?.split_whitespace().next()?;
        if Path::new(interpreter).exists() {
            return None;
        }
        format!("{interpreter}, with which {program} begins")
    };
    let message = format!("{program} could not be started: there is no {what}");
    Some(Fault::precondition_missing(source, message, Missing { what }))
}

/// Maximum length of the first line of a script that is read, in bytes.
const LINE_BYTES_MAX: u64 = 1_024;

/// Returns whether the command ended because the reader of this process's output has closed it.
fn was_cut_off_by_reader(ended: &ProcessResult) -> bool {
    let is_told =
        matches!(ended.how, ProcessEnd::Signalled(SIGPIPE) | ProcessEnd::Exited(STATUS_SIGPIPE));
    let says = || {
        let said = ended.output.to_bytes();
        String::from_utf8_lossy(&said).to_lowercase().contains("broken pipe")
    };
    let failed = !matches!(ended.how, ProcessEnd::Exited(0));
    let stdout = io::stdout();
    let mut ours = [PollFd::new(&stdout, PollFlags::OUT)];
    (is_told || failed && says())
        && poll(&mut ours, Some(&Timespec::default())).is_ok()
        && ours[0].revents().contains(PollFlags::ERR)
}

async fn is_asked_to_stop(stop: &CancellationToken) -> bool {
    tokio::time::timeout(CTRL_C_GRACE, stop.cancelled()).await.is_ok()
}

/// Returns the fault of a script that needs a module of Python which is not installed. No repair of the
/// script installs it. A module of the script's own folder is part of the script.
fn missing_module_fault(ended: &ProcessResult, fault: &Fault, folder: &Path) -> Option<Fault> {
    let (Kind::LogicError(_), ProcessEnd::Exited(_)) = (&fault.kind, ended.how) else {
        return None;
    };
    let module = text_rules::find_missing_import(&ended.output.to_bytes())?;
    let module = module.split('.').next()?;
    let is_own = folder.join(module).exists() || folder.join(format!("{module}.py")).exists();
    let missing = format!("the Python module {module}");
    let message = format!("{missing} is not there\n{}", fault.message);
    let missing = Missing { what: missing };
    (!is_own).then(|| Fault::precondition_missing(fault.source.clone(), message, missing))
}

/// The exit code of `unstuck mutate` for an action that is not performed.
const STATUS_REFUSED: i32 = 121;
/// The beginning of the lines that `unstuck mutate` writes.
const OWN_LINE: &str = "unstuck: ";

/// Returns the fault of a script that ended because an action of it was refused. It is no error of the
/// script, so that no agent finds a way around the refusal.
fn refused_action_fault(ended: &ProcessResult, command: &str) -> Option<Fault> {
    let output = ended.output.to_bytes();
    let output = String::from_utf8_lossy(&output);
    let refusal = output.lines().rev().find_map(|line| line.strip_prefix(OWN_LINE))?;
    let quote = |words: &str| quote_words(words, QUESTION_CHARS_MAX).unwrap_or_default();
    let cause = format!(
        "{} ended with 121, because an action of it was refused: {}. Nothing was done for it.",
        quote(command),
        quote(refusal.trim_end_matches('.'))
    );
    let end = CommandEnd {
        command: Some(command.to_owned()),
        exit: Some(STATUS_REFUSED),
        output: String::new(),
    };
    let missing = Missing { what: refusal.to_owned() };
    let fault = Fault::precondition_missing(REFUSED_ACTION, output.trim_end(), missing);
    Some(fault.with_cause(cause).with_command_end(end))
}
