//! The baseline: the results of the checks at the commit that a build starts from, before any agent
//! works; and whether a check that passes later proves as much.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use serde::{Deserialize, Serialize};
use unstuck_core::failing::CheckFailures;
use unstuck_core::fault::{CheckStage, Fault};

use super::check::{CheckPass, FAILED, GateCheck};
use crate::git::Oid;

/// Maximum number of failed tests that are named in a sentence.
const NAMED_MAX: usize = 20;

/// The consequence of a check that is red at the base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineMode {
    /// The check has to be green when the work is done. If only failures of the base are left, the
    /// operator decides whether they belong to the work.
    #[default]
    Green,
    /// The check passes as long as only failures of the base are left, and this is reported.
    Compare,
}

/// The results of the checks at the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The base commit.
    pub commit: Oid,
    /// The red checks, by command.
    pub(super) red: BTreeMap<String, BaselineCheck>,
    /// Commands of checks that were red and then green without a change.
    #[serde(default)]
    pub(super) flaky: Vec<String>,
    /// Number of tests that green checks report, by command.
    #[serde(default)]
    pub(super) tests_run: BTreeMap<String, u64>,
}

/// A check that is red at the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineCheck {
    /// The gate that the check belongs to.
    pub gate: CheckStage,
    /// The exit code.
    pub exit: i32,
    /// The end of the output.
    pub output: String,
    /// The tests that failed.
    pub failures: CheckFailures,
    /// Number of tests that the check reports to have run.
    #[serde(default)]
    pub tests_run: Option<u64>,
}

impl BaselineCheck {
    /// Returns whether the output names a file by its stem, as imports of a module do.
    pub(super) fn mentions_file(&self, path: &Path) -> bool {
        let stem = path.file_stem().map(OsStr::to_string_lossy).unwrap_or_default();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        self.output.split(|c| !is_part(c)).any(|word| word == stem)
    }

    /// Returns the fault of a check that ended with exit code 0 without having tested what failed
    /// before the work, if so.
    fn weaker_proof_fault(
        &self,
        check: GateCheck<'_>,
        (passed, root): (&CheckPass, &Path),
    ) -> Option<Fault> {
        if self.failures.tests.is_empty() {
            return None;
        }
        let still: Vec<&String> = self.failures.tests.intersection(&passed.failed).collect();
        let (message, said) = if still.is_empty() {
            let ran = self.tests_run?.saturating_sub(self.count_unloaded(root));
            let now = passed.render_fewer_tests(ran)?;
            let failed = join_test_names(self.failures.tests.iter());
            (
                format!("{} runs fewer tests than before the work", check.command),
                format!(
                    "it passes now because it runs fewer tests: {now} instead of {ran}. What failed \
                     before has to run and to pass: {failed}. A test that is removed, skipped, ignored \
                     or not found any more proves nothing"
                ),
            )
        } else {
            let still = join_test_names(still.into_iter());
            (
                format!("{} ends with success although tests fail", check.command),
                format!("it ends with success now, and this still fails: {still}"),
            )
        };
        let output = format!("{}\n[{said}]", self.output.trim_end());
        Some(check.red_fault(self.exit, &message, &output))
    }
}

/// The name that Python's unittest gives to a file of tests that it cannot load.
const UNLOADED: &str = "unittest.loader._FailedTest.";

impl BaselineCheck {
    /// Returns the number of files that counted as one failed test each because they could not be
    /// loaded, and that are still there. Loaded, they may have any number of tests.
    fn count_unloaded(&self, root: &Path) -> u64 {
        let modules = self.failures.tests.iter().filter_map(|test| test.strip_prefix(UNLOADED));
        let files = modules.map(|module| root.join(module.replace('.', "/")).with_extension("py"));
        files.filter(|file| file.is_file()).count() as u64
    }
}

impl Baseline {
    /// Applies `clean` to all output of checks.
    #[must_use]
    pub fn with_clean_output(mut self, clean: impl Fn(&str) -> String) -> Self {
        for red in self.red.values_mut() {
            red.output = clean(&red.output);
            red.failures.tests = red.failures.tests.iter().map(|test| clean(test)).collect();
        }
        self
    }

