//! Checks, run for real in a task's worktree.

mod baseline;
mod checks;
mod protecting;
mod secrets;

use unstuck_core::engine::RunId;
use unstuck_core::fault::CheckStage;
use unstuck_world::scope::{PathScope, ScopeRules};
use unstuck_world::validate::{
    Baseline, BaselineMode, BaselineRequirement, ChangePermissions, GateChecks, GateVerdict,
};
use unstuck_world::workspace::Workspace;

use crate::support::block_on;
use crate::support::task_worktree::{NOW, Stage};

/// Of a task that names nothing.
const ANY: BaselineRequirement<'_> = BaselineRequirement {
    words: "",
    mode: BaselineMode::Green,
    has_own_checks: false,
    withheld: &[],
};

fn checks(commands: &[&str]) -> GateChecks {
    protecting_checks(commands, &[])
}

fn protecting_checks(commands: &[&str], protect: &[&str]) -> GateChecks {
    let list = |parts: &[&str]| parts.iter().map(|&part| part.to_owned()).collect::<Vec<_>>();
    GateChecks::new(CheckStage::PreCommit, &list(commands), &list(protect)).unwrap()
}

/// To a scope, and nothing else is free.
const fn held(scope: &PathScope) -> ChangePermissions<'_> {
    ChangePermissions { scope, free: &[], inline_tests: false }
}

fn run(
    stage: &Stage,
    workspace: &Workspace,
    checks: &GateChecks,
    allowed: &[&str],
    baseline: Option<&Baseline>,
) -> GateVerdict {
    let allowed = allowed.iter().map(|&path| path.to_owned()).collect();
    let scope = PathScope::new(&ScopeRules { allowed, ..ScopeRules::default() }).unwrap();
    let shell = stage.shell();
    block_on(checks.run(workspace, held(&scope), baseline, &shell, (RunId(1), NOW))).unwrap()
}
