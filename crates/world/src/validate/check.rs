//! A single check: its command, how often it runs, and the fault of a red one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use unstuck_core::failing::CheckFailures;
use unstuck_core::fault::text_rules::CheckStop;
use unstuck_core::fault::{CheckStage, Crash, Fault, Kind, Tool, Validation};

use super::network::lacks_network;
use super::starting::BrokenPart;
use crate::process::{DeniedPath, ProcessResult, last_lines};
use crate::workspace::{Shell, Workspace};

/// Maximum length of the output that a fault carries, in bytes: the end, in whole lines.
pub(super) const OUTPUT_BYTES_MAX: usize = 16 * 1_024;
/// A shell returns the signal that ended its command as an exit code above this.
pub(super) const SIGNAL_BASE: i32 = 128;

/// Exit code of `timeout` for a command that took too long.
const TOO_LONG: i32 = 124;
/// Signals that a program causes by its own fault: ILL, TRAP, ABRT, BUS, FPE, SEGV.
const OWN_FAULTS: [i32; 6] = [4, 5, 6, 7, 8, 11];

/// Exit code that is recorded for a check that ended green or could not run, and counts as red.
pub(super) const FAILED: i32 = 1;

#[derive(Debug)]
pub(super) enum CheckOutcome {
    Green(CheckPass),
    /// Red at first, and green when it was run again on the same files.
    Flaky,
    /// Red at first, and green without these files, which earlier runs had left in the worktree.
    GreenWithoutLeftovers(Vec<PathBuf>),
    /// The check itself is red.
    Red(Box<CheckFailure>),
    /// The check could not run, and says nothing about the change.
    Failed(Box<Fault>),
}

impl CheckOutcome {
    /// Returns the fault of a check that is not green.
    pub(super) fn into_result(self) -> Result<(), Fault> {
        match self {
            Self::Green(_) | Self::Flaky | Self::GreenWithoutLeftovers(_) => Ok(()),
            Self::Red(red) => Err(red.fault),
            Self::Failed(fault) => Err(*fault),
        }
    }
}

/// The data of a check that ended with exit code 0.
#[derive(Debug, Default)]
pub(super) struct CheckPass {
    /// Number of tests that the check reports to have run.
    pub(super) tests_run: Option<u64>,
    /// Tests that failed all the same.
    pub(super) failed: BTreeSet<String>,
    /// Tests of Go that it reports by name to have passed.
    pub(super) passed: BTreeSet<String>,
}

#[derive(Debug)]
pub(super) struct CheckFailure {
    pub(super) fault: Fault,
    pub(super) exit: i32,
    /// The end of the output.
    pub(super) output: String,
    pub(super) failures: CheckFailures,
    pub(super) tests_run: Option<u64>,
    /// The access that the sandbox refused.
    pub(super) denied: Option<DeniedPath>,
    /// The port of this machine on which a service listens that the sandbox kept it from.
    pub(super) closed_port: Option<u16>,
    /// Why the command did not run at all, as the program says that was to start it.
    pub(super) stop: Option<CheckStop>,
    /// The part of the project that kept the command from starting.
    pub(super) broken: Option<BrokenPart>,
}

impl CheckFailure {
    /// Returns whether the command did not run at all.
    pub(super) const fn did_not_run(&self) -> bool {
        self.stop.is_some() || self.broken.is_some()
    }
}

/// The n-th check of a gate, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct GateCheck<'a> {
    pub(super) gate: CheckStage,
    pub(super) n: usize,
    pub(super) command: &'a str,
    /// The commands of the gate that run before this one, and may make what it needs.
    pub(super) before: &'a [String],
}

