//! The baseline: the results of the checks at the commit that a build starts from, before any agent
//! works.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use serde::{Deserialize, Serialize};
use unstuck_core::failing::CheckFailures;
use unstuck_core::fault::{CheckStage, Code, Fault, Kind, Missing, SLOW_BASE, Tool};
use unstuck_core::text::span_words;
use unstuck_core::time::Span;

use super::check::{CheckFailure, CheckOutcome, CheckPass, GateCheck};
use super::checks::GateChecks;
use super::kept::{BaselineRequirement, find_fence_fault};
use super::missing::find_missing_package;
use crate::git::Oid;
use crate::workspace::{Shell, Workspace};

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
    red: BTreeMap<String, BaselineCheck>,
    /// Commands of checks that were red and then green without a change.
    #[serde(default)]
    flaky: Vec<String>,
    /// Number of tests that green checks report, by command.
    #[serde(default)]
    tests_run: BTreeMap<String, u64>,
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
}

impl Baseline {
    /// Runs every check of these gates in a worktree that no agent has worked in yet. A check that
    /// cannot run says nothing about the base, and is a fault; so is one that only the sandbox
    /// makes red.
    pub async fn measure(
        workspace: &Workspace,
        (gates, wanted): (&[&GateChecks], BaselineRequirement<'_>),
        shell: &Shell,
    ) -> Result<Self, Fault> {
        let commit = workspace.resolve_base().await?;
        let changes = workspace.list_changes().await?;
        if let Some(change) = changes.first() {
            let message = format!("{} is changed already", change.path.display());
            let what = "an untouched worktree".to_owned();
            return Err(Fault::precondition_missing("validate:base", message, Missing { what }));
        }
        let shell = &workspace.confine_shell(shell);
        let red = BTreeMap::new();
        let flaky = Vec::new();
        let tests_run = BTreeMap::new();
        let mut baseline = Self { commit, red, flaky, tests_run };
        for checks in gates {
            for check in (0..checks.commands().len()).filter_map(|n| checks.nth_check(n)) {
                let command = check.command.to_owned();
                match check.run(workspace.directory(), shell).await {
                    CheckOutcome::Green(passed) => {
                        baseline.tests_run.extend(passed.tests_run.map(|ran| (command, ran)));
                    }
                    CheckOutcome::Flaky => baseline.flaky.push(command),
                    CheckOutcome::Red(red) => {
                        let kept = find_fence_fault((&command, &red), wanted, workspace).await?;
                        let CheckFailure { exit, output, failures, tests_run, .. } = *red;
                        if let Some(package) = find_missing_package(&output, workspace.directory())
                        {
                            return Err(cannot_run_fault(
                                &command,
                                missing_package_fault(check, exit, &package, &output),
                            ));
                        }
                        if let Some(fault) = kept {
                            return Err(fault);
                        }
                        let gate = checks.gate();
                        let red = BaselineCheck { gate, exit, output, failures, tests_run };
                        baseline.red.insert(command, red);
                    }
                    CheckOutcome::Failed(fault) => return Err(cannot_run_fault(&command, *fault)),
                }
            }
        }
        Ok(baseline)
    }

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

    /// Returns the result of a command that was red at the base.
    pub(super) fn find_red(&self, command: &str) -> Option<&BaselineCheck> {
        self.red.get(command)
    }

    /// Returns whether the failures of a command are a subset of those at the base.
    pub fn fails_as_before(&self, command: &str, failures: &CheckFailures) -> bool {
        self.red.get(command).is_some_and(|red| failures.are_within(&red.failures))
    }

    /// Returns the fault of a check that passes now without having tested what it tested at the
    /// base, if so.
    pub(super) fn weaker_proof_fault(
        &self,
        check: GateCheck<'_>,
        passed: &CheckPass,
    ) -> Option<Fault> {
        match self.red.get(check.command) {
            Some(red) => check.weaker_proof_fault(red, passed),
            None => check.fewer_tests_fault(*self.tests_run.get(check.command)?, passed),
        }
    }

    /// Returns whether a command was red and then green at the base without a change.
    pub fn is_flaky(&self, command: &str) -> bool {
        self.flaky.iter().any(|known| known == command)
    }
}

/// Returns the fault of a check that needs a package which is not installed.
fn missing_package_fault(check: GateCheck<'_>, exit: i32, package: &str, output: &str) -> Fault {
    let tool = Tool { command: Some(package.to_owned()), exit: Some(exit), ..Tool::default() };
    let message = format!("{package} is not installed\n{output}");
    Fault::tool_missing(check.fault_source(), message, tool)
}

/// Returns the fault of a check that cannot run at the base. The operator is asked before any money
/// is spent; an outage is returned as it is, because it passes by itself.
fn cannot_run_fault(command: &str, fault: Fault) -> Fault {
    if let Kind::OperationTimeout(of) = &fault.kind {
        let limit = match of.limit_ms {
            ..=1_000 => "one second".to_owned(),
            limit_ms => span_words(Span::from_millis(limit_ms)),
        };
        let took = format!("took longer than {limit}");
        let output = fault.cause.as_deref().unwrap_or("it wrote nothing");
        let message = format!("{} (validate.timeout)\n{output}", fault.message);
        let what = command.to_owned();
        return Fault::precondition_missing(SLOW_BASE, message, Missing { what }).with_cause(took);
    }
    let passes = !matches!(
        fault.code(),
        Code::ToolMissing | Code::ToolConfig | Code::ToolCrash | Code::ToolAccessDenied
    );
    if passes {
        return fault;
    }
    let message = format!("the check `{command}` cannot run here: {}", fault.message);
    let what = match &fault.kind {
        Kind::ToolMissing(Tool { command: Some(missing), .. }) => {
            format!("{missing}, which the check `{command}` needs")
        }
        _ => format!("what the check `{command}` needs to run"),
    };
    Fault::precondition_missing("validate:base", message, Missing { what }).with_cause(fault)
}
