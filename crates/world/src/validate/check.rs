//! A single check: its command, and the fault that its end maps to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use unstuck_core::failing::{CheckFailures, reports_failed_tests, tests_run};
use unstuck_core::fault::text_rules::{self, CheckStop, RuleSet};
use unstuck_core::fault::{CheckStage, Code, Crash, Fault, Internal, Kind, Tool, Validation};
use unstuck_core::signature::Signature;
use unstuck_core::text::strip_escapes;

use super::network::{BlockedConnection, lacks_network, no_network_fault};
use super::starting::{BrokenPart, find_missing_program};
use crate::commands::loses_exit_code;
use crate::process::{
    DeniedPath, ProcessEnd, ProcessResult, Wall, add_facts, derive_fault, last_lines,
};
use crate::workspace::Shell;

/// Maximum length of the output that a fault carries, in bytes: the end, in whole lines.
const OUTPUT_BYTES_MAX: usize = 16 * 1_024;
/// A shell returns the signal that ended its command as an exit code above this.
const SIGNAL_BASE: i32 = 128;
const SIGNAL_MAX: i32 = 64;

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
    /// The check itself is red.
    Red(Box<CheckFailure>),
    /// The check could not run, and says nothing about the change.
    Failed(Box<Fault>),
}

impl CheckOutcome {
    /// Returns the fault of a check that is not green.
    pub(super) fn into_result(self) -> Result<(), Fault> {
        match self {
            Self::Green(_) | Self::Flaky => Ok(()),
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
}

impl GateCheck<'_> {
    /// Runs the check, and once more when it is red: a check that then passes is flaky.
    pub(super) async fn run(self, directory: &Path, shell: &Shell) -> CheckOutcome {
        match self.run_once(directory, shell).await {
            CheckOutcome::Red(red) => match self.run_once(directory, shell).await {
                CheckOutcome::Green(_) => CheckOutcome::Flaky,
                CheckOutcome::Red(again) => CheckOutcome::Red(again),
                CheckOutcome::Flaky | CheckOutcome::Failed(_) => CheckOutcome::Red(red),
            },
            other => other,
        }
    }

    /// Runs the check on a change whose base is known to end in time. A check that hangs or crashes
    /// twice is red: the change made it so.
    pub(super) async fn run_on_change(self, directory: &Path, shell: &Shell) -> CheckOutcome {
        let fault = match self.run(directory, shell).await {
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
    fn red_failure(self, exit: i32, message: &str, output: &str) -> CheckFailure {
        CheckFailure {
            fault: self.red_fault(exit, message, output),
            exit,
            output: last_lines(output, OUTPUT_BYTES_MAX).to_owned(),
            failures: CheckFailures::default(),
            tests_run: None,
            denied: None,
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
            CheckStop::Signal(signal) => {
                let crash = Crash { exit: None, signal: Some(*signal) };
                let message = format!("{} was ended by signal {signal}", self.command);
                return Fault::tool_crash(self.fault_source(), message, crash);
            }
        };
        let message = format!("{missing} is not there\n{}", red.output);
        let tool = Tool { command: Some(missing), exit: Some(red.exit), ..Tool::default() };
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

    fn judge_end(self, ended: &ProcessResult, directory: &Path, wall: &Wall) -> CheckOutcome {
        match ended.how {
            ProcessEnd::Exited(0) => self.judge_success(ended, directory),
            ProcessEnd::Exited(exit) if (1..=SIGNAL_MAX).contains(&(exit - SIGNAL_BASE)) => {
                let crash = Crash { exit: None, signal: Some(exit - SIGNAL_BASE) };
                let message =
                    format!("{} was ended by signal {}", self.command, exit - SIGNAL_BASE);
                CheckOutcome::Failed(Box::new(Fault::tool_crash(
                    self.fault_source(),
                    message,
                    crash,
                )))
            }
            ProcessEnd::Exited(exit) => self.judge_failed_exit(ended, exit, directory, wall),
            _ => {
                let fault =
                    derive_fault(ended, &self.fault_source(), self.command).unwrap_or_else(|| {
                        let component = "validate".to_owned();
                        let message = format!("{} was stopped", self.command);
                        Fault::internal_error(self.fault_source(), message, Internal { component })
                    });
                CheckOutcome::Failed(Box::new(with_output(fault, ended)))
            }
        }
    }

    /// Judges a check that ended with exit code 0. In a pipe that is the exit code of the last
    /// program, so failed tests in a runner's own summary count more.
    fn judge_success(self, ended: &ProcessResult, directory: &Path) -> CheckOutcome {
        let bytes = ended.output.to_bytes();
        let output = strip_escapes(&String::from_utf8_lossy(&bytes));
        if !loses_exit_code(self.command) || !reports_failed_tests(&output) {
            return CheckOutcome::Green(CheckPass::from_ended(ended, directory));
        }
        let message = format!(
            "`{}` ended with 0, but its output names failed tests: the exit code is that of the last \
             program in the pipe",
            self.command
        );
        let advice = "Leave the pipe out of the check, or write it as `bash -o pipefail -c '…'` (`set \
                      -o pipefail` needs bash)";
        let output = format!("{}\n[{message}. {advice}]", output.trim_end());
        CheckOutcome::Red(Box::new(CheckFailure {
            failures: CheckFailures::from_output(&bytes, &directory.to_string_lossy()),
            tests_run: count_tests(ended),
            ..self.red_failure(0, &message, &output)
        }))
    }

    fn judge_failed_exit(
        self,
        ended: &ProcessResult,
        exit: i32,
        directory: &Path,
        wall: &Wall,
    ) -> CheckOutcome {
        let bytes = ended.output.to_bytes();
        // Colors of a runner are noise in a log or a prompt.
        let mut output = strip_escapes(&String::from_utf8_lossy(&bytes));
        // A refusal by the sandbox is not classified as a message of a remote side.
        let denied = wall.find_denied(&output, directory);
        if let Some(denied) = &denied {
            output = format!("{}\n[{}]", output.trim_end(), denied.render_sentence());
        }
        if denied.is_none()
            && let Some(broken) = BrokenPart::find(self.command, exit, &output, directory)
        {
            return self.judge_broken_part(broken, exit, &output);
        }
        if let Some(missing) = find_missing_program(self.command, exit, &output) {
            let tool = Tool { command: Some(missing.clone()), exit: Some(exit), ..Tool::default() };
            let end = last_lines(&output, OUTPUT_BYTES_MAX);
            let message = format!("{missing} is not there\n{end}");
            let missing = Fault::tool_missing(self.fault_source(), message, tool);
            return CheckOutcome::Failed(Box::new(missing));
        }
        let classified = match &denied {
            Some(_) => None,
            None => text_rules::classify_with(&bytes, RuleSet::ValidationOutput),
        };
        let outage = classified.map(|(code, _)| code);
        let unreached =
            if denied.is_some() { None } else { BlockedConnection::find(outage, &output, wall) };
        if let Some(unreached) = unreached {
            output = format!("{}\n[{}]", output.trim_end(), unreached.render_sentence());
            if unreached == BlockedConnection::Network {
                let end = last_lines(&output, OUTPUT_BYTES_MAX);
                let fault = no_network_fault(self.fault_source(), self.command, end);
                return CheckOutcome::Failed(Box::new(fault));
            }
        }
        match classified {
            Some((code, rule)) => {
                let signature =
                    Signature::from_output(code, &self.gate_source(), &output, Some(exit));
                let kind = add_facts(Kind::bare(code), exit, self.command);
                let fault =
                    Fault::new(kind, self.fault_source(), last_lines(&output, OUTPUT_BYTES_MAX));
                CheckOutcome::Failed(Box::new(fault.with_rule(rule, signature)))
            }
            None => CheckOutcome::Red(Box::new(CheckFailure {
                failures: CheckFailures::from_output(&bytes, &directory.to_string_lossy()),
                tests_run: count_tests(ended),
                stop: if denied.is_some() { None } else { text_rules::find_check_stop(&bytes) },
                denied,
                ..self.red_failure(exit, &format!("{} ended with {exit}", self.command), &output)
            })),
        }
    }

    /// Returns a red result for a check that a part of the project kept from starting.
    fn judge_broken_part(self, broken: BrokenPart, exit: i32, output: &str) -> CheckOutcome {
        let fact = broken.render_fact();
        let message = format!("{} cannot start: {fact}", self.command);
        let output = format!("{}\n[{fact}]", output.trim_end());
        let red = self.red_failure(exit, &message, output.trim_start());
        CheckOutcome::Red(Box::new(CheckFailure { broken: Some(broken), ..red }))
    }

    fn gate_source(self) -> String {
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

    fn from_ended(ended: &ProcessResult, directory: &Path) -> Self {
        let bytes = ended.output.to_bytes();
        let failed = CheckFailures::from_output(&bytes, &directory.to_string_lossy()).tests;
        Self { tests_run: count_tests(ended), failed }
    }
}

/// Returns the number of tests that a check reports; `None` if its output was truncated, because
/// the dropped part may have reported more.
fn count_tests(ended: &ProcessResult) -> Option<u64> {
    if ended.output.dropped_bytes() > 0 {
        return None;
    }
    tests_run(&strip_escapes(&String::from_utf8_lossy(&ended.output.to_bytes())))
}

/// Adds the end of the output as the cause of a timeout.
fn with_output(fault: Fault, ended: &ProcessResult) -> Fault {
    if fault.code() != Code::OperationTimeout {
        return fault;
    }
    let bytes = ended.output.to_bytes();
    let output = strip_escapes(&String::from_utf8_lossy(&bytes));
    let end = last_lines(output.trim_end(), OUTPUT_BYTES_MAX).to_owned();
    if end.is_empty() { fault } else { fault.with_cause(end) }
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
