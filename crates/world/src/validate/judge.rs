//! The judgement on the end of a check: green, red, or no verdict on the change.

use std::path::Path;

use unstuck_core::failing::{CheckFailures, reports_failed_tests, tests_run};
use unstuck_core::fault::text_rules::{self, RuleSet};
use unstuck_core::fault::{Code, Fault, Internal, Kind};
use unstuck_core::signature::Signature;
use unstuck_core::text::strip_escapes;

use super::check::{
    CheckFailure, CheckOutcome, CheckPass, GateCheck, OUTPUT_BYTES_MAX, SIGNAL_BASE,
};
use super::machine::is_refuted;
use super::network::{BlockedConnection, no_network_fault};
use super::starting::{BrokenPart, find_missing_program};
use crate::commands::loses_exit_code;
use crate::process::{
    ExceededLimit, ProcessEnd, ProcessResult, Wall, add_facts, derive_fault, last_lines,
};

/// Exit code that stands for a check which was killed.
const KILLED: i32 = SIGNAL_BASE + 9;
/// The greatest number of a signal.
const SIGNAL_MAX: i32 = 64;

impl GateCheck<'_> {
    /// Judges how a check ended that ran in `directory`.
    pub(super) fn judge_end(
        self,
        ended: &ProcessResult,
        directory: &Path,
        wall: &Wall,
    ) -> CheckOutcome {
        match ended.how {
            ProcessEnd::Exited(0) => self.judge_success(ended, directory),
            ProcessEnd::Exited(exit) if is_failed_assertion(exit - SIGNAL_BASE, ended) => {
                self.judge_failed_exit(ended, exit, directory, wall)
            }
            ProcessEnd::Signalled(signal) if is_failed_assertion(signal, ended) => {
                self.judge_failed_exit(ended, SIGNAL_BASE + signal, directory, wall)
            }
            ProcessEnd::Exited(exit) if (1..=SIGNAL_MAX).contains(&(exit - SIGNAL_BASE)) => {
                CheckOutcome::Failed(Box::new(self.crash_fault(exit - SIGNAL_BASE)))
            }
            ProcessEnd::Exited(exit) => self.judge_failed_exit(ended, exit, directory, wall),
            // The work may be the reason, and the agent reads which limit it was.
            ProcessEnd::BeyondLimit(
                limit @ (ExceededLimit::Memory(_) | ExceededLimit::FileSize(_)),
            ) => {
                let message = format!("{} {}", self.command, limit.describe());
                let output = String::from_utf8_lossy(&ended.output.to_bytes()).into_owned();
                let output = format!("{}\n[{message}]", output.trim_end());
                CheckOutcome::Red(Box::new(self.red_failure(KILLED, &message, output.trim_start())))
            }
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
        if let Some(broken) = BrokenPart::find_shadowed(&output, directory) {
            return self.judge_broken_part(broken, 0, &output);
        }
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
            let end = last_lines(&output, OUTPUT_BYTES_MAX);
            return CheckOutcome::Failed(Box::new(self.missing_fault(missing, exit, end)));
        }
        let classified = match &denied {
            Some(_) => None,
            None => text_rules::classify_with(&bytes, RuleSet::ValidationOutput)
                .filter(|(code, _)| !is_refuted(*code, &output, directory)),
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
                CheckOutcome::Failed(Box::new(self.classified_fault((code, rule), exit, &output)))
            }
            None => CheckOutcome::Red(Box::new(CheckFailure {
                failures: CheckFailures::from_output(&bytes, &directory.to_string_lossy()),
                tests_run: count_tests(ended),
                stop: if denied.is_some() { None } else { text_rules::find_check_stop(&bytes) },
                closed_port: unreached.and_then(BlockedConnection::port),
                denied,
                ..self.red_failure(exit, &format!("{} ended with {exit}", self.command), &output)
            })),
        }
    }

    /// Returns the fault of a check whose output a text rule recognizes.
    fn classified_fault(
        self,
        (code, rule): (Code, &'static str),
        exit: i32,
        output: &str,
    ) -> Fault {
        let signature = Signature::from_output(code, &self.gate_source(), output, Some(exit));
        let kind = add_facts(Kind::bare(code), exit, self.command);
        let fault = Fault::new(kind, self.fault_source(), last_lines(output, OUTPUT_BYTES_MAX));
        fault.with_rule(rule, signature)
    }

    /// Returns a red result for a check that a part of the project kept from starting.
    fn judge_broken_part(self, broken: BrokenPart, exit: i32, output: &str) -> CheckOutcome {
        let fact = broken.render_fact();
        let message = format!("{} cannot start: {fact}", self.command);
        let output = format!("{}\n[{fact}]", output.trim_end());
        let red = self.red_failure(exit, &message, output.trim_start());
        CheckOutcome::Red(Box::new(CheckFailure { broken: Some(broken), ..red }))
    }
}

fn is_failed_assertion(signal: i32, ended: &ProcessResult) -> bool {
    text_rules::is_failed_assertion(signal, &ended.output.to_bytes())
}

impl CheckPass {
    fn from_ended(ended: &ProcessResult, directory: &Path) -> Self {
        let bytes = ended.output.to_bytes();
        let failed = CheckFailures::from_output(&bytes, &directory.to_string_lossy()).tests;
        let text = String::from_utf8_lossy(&bytes);
        let passed = text.lines().filter_map(|line| {
            let (name, _) = line.trim_start().strip_prefix("--- PASS: ")?.split_once(" (")?;
            Some(name.to_owned())
        });
        Self { tests_run: count_tests(ended), failed, passed: passed.collect() }
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
