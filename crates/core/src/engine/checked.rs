//! The actual results of a gate's checks, kept for the report to the operator.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fault::{CheckStage, Code};
use crate::signature::Signature;

/// Maximum number of checks of one gate that are listed individually.
pub const CHECKS_LISTED_MAX: usize = 32;
/// Maximum length of a check's recorded command, in characters.
pub const CHECK_CHARS_MAX: usize = 200;

/// The checks of one gate that were run, in order. An empty list means that the gate has none:
/// nothing was checked, which is not the same as green.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checked {
    /// The gate that was checked.
    pub gate: CheckStage,
    /// The listed checks.
    pub checks: Vec<Check>,
    /// Number of passed checks that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_passed: u32,
    /// Protected files whose changes were reverted before the checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<Arc<str>>,
}

impl Checked {
    /// Returns the code of a check that fails at the gate.
    pub const fn failure_code(&self) -> Code {
        match self.gate {
            CheckStage::PreCommit => Code::ValidationPreCommit,
            CheckStage::PrePush => Code::ValidationPrePush,
            CheckStage::PrePr => Code::ValidationPrePr,
        }
    }

    /// Returns a signature for each check that was red and then green on the same files, so that it
    /// is counted as a problem.
    pub fn flaky_signatures(&self) -> impl Iterator<Item = Signature> {
        let code = self.failure_code();
        let flaky = self.checks.iter().filter(|check| check.verdict == CheckVerdict::Flaky);
        flaky.map(move |check| check.flaky_signature(code))
    }
}

/// A check that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// The command, without secrets.
    pub command: Arc<str>,
    /// The result of the check.
    pub verdict: CheckVerdict,
}

impl Check {
    /// Returns the signature under which the check is counted where it is flaky. `code` is that of its gate.
    pub fn flaky_signature(&self, code: Code) -> Signature {
        Signature::from_parts(code, "flaky", &[&self.command])
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// The check is green.
    Passed,
    /// The check fails exactly as it did before any agent worked.
    RedBefore,
    /// The check was red, and green when it was run again on the same files.
    Flaky,
    /// The check is red.
    Failed,
    /// The check could not be run and says nothing about the work.
    NotMade,
}

/// Maximum number of lines kept of a red check's output.
const RED_LINES_MAX: usize = 20;
/// Maximum number of bytes kept of those lines.
const RED_BYTES_MAX: usize = 4 * 1_024;
/// Maximum number of failed tests named for a red check.
const RED_TESTS_MAX: usize = 20;

/// A check that is red on the commit that a build starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RedCheck {
    /// The command, without secrets.
    pub command: Arc<str>,
    /// The exit code.
    pub exit: i32,
    /// The last lines of the output.
    pub output: Arc<str>,
    /// The failed tests, if the output names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// True if failures are compared with this baseline: a test that fails here may still fail when
    /// the work is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compared: bool,
    /// The stage at which the check runs, if that is after the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<CheckStage>,
}

impl RedCheck {
    /// Truncates the command, the output and the tests to their limits.
    pub(super) fn into_bounded(mut self) -> Self {
        if let Some((end, _)) = self.command.char_indices().nth(CHECK_CHARS_MAX) {
            self.command = format!("{}…", &self.command[..end]).into();
        }
        let lines: Vec<&str> = self.output.lines().collect();
        let last = lines[lines.len().saturating_sub(RED_LINES_MAX)..].join("\n");
        let from = last.ceil_char_boundary(last.len().saturating_sub(RED_BYTES_MAX));
        self.output = last[from..].into();
        self.tests.truncate(RED_TESTS_MAX);
        self
    }
}

impl Checked {
    /// Truncates the lists and the commands to their limits. Passed checks are left out first: the
    /// operator looks for the others.
    pub(super) fn into_bounded(mut self) -> Self {
        let mut over = self.checks.len().saturating_sub(CHECKS_LISTED_MAX);
        self.checks.retain(|check| {
            let left_out = over > 0 && check.verdict == CheckVerdict::Passed;
            if left_out {
                over -= 1;
                self.more_passed = self.more_passed.saturating_add(1);
            }
            !left_out
        });
        self.checks.truncate(CHECKS_LISTED_MAX);
        self.put_back.truncate(CHECKS_LISTED_MAX);
        for check in &mut self.checks {
            if let Some((end, _)) = check.command.char_indices().nth(CHECK_CHARS_MAX) {
                check.command = format!("{}…", &check.command[..end]).into();
            }
        }
        self
    }

    /// Returns the number of checks with this result, including those that are not listed.
    pub fn count(&self, verdict: CheckVerdict) -> u32 {
        let listed = self.checks.iter().filter(|check| check.verdict == verdict).count();
        let more = if verdict == CheckVerdict::Passed { self.more_passed } else { 0 };
        u32::try_from(listed).unwrap_or(u32::MAX).saturating_add(more)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over like this")]
pub(super) const fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, verdict: CheckVerdict) -> Check {
        Check { command: command.into(), verdict }
    }

    #[test]
    fn too_many_checks_are_counted_and_what_is_red_stays() {
        let passed = check("true", CheckVerdict::Passed);
        let mut checks = vec![passed; CHECKS_LISTED_MAX + 5];
        checks.push(check("false", CheckVerdict::Failed));
        let given =
            Checked { gate: CheckStage::PreCommit, checks, more_passed: 0, put_back: Vec::new() };
        let kept = given.into_bounded();
        assert_eq!(kept.checks.len(), CHECKS_LISTED_MAX);
        assert_eq!(kept.checks.last().unwrap().verdict, CheckVerdict::Failed);
        assert_eq!(kept.count(CheckVerdict::Passed) as usize, CHECKS_LISTED_MAX + 5);
        assert_eq!(kept.count(CheckVerdict::Failed), 1);
    }

    #[test]
    fn a_long_command_is_cut() {
        let long = check(&"ü".repeat(CHECK_CHARS_MAX + 1), CheckVerdict::Passed);
        let given = Checked {
            gate: CheckStage::PrePush,
            checks: vec![long],
            more_passed: 0,
            put_back: Vec::new(),
        };
        let kept = given.into_bounded();
        assert_eq!(kept.checks[0].command.chars().count(), CHECK_CHARS_MAX + 1);
        assert_eq!(kept.checks[0].command.chars().last(), Some('…'));
    }
}
