//! Checks, run for real in a task's worktree.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::result_large_err,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod baseline;
mod checks;
mod protecting;
#[path = "../support/repo.rs"]
mod repo;
mod secrets;
#[path = "../support/stage.rs"]
mod stage;

use unstuck_core::engine::RunId;
use unstuck_core::fault::Gate;
use unstuck_world::scope::{Rules, Scope};
use unstuck_world::validate::{Baseline, BaselineMode, Checks, Held, Verdict, Wanted};
use unstuck_world::workspace::Workspace;

use repo::block_on;
use stage::{NOW, Stage};

/// Of a task that names nothing.
const ANY: Wanted<'_> = Wanted { words: "", mode: BaselineMode::Green };

fn checks(commands: &[&str]) -> Checks {
    protecting_checks(commands, &[])
}

fn protecting_checks(commands: &[&str], protect: &[&str]) -> Checks {
    let list = |parts: &[&str]| parts.iter().map(|&part| part.to_owned()).collect::<Vec<_>>();
    Checks::new(Gate::PreCommit, &list(commands), &list(protect)).unwrap()
}

/// To a scope, and nothing else is free.
const fn held(scope: &Scope) -> Held<'_> {
    Held { scope, free: &[] }
}

fn run(
    stage: &Stage,
    workspace: &Workspace,
    checks: &Checks,
    allowed: &[&str],
    baseline: Option<&Baseline>,
) -> Verdict {
    let allowed = allowed.iter().map(|&path| path.to_owned()).collect();
    let scope = Scope::new(&Rules { allowed, ..Rules::default() }).unwrap();
    let shell = stage.shell();
    block_on(checks.run(workspace, held(&scope), baseline, &shell, (RunId(1), NOW))).unwrap()
}
