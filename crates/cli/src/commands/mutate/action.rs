//! The action of the command line, and the command that performs it.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectOutcome, TaskId};
use unstuck_core::fault::Fault;
use unstuck_core::plan::{
    Call, CommandCall, MutationKind, MutationSpec, ProbeCommand, render_command_line,
};
use unstuck_core::time::Span;
use unstuck_runner::{IDEMPOTENCY_KEY, LedgerAction, ResultFiles, action_lock_path};
use unstuck_world::commands::{CommandPolicy, CommandRules};
use unstuck_world::connector::command;
use unstuck_world::process::guard::ForkedGuard;
use unstuck_world::process::{
    GuardCommand, IdleGuard, Launch, Process, ProcessDeadlines, ProcessEnd, ProcessInput,
    ProcessOutput, ProcessResult, StartFailure, TerminalSession,
};
use unstuck_world::tool::{Declaration, DeclarationPolicy, IrreversibleAction};

use super::{MutateArgs, MutateKeyScope};
use crate::error::{CliError, ScriptError, internal_fault};
use crate::project::{self, LocalProject, project_redactor};
use crate::render::words;

const KEY_BYTES_MAX: usize = 200;
/// Default time after which the effect of a command without a timeout no longer appears.
const SETTLE: Span = Span::from_mins(1);
const PROBE_MAX: Span = Span::from_mins(1);

/// Maximum time to wait for the beginning or the end of standard input.
const INPUT_MAX: Duration = Duration::from_secs(10);

/// Maximum length of a command line that is shown.
const LINE_COLUMNS_MAX: usize = 500;

/// The refusal for a declared command with a secret: it is stored as it is until the checks have passed.
const SPELLS_A_SECRET: &str = "its command spells a secret out that would be kept; quote the variable, \
    so that it is put in when the command runs";

/// Returns the action. With `alone` it belongs to no run, so its key always counts for the whole project.
pub(super) fn action_spec(
    args: &MutateArgs,
    alone: bool,
    project: &LocalProject,
) -> Result<MutationSpec, CliError> {
    let key = args.key.trim();
    let unfit = |why: &'static str| CliError::from(ScriptError::UnfitKey { why });
    if key.is_empty() {
        return Err(unfit("it is empty"));
    }
    if key.len() > KEY_BYTES_MAX || key.contains(char::is_control) {
        return Err(unfit("it is too long, or holds more than plain text"));
    }
    let kept = format!("{key}\n{}", args.probe.as_deref().unwrap_or_default());
    if *project_redactor(project).redact_text(&kept) != *kept {
        return Err(unfit("it, or its probe, spells a secret out that would be kept"));
    }
    let look_up = args.probe.as_ref().map(|probe| ProbeCommand {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), probe.clone()],
        timeout_ms: args.timeout.map_or(PROBE_MAX, |timeout| timeout.min(PROBE_MAX)),
    });
    Ok(MutationSpec {
        key: key.to_owned(),
        kind: MutationKind::Command,
        arguments: command_digest(&args.command),
        probe: look_up.is_some(),
        look_up,
        line: Some(redacted_command_line(args, project)),
        settle_ms: args.settle.or(args.timeout).unwrap_or(SETTLE),
        permanent: alone || args.scope != Some(MutateKeyScope::Firing),
        ..MutationSpec::default()
    })
}

/// Returns the action as an agent's task declares it, a shell line that runs after the checks in the
/// agent's current folder, with the resources that such actions may use.
pub(super) fn declared_action(
    args: &MutateArgs,
    spec: &MutationSpec,
    project: &LocalProject,
) -> Result<(MutationSpec, DeclarationPolicy), CliError> {
    let words: Vec<String> =
        args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((program, arguments)) = words.split_first() else {
        return Err(ScriptError::NoCommand.into());
    };
    let line = render_command_line(program, arguments);
    if *project_redactor(project).redact_text(&line) != *line {
        return Err(ScriptError::UnfitKey { why: SPELLS_A_SECRET }.into());
    }
    let command = match folder_in_worktree() {
        Some(folder) => format!("cd {} && {line}", render_command_line(&folder, &[])),
        None => line,
    };
    let timeout_seconds = args.timeout.map(|timeout| timeout.as_millis().div_ceil(1_000));
    let declaration = Declaration {
        key: spec.key.clone(),
        action: IrreversibleAction::Command { command, secrets: Vec::new(), timeout_seconds },
        probe: args.probe.clone(),
        after: None,
    };
    let declarable = project::declarable_resources()?;
    let commands = CommandPolicy::new(&CommandRules::default());
    let declared = declarable.build_spec(&declaration, &commands).map_err(CliError::Fault)?;
    Ok((MutationSpec { permanent: spec.permanent, ..declared }, declarable))
}