impl GateCheck<'_> {
    /// Runs the check, and once more when it is red, without what its runs have left in the
    /// worktree: a check that then passes is flaky, or passes only where it has not run before.
    pub(super) async fn run(self, workspace: &Workspace, shell: &Shell) -> CheckOutcome {
        let directory = &*workspace.project_folder();
        let red = match self.run_once(directory, shell).await {
            CheckOutcome::Red(red) => red,
            other => return other,
        };
        // A later gate needs what the checks of an earlier one have made.
        if self.gate != CheckStage::PreCommit {
            return self.run_again(red, directory, shell).await;
        }
        let removed = match workspace.remove_check_leftovers().await {
            Ok(removed) => removed,
            Err(fault) => return CheckOutcome::Failed(Box::new(fault)),
        };
        if !removed.is_empty() && !self.repeat_checks_before(directory, shell).await {
            return CheckOutcome::Red(red);
        }
        match self.run_again(red, directory, shell).await {
            CheckOutcome::Flaky if !removed.is_empty() => {
                CheckOutcome::GreenWithoutLeftovers(removed)
            }
            other => other,
        }
    }

    /// Runs the checks before this one again, because what they have made is removed, and returns
    /// whether all are green.
    async fn repeat_checks_before(self, directory: &Path, shell: &Shell) -> bool {
        for (n, command) in (1..).zip(self.before) {
            let check = GateCheck { n, command, ..self };
            if !matches!(check.run_once(directory, shell).await, CheckOutcome::Green(_)) {
                return false;
            }
        }
        true
    }

    /// Runs the check in a folder that is no task's worktree, and once more when it is red.
    pub(super) async fn run_in_folder(self, directory: &Path, shell: &Shell) -> CheckOutcome {
        match self.run_once(directory, shell).await {
            CheckOutcome::Red(red) => self.run_again(red, directory, shell).await,
            other => other,
        }
    }

    async fn run_again(
        self,
        red: Box<CheckFailure>,
        directory: &Path,
        shell: &Shell,
    ) -> CheckOutcome {
        match self.run_once(directory, shell).await {
            CheckOutcome::Green(_) => CheckOutcome::Flaky,
            CheckOutcome::Red(again) => CheckOutcome::Red(again),
            _ => CheckOutcome::Red(red),
        }
    }

    /// Runs the check on a change whose base is known to end in time. A check that hangs or crashes
    /// twice is red: the change made it so.
    pub(super) async fn run_on_change(self, workspace: &Workspace, shell: &Shell) -> CheckOutcome {
        let directory = &*workspace.project_folder();
        let fault = match self.run(workspace, shell).await {
            CheckOutcome::Failed(fault) if break_off_status(&fault).is_some() => fault,
            // Without the change it needs no network.
            CheckOutcome::Failed(fault) if lacks_network(&fault) => {
                return self.red_outcome(&fault.message, FAILED, &fault);
            }
            other => return other,
        };
        let ended = match shell.run(directory, self.command).await {
            Ok(ended) => ended,
            Err(fault) => return CheckOutcome::Failed(Box::new(fault)),
        };
        match self.judge_end(&ended, directory, &shell.wall) {
            CheckOutcome::Green(_) => CheckOutcome::Flaky,
            CheckOutcome::Failed(again) if again.code() == fault.code() => {
                self.judge_broken_off(&ended, &again)
            }
            other => other,
        }
    }

    fn judge_broken_off(self, ended: &ProcessResult, fault: &Fault) -> CheckOutcome {
        let bytes = ended.output.to_bytes();
        let said = format!("{}; without the change it ends by itself.", fault.message);
        let output = format!("{}\n{said}", String::from_utf8_lossy(&bytes).trim_end());
        self.red_outcome(&output, break_off_status(fault).unwrap_or_default(), fault)
    }

    /// Returns a red result for a check that only the change keeps from running.
    fn red_outcome(self, output: &str, exit: i32, fault: &Fault) -> CheckOutcome {
        CheckOutcome::Red(Box::new(self.red_failure(exit, &fault.message, output.trim_start())))
    }

    /// Returns a red result without the facts that its output may hold.
    pub(super) fn red_failure(self, exit: i32, message: &str, output: &str) -> CheckFailure {
        CheckFailure {
            fault: self.red_fault(exit, message, output),
            exit,
            output: last_lines(output, OUTPUT_BYTES_MAX).to_owned(),
            failures: CheckFailures::default(),
            tests_run: None,
            denied: None,
            closed_port: None,
            stop: None,
            broken: None,
        }
    }

    /// Returns the fault of a check that is green only with new tests.
    pub(super) fn new_tests_only_fault(self, tests: &[PathBuf], red: &CheckFailure) -> Fault {
        let names: Vec<String> = tests.iter().map(|path| path.display().to_string()).collect();
        let names = names.join(", ");
        let said = format!(
            "without {names}, which the change adds, what failed before still fails. The work has to \
             pass without it"
        );
        let output = format!("{}\n[{said}]", red.output.trim_end());
        let message = format!("{} passes only with {names}", self.command);
        self.red_fault(red.exit, &message, &output)
    }

    /// Returns the fault of a check that is red with the tests inside changed files as they were.
    pub(super) fn base_tests_fault(self, files: &[PathBuf], red: &CheckFailure) -> Fault {
        let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        let names = names.join(", ");
        let said = format!(
            "the change alters tests in {names}. This is the result with these tests as they were before the \
             work: they have to pass as they were"
        );
        let output = format!("{}\n[{said}]", red.output.trim_end());
        let message = format!("{} passes only with changed tests in {names}", self.command);
        self.red_fault(red.exit, &message, &output)
    }

    pub(super) async fn run_once(self, directory: &Path, shell: &Shell) -> CheckOutcome {
        match shell.run(directory, self.command).await {
            Ok(ended) => self.judge_end(&ended, directory, &shell.wall),
            Err(fault) => CheckOutcome::Failed(Box::new(fault)),
        }
    }

    /// Returns the fault of a check whose command did not run.
    pub(super) fn stop_fault(self, stop: &CheckStop, red: &CheckFailure) -> Fault {
        let missing = match stop {
            CheckStop::Program(program) => program.clone(),
            CheckStop::Module(module) => format!("the Python module {module}"),
            CheckStop::Signal(signal) => return self.crash_fault(*signal),
        };
        self.missing_fault(missing, red.exit, &red.output)
    }

    /// Returns the fault of a check that a signal ended.
    pub(super) fn crash_fault(self, signal: i32) -> Fault {
        let message = format!("{} was ended by signal {signal}", self.command);
        let crash = Crash { exit: None, signal: Some(signal) };
        Fault::tool_crash(self.fault_source(), message, crash)
    }

    /// Returns the fault of a check that needs something which is not there.
    pub(super) fn missing_fault(self, missing: String, exit: i32, output: &str) -> Fault {
        let message = format!("{missing} is not there\n{output}");
        let tool = Tool { command: Some(missing), exit: Some(exit), ..Tool::default() };
        Fault::tool_missing(self.fault_source(), message, tool)
    }

    pub(super) fn fault_source(self) -> String {
        format!("validate:{}#{}", self.gate_name(), self.n)
    }

    /// Returns the name of the gate in the settings.
    pub(super) const fn gate_name(self) -> &'static str {
        match self.gate {
            CheckStage::PreCommit => "pre_commit",
            CheckStage::PrePush => "pre_push",
            CheckStage::PrePr => "pre_pr",
        }
    }

    pub(super) fn gate_source(self) -> String {
        self.fault_source().split('#').next().unwrap_or_default().to_owned()
    }

    /// Returns the fault of a red check. Its signature covers the whole output; the fault then
    /// carries the end of it.
    pub(super) fn red_fault(self, exit: i32, message: &str, output: &str) -> Fault {
        let context = Validation {
            command: self.command.to_owned(),
            exit: Some(exit),
            output: output.to_owned(),
        };
        let mut fault = match self.gate {
            CheckStage::PreCommit => {
                Fault::validation_pre_commit(self.fault_source(), message, context)
            }
            CheckStage::PrePush => {
                Fault::validation_pre_push(self.fault_source(), message, context)
            }
            CheckStage::PrePr => Fault::validation_pre_pr(self.fault_source(), message, context),
        };
        if let Kind::ValidationPreCommit(context)
        | Kind::ValidationPrePush(context)
        | Kind::ValidationPrePr(context) = &mut fault.kind
        {
            last_lines(output, OUTPUT_BYTES_MAX).clone_into(&mut context.output);
        }
        fault
    }
}

impl CheckPass {
    /// Returns the number of tests in words, if it is less than `ran`.
    pub(super) fn render_fewer_tests(&self, ran: u64) -> Option<String> {
        match self.tests_run {
            Some(now) if now >= ran => None,
            Some(now) => Some(now.to_string()),
            None => Some("none".to_owned()),
        }
    }
}

/// Returns the exit code that stands for a check that did not end by itself, if the tested code can
/// be the reason: it took too long, or it crashed.
fn break_off_status(fault: &Fault) -> Option<i32> {
    match &fault.kind {
        Kind::OperationTimeout(_) => Some(TOO_LONG),
        Kind::ToolCrash(crash) => {
            let own = crash.signal.filter(|signal| OWN_FAULTS.contains(signal))?;
            Some(SIGNAL_BASE + own)
        }
        _ => None,
    }
}
