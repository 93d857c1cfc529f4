//! The baseline: the results of the checks at the commit that a build starts from, before any agent
//! works.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use serde::{Deserialize, Serialize};
use unstuck_core::failing::Failures;
use unstuck_core::fault::{Code, Fault, Gate, Kind, Missing, SLOW_BASE, Tool};
use unstuck_core::text::span;
use unstuck_core::time::Span;

use super::check::{Check, Checked, Passed, Red};
use super::checks::Checks;
use super::kept::{Wanted, kept_at_base};
use super::missing::missing_package;
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
    pub gate: Gate,
    /// The exit code.
    pub exit: i32,
    /// The end of the output.
    pub output: String,
    /// The tests that failed.
    pub failures: Failures,
    /// Number of tests that the check reports to have run.
    #[serde(default)]
    pub tests_run: Option<u64>,
}

impl BaselineCheck {
    /// Returns whether the output names a file by its stem, as imports of a module do.
    pub(super) fn speaks_of(&self, path: &Path) -> bool {
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
        (gates, wanted): (&[&Checks], Wanted<'_>),
        shell: &Shell,
    ) -> Result<Self, Fault> {
        let commit = workspace.base().await?;
        let changes = workspace.changes().await?;
        if let Some(change) = changes.first() {
            let message = format!("{} is changed already", change.path.display());
            let what = "an untouched worktree".to_owned();
            return Err(Fault::precondition_missing("validate:base", message, Missing { what }));
        }
        let shell = &workspace.behind_wall(shell);
        let red = BTreeMap::new();
        let flaky = Vec::new();
        let tests_run = BTreeMap::new();
        let mut baseline = Self { commit, red, flaky, tests_run };
        for checks in gates {
            for check in (0..checks.commands().len()).filter_map(|n| checks.check(n)) {
                let command = check.command.to_owned();
                match check.run(workspace.directory(), shell).await {
                    Checked::Green(passed) => {
                        baseline.tests_run.extend(passed.tests_run.map(|ran| (command, ran)));
                    }
                    Checked::Flaky => baseline.flaky.push(command),
                    Checked::Red(red) => {
                        let kept = kept_at_base((&command, &red), wanted, workspace).await?;
                        let Red { exit, output, failures, tests_run, .. } = *red;
                        if let Some(package) = missing_package(&output, workspace.directory()) {
                            return Err(cannot_run(
                                &command,
                                lacking(check, exit, &package, &output),
                            ));
                        }
                        if let Some(fault) = kept {
                            return Err(fault);
                        }
                        let gate = checks.gate();
                        let red = BaselineCheck { gate, exit, output, failures, tests_run };
                        baseline.red.insert(command, red);
                    }
                    Checked::Failed(fault) => return Err(cannot_run(&command, *fault)),
                }
            }
        }
        Ok(baseline)
    }

    /// Applies `clean` to all output of checks.
    #[must_use]
    pub fn cleaned(mut self, clean: impl Fn(&str) -> String) -> Self {
        for red in self.red.values_mut() {
            red.output = clean(&red.output);
            red.failures.tests = red.failures.tests.iter().map(|test| clean(test)).collect();
        }
        self
    }

    /// Returns the red checks, by command.
    pub fn red(&self) -> impl Iterator<Item = (&str, &BaselineCheck)> {
        self.red.iter().map(|(command, red)| (command.as_str(), red))
    }

    /// Returns the result of a command that was red at the base.
    pub(super) fn of(&self, command: &str) -> Option<&BaselineCheck> {
        self.red.get(command)
    }

    /// Returns whether the failures of a command are a subset of those at the base.
    pub fn fails_as_before(&self, command: &str, failures: &Failures) -> bool {
        self.red.get(command).is_some_and(|red| failures.are_within(&red.failures))
    }

    /// Returns the fault of a check that passes now without having tested what it tested at the
    /// base, if so.
    pub(super) fn proves_less(&self, check: Check<'_>, passed: &Passed) -> Option<Fault> {
        match self.red.get(check.command) {
            Some(red) => check.proves_less(red, passed),
            None => check.lost_tests(*self.tests_run.get(check.command)?, passed),
        }
    }

    /// Returns whether a command was red and then green at the base without a change.
    pub fn is_flaky(&self, command: &str) -> bool {
        self.flaky.iter().any(|known| known == command)
    }
}

/// Returns the fault of a check that needs a package which is not installed.
fn lacking(check: Check<'_>, exit: i32, package: &str, output: &str) -> Fault {
    let tool = Tool { command: Some(package.to_owned()), exit: Some(exit), ..Tool::default() };
    let message = format!("{package} is not installed\n{output}");
    Fault::tool_missing(check.source(), message, tool)
}

/// Returns the fault of a check that cannot run at the base. The operator is asked before any money
/// is spent; an outage is returned as it is, because it passes by itself.
fn cannot_run(command: &str, fault: Fault) -> Fault {
    if let Kind::OperationTimeout(of) = &fault.kind {
        let limit = match of.limit_ms {
            ..=1_000 => "one second".to_owned(),
            limit_ms => span(Span::from_millis(limit_ms)),
        };
        let took = format!("took longer than {limit}");
        let output = fault.cause.as_deref().unwrap_or("it wrote nothing");
        let message = format!("{} (validate.timeout)\n{output}", fault.message);
        let what = command.to_owned();
        return Fault::precondition_missing(SLOW_BASE, message, Missing { what }).caused_by(took);
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
    Fault::precondition_missing("validate:base", message, Missing { what }).caused_by(fault)
}