/// Returns whether something comes over standard input, or may still come.
pub(super) async fn has_standard_input() -> bool {
    if io::stdin().is_terminal() {
        return false;
    }
    let (say, heard) = oneshot::channel();
    // The thread is never joined, because the read may block as long as the writer is silent.
    let reader = thread::Builder::new().name("unstuck-input".to_owned()).spawn(move || {
        let read = io::stdin().read(&mut [0]);
        // The receiver has waited long enough.
        let _ = say.send(read.is_ok_and(|read| read > 0));
    });
    let heard = async { reader.is_ok() && heard.await.unwrap_or_default() };
    timeout(INPUT_MAX, heard).await.unwrap_or(true)
}

/// Returns the current folder relative to the root of its worktree; `None` at the root.
fn folder_in_worktree() -> Option<String> {
    let here = std::env::current_dir().ok()?;
    let root = here.ancestors().find(|folder| folder.join(".git").exists())?;
    let folder = here.strip_prefix(root).ok()?.to_str()?;
    (!folder.is_empty()).then(|| folder.to_owned())
}

/// Returns the command line that is shown if the outcome is unknown, with secrets redacted.
fn redacted_command_line(args: &MutateArgs, project: &LocalProject) -> String {
    let words: Vec<String> =
        args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((program, arguments)) = words.split_first() else { return String::new() };
    let line = render_command_line(program, arguments);
    words::cut_to_columns(&project_redactor(project).redact_text(&line), LINE_COLUMNS_MAX)
}

/// Returns a digest that identifies the command; the command itself is not stored.
fn command_digest(command: &[OsString]) -> u64 {
    let mut words = command.iter().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let arguments = words.collect();
    Call::Command(CommandCall { program, arguments, ..CommandCall::default() }).digest()
}

const SOURCE: &str = "mutate";
/// Offset of a shell's exit code for a program that a signal ended.
const BY_SIGNAL: u8 = 128;
/// The exit code for a timeout.
const TOOK_TOO_LONG: u8 = 124;

pub(super) struct CommandAction {
    launch: Launch,
    /// A guard that starts while the intent is being recorded.
    ahead: Mutex<Option<IdleGuard>>,
    key: String,
    task: OnceLock<TaskId>,
    project: LocalProject,
    not_done: Vec<u8>,
    ran: Mutex<ActionRun>,
    is_running: AtomicBool,
}

#[derive(Clone, Default)]
struct ActionRun {
    has_begun: bool,
    status: Option<u8>,
    /// The time limit, if the command was ended because of it.
    limit: Option<Duration>,
    written: Vec<u8>,
    failed: Option<Arc<Fault>>,
}

