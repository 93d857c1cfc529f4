//! The command of an action.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Outcome, TaskId};
use unstuck_core::fault::Fault;
use unstuck_runner::{Action, IDEMPOTENCY_KEY, Results, action_lock};
use unstuck_world::connector::command;
use unstuck_world::process::guard::Forked;
use unstuck_world::process::{
    Deadlines, Ended, Guard, How, Input, Launch, NotStarted, Output, Process, Session, Waiting,
};

use crate::args::Mutate;
use crate::build::redactor;
use crate::error::{Error, ScriptError};
use crate::project::{self, Project};

/// The source of its faults.
const SOURCE: &str = "mutate";
/// Offset of a shell's exit code for a program that a signal ended.
const BY_SIGNAL: u8 = 128;
/// The exit code for a timeout.
const TOOK_TOO_LONG: u8 = 124;

/// The command of an action.
pub(super) struct CommandAction {
    launch: Launch,
    /// A guard that starts while the intent is being recorded.
    ahead: Mutex<Option<Waiting>>,
    key: String,
    task: OnceLock<TaskId>,
    project: Project,
    not_done: Vec<u8>,
    ran: Mutex<Ran>,
    is_running: AtomicBool,
}

/// The result of the command.
#[derive(Clone, Default)]
struct Ran {
    has_begun: bool,
    status: Option<u8>,
    written: Vec<u8>,
    failed: Option<Arc<Fault>>,
}

impl CommandAction {
    pub(super) fn new(
        args: &Mutate,
        project: &Project,
        dir: Option<&Path>,
        forked: Option<Forked>,
    ) -> Result<Self, Error> {
        let guard = project::own_guard()?;
        let (program, arguments) = args.command.split_first().ok_or(ScriptError::NoCommand)?;
        let here = dir.unwrap_or(Path::new("."));
        let directory = std::path::absolute(here)
            .map_err(|source| Error::Folder { place: here.display().to_string(), source })?;
        Ok(Self {
            ahead: Mutex::new(Waiting::ahead(forked, &guard)),
            launch: launch(guard, &directory, program, arguments, args),
            key: args.key.trim().to_owned(),
            task: OnceLock::new(),
            project: project.clone(),
            not_done: args.not_done.clone(),
            ran: Mutex::default(),
            is_running: AtomicBool::new(false),
        })
    }

    /// Sets the task of the action, which is known before it is performed.
    pub(super) fn belongs_to(&self, task: TaskId) {
        self.task.get_or_init(|| task);
    }

    /// Returns the launch, with the directory and the guard.
    pub(super) const fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Returns the exit code, if the command was run here.
    pub(super) fn status(&self) -> Option<u8> {
        self.ran().status
    }

    /// Returns whether the command is running now.
    pub(super) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Acquire)
    }

    /// Returns whether the command ran here, and could report its failure itself.
    pub(super) fn has_run(&self) -> bool {
        self.ran().has_begun
    }

    /// Returns the output, if the command was run here and failed.
    pub(super) fn written(&self) -> Vec<u8> {
        self.ran().written
    }

    fn ran(&self) -> Ran {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn start(&self, idempotency_key: &str) -> Result<Process, Fault> {
        let mut launch = self.launch.clone();
        let task = self.task.get().copied().unwrap_or_default();
        launch.lock = action_lock(&self.project.runs(), task, &self.key);
        launch.environment.push((IDEMPOTENCY_KEY.into(), Some(idempotency_key.into())));
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner).take();
        match ahead.and_then(Waiting::if_alive) {
            Some(guard) => launch.start_under(guard).await,
            None => launch.start().await,
        }
    }

    /// Determines the outcome of the action: exit code 0 means that it happened; after any other it may
    /// have happened, unless [`command::did_not_happen`] proves otherwise.
    fn judge(&self, ended: &Ended, written: Option<Vec<u8>>) -> Outcome {
        if let (How::Exited(0), Some(written)) = (ended.how, &written) {
            // The action happened; a result that cannot be stored is no reason to repeat it.
            let kept = Results::new(self.project.results()).keep(written);
            return Outcome::Applied { result: kept.unwrap_or_default() };
        }
        let fault = Arc::new(self.fault(ended, written.as_deref()));
        let status = status(ended.how);
        let has_begun = !matches!(ended.how, How::NotStarted(_));
        let failed = Some(Arc::clone(&fault));
        let written = written.unwrap_or_default();
        *self.ran.lock().unwrap_or_else(PoisonError::into_inner) =
            Ran { has_begun, status, written, failed };
        if command::did_not_happen(ended.how, &self.not_done) {
            Outcome::Failed { fault, approach: None }
        } else {
            Outcome::Unknown { fault }
        }
    }

    fn fault(&self, ended: &Ended, written: Option<&[u8]>) -> Fault {
        let program = self.launch.program.to_string_lossy();
        let mut fault = command::fault(ended, written, SOURCE, &program);
        fault.message = redactor(&self.project).text(&fault.message).into_owned();
        fault
    }
}

#[async_trait]
impl Action for CommandAction {
    async fn call(&self, idempotency_key: &str) -> Outcome {
        // The command was run, and a probe found that the action did not happen. The caller decides whether
        // to try again.
        if let Some(fault) = self.ran().failed {
            return Outcome::Failed { fault, approach: None };
        }
        self.is_running.store(true, Ordering::Release);
        let outcome = match self.start(idempotency_key).await {
            Ok(process) => {
                let (ended, written) = command::finish(process, &CancellationToken::new()).await;
                self.judge(&ended, written)
            }
            Err(fault) => Outcome::Failed { fault: Arc::new(fault), approach: None },
        };
        self.is_running.store(false, Ordering::Release);
        outcome
    }
}

fn launch(
    guard: Guard,
    directory: &Path,
    program: &OsString,
    arguments: &[OsString],
    args: &Mutate,
) -> Launch {
    let mut launch = Launch::new(guard, "", directory, program);
    launch.arguments = arguments.to_vec();
    launch.input = Input::Inherit;
    // Standard output is the result and is captured; standard error is passed through.
    launch.output = Output::PassThrough;
    launch.session = Session::Caller;
    launch.deadlines = Deadlines { total: args.timeout.map(Into::into), ..Deadlines::default() };
    launch
}

fn status(how: How) -> Option<u8> {
    match how {
        How::Exited(status) => u8::try_from(status).ok(),
        How::Signalled(signal) => Some(BY_SIGNAL.saturating_add(u8::try_from(signal).ok()?)),
        How::TimedOut { .. } => Some(TOOK_TOO_LONG),
        // The exit codes of a shell.
        How::NotStarted(NotStarted::NotFound) => Some(127),
        How::NotStarted(_) => Some(126),
        How::Stopped | How::TooMany { .. } | How::Lost { .. } => None,
    }
}