    /// Returns the red checks, by command.
    pub fn red_checks(&self) -> impl Iterator<Item = (&str, &BaselineCheck)> {
        self.red.iter().map(|(command, red)| (command.as_str(), red))
    }

    /// Returns the number of tests that the green checks reported, by command.
    pub fn tests_run(&self) -> impl Iterator<Item = (&str, u64)> {
        self.tests_run.iter().map(|(command, ran)| (command.as_str(), *ran))
    }

    /// Returns whether the failures of a command are a subset of those at the base.
    pub fn fails_as_before(&self, command: &str, failures: &CheckFailures) -> bool {
        self.red.get(command).is_some_and(|red| failures.are_within(&red.failures))
    }

    /// Returns the tests of a command that failed at the base and are not among `failures`.
    pub fn mended_tests(&self, command: &str, failures: &CheckFailures) -> BTreeSet<String> {
        let failed = self.red.get(command).map(|red| &red.failures.tests);
        failed.map(|failed| failed - &failures.tests).unwrap_or_default()
    }

    /// Returns the fault of a check that passes now without having tested what it tested at the
    /// base, if so.
    pub(super) fn weaker_proof_fault(
        &self,
        check: GateCheck<'_>,
        (passed, root): (&CheckPass, &Path),
    ) -> Option<Fault> {
        match self.red.get(check.command) {
            Some(red) => red.weaker_proof_fault(check, (passed, root)),
            None => fewer_tests_fault(check, *self.tests_run.get(check.command)?, passed),
        }
    }

    /// Returns whether tests of Go failed at the base in output that nothing else has formatted.
    pub(super) fn failed_in_go(&self, command: &str) -> bool {
        let red = self.red.get(command).filter(|_| !command.contains('|'));
        red.is_some_and(|red| red.output.lines().any(|line| line.starts_with("--- FAIL: ")))
    }

    /// Returns the fault of a check of Go that is green although a test that failed at the base did
    /// not run: a program that exits before its tests counts as one whose tests passed.
    pub(super) fn unproved_in_go(&self, check: GateCheck<'_>, passed: &CheckPass) -> Option<Fault> {
        let red = self.red.get(check.command)?;
        let tests = red.failures.tests.iter().filter(|test| test.starts_with("Test"));
        let missing: Vec<&String> = tests.filter(|test| !passed.passed.contains(*test)).collect();
        if missing.is_empty() {
            return None;
        }
        let missing = join_test_names(missing.into_iter());
        let message = format!("{} passes without {missing}", check.command);
        let output = format!(
            "{}\n[it passes now, and what failed before did not run to its end: {missing}. It has to \
             run and to pass]",
            red.output.trim_end()
        );
        Some(check.red_fault(red.exit, &message, &output))
    }

    /// Returns whether a command was red and then green at the base without a change.
    pub fn is_flaky(&self, command: &str) -> bool {
        self.flaky.iter().any(|known| known == command)
    }
}

/// Returns the fault of a check that was green before the work and is green now with fewer
/// tests, if so.
fn fewer_tests_fault(check: GateCheck<'_>, ran: u64, passed: &CheckPass) -> Option<Fault> {
    let now = passed.render_fewer_tests(ran)?;
    let message =
        format!("`{}` passes with fewer tests than before: {now} instead of {ran}", check.command);
    let output = format!(
        "[{} passes, and it runs fewer tests than before the work: {now} instead of {ran}. A test \
         that is removed, skipped, ignored or not found any more proves nothing; tests that the goal \
         does not speak of have to stay]",
        check.command
    );
    Some(check.red_fault(FAILED, &message, &output))
}

fn join_test_names<'a>(tests: impl Iterator<Item = &'a String>) -> String {
    let tests: Vec<&str> = tests.take(NAMED_MAX).map(String::as_str).collect();
    tests.join(", ")
}