impl CommandAction {
    pub(super) fn new(
        args: &MutateArgs,
        project: &LocalProject,
        dir: Option<&Path>,
        forked: Option<ForkedGuard>,
    ) -> Result<Self, CliError> {
        let guard = project::own_guard()?;
        let (program, arguments) = args.command.split_first().ok_or(ScriptError::NoCommand)?;
        let here = dir.unwrap_or(Path::new("."));
        let directory = std::path::absolute(here).map_err(CliError::unusable(here))?;
        Ok(Self {
            ahead: Mutex::new(IdleGuard::start_ahead(forked, &guard)),
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
    pub(super) fn set_task(&self, task: TaskId) {
        self.task.get_or_init(|| task);
    }

    pub(super) const fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Returns the exit code, if the command was run here.
    pub(super) fn exit_status(&self) -> Option<u8> {
        self.last_run().status
    }

    pub(super) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Acquire)
    }

    /// Describes how the command ended, if it ran here and did not succeed.
    pub(super) fn describe_end(&self) -> Option<String> {
        let ActionRun { has_begun, status, limit, .. } = self.last_run();
        let status = status.filter(|_| has_begun)?;
        Some(match limit {
            Some(limit) => format!("the command took longer than {limit:?} and was ended"),
            None => format!("the command ended with {status}"),
        })
    }

    /// Returns the output, if the command was run here and failed.
    pub(super) fn output(&self) -> Vec<u8> {
        self.last_run().written
    }

    fn last_run(&self) -> ActionRun {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn start_command(&self, idempotency_key: &str) -> Result<Process, Fault> {
        let mut launch = self.launch.clone();
        let no_task = || internal_fault(SOURCE, "the task of the action is not known");
        let task = self.task.get().copied().ok_or_else(no_task)?;
        launch.lock = action_lock_path(&self.project.runs_folder(), task, &self.key);
        launch.environment.push((IDEMPOTENCY_KEY.into(), Some(idempotency_key.into())));
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner).take();
        match ahead.and_then(IdleGuard::if_alive) {
            Some(guard) => launch.start_under(guard).await,
            None => launch.start().await,
        }
    }

    /// Determines the outcome of the action: exit code 0 means that it happened; after any other it may
    /// have happened, unless [`command::did_not_happen`] proves otherwise.
    fn judge_outcome(&self, ended: &ProcessResult, written: Option<Vec<u8>>) -> EffectOutcome {
        if let (ProcessEnd::Exited(0), Some(written)) = (ended.how, &written) {
            // The action happened; a result that cannot be stored is no reason to repeat it.
            let kept = ResultFiles::new(self.project.results_folder()).keep_result(written);
            return EffectOutcome::Applied { result: kept.unwrap_or_default() };
        }
        let fault = Arc::new(self.to_fault(ended, written.as_deref()));
        let status = status(ended.how);
        let limit = match ended.how {
            ProcessEnd::TimedOut { limit, .. } => Some(limit),
            _ => None,
        };
        let has_begun = !matches!(ended.how, ProcessEnd::NotStarted(_));
        let failed = Some(Arc::clone(&fault));
        let written = written.unwrap_or_default();
        *self.ran.lock().unwrap_or_else(PoisonError::into_inner) =
            ActionRun { has_begun, status, limit, written, failed };
        if command::did_not_happen(ended.how, &self.not_done) {
            EffectOutcome::Failed { fault, approach: None }
        } else {
            EffectOutcome::Unknown { fault }
        }
    }

    fn to_fault(&self, ended: &ProcessResult, written: Option<&[u8]>) -> Fault {
        let program = self.launch.program.to_string_lossy();
        let mut fault = command::command_fault(ended, written, SOURCE, &program);
        fault.message = project_redactor(&self.project).redact_text(&fault.message).into_owned();
        fault
    }
}

#[async_trait]
impl LedgerAction for CommandAction {
    async fn perform_call(&self, idempotency_key: &str) -> EffectOutcome {
        // The command was run, and a probe found that the action did not happen. The caller decides whether
        // to try again.
        if let Some(fault) = self.last_run().failed {
            return EffectOutcome::Failed { fault, approach: None };
        }
        self.is_running.store(true, Ordering::Release);
        let outcome = match self.start_command(idempotency_key).await {
            Ok(process) => {
                let (ended, written) =
                    command::wait_for_end(process, &CancellationToken::new()).await;
                self.judge_outcome(&ended, written)
            }
            Err(fault) => EffectOutcome::Failed { fault: Arc::new(fault), approach: None },
        };
        self.is_running.store(false, Ordering::Release);
        outcome
    }
}

fn launch(
    guard: GuardCommand,
    directory: &Path,
    program: &OsString,
    arguments: &[OsString],
    args: &MutateArgs,
) -> Launch {
    let mut launch = Launch::new(guard, "", directory, program);
    launch.arguments = arguments.to_vec();
    launch.input = ProcessInput::Inherit;
    // Standard output is the result and is captured; standard error is passed through.
    launch.output = ProcessOutput::PassThrough;
    launch.session = TerminalSession::Caller;
    launch.deadlines =
        ProcessDeadlines { total: args.timeout.map(Into::into), ..ProcessDeadlines::default() };
    launch
}

fn status(how: ProcessEnd) -> Option<u8> {
    match how {
        ProcessEnd::Exited(status) => u8::try_from(status).ok(),
        ProcessEnd::Signalled(signal) => Some(BY_SIGNAL.saturating_add(u8::try_from(signal).ok()?)),
        ProcessEnd::TimedOut { .. } => Some(TOOK_TOO_LONG),
        // The exit codes of a shell.
        ProcessEnd::NotStarted(StartFailure::NotFound) => Some(127),
        ProcessEnd::NotStarted(_) => Some(126),
        ProcessEnd::Stopped | ProcessEnd::BeyondLimit(_) | ProcessEnd::Lost { .. } => None,
    }
}
