//! Small plans, all ways they can go.

use std::sync::Arc;

use unstuck_core::engine::{Command, TaskId};
use unstuck_core::fault::Code;
use unstuck_core::plan::{MutationKind, MutationSpec, Plan, ScopeSpec, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_testkit::search::{SearchSpec, SearchStats, search_states};

use crate::desk::{acting, action, job, task};

/// Limits so low that their ends are within reach.
fn tight() -> Policy {
    let mut policy = Policy::default();
    policy.retry.per_signature = 1;
    policy.retry.transient = 1;
    policy.retry.transient_for_ms = unstuck_core::time::Span::ZERO;
    policy.retry.crashes = 2;
    policy.retry.pause_after_questions = 2;
    policy
}

fn all_ways(slots: u32, tasks: Vec<TaskSpec>, codes: &[Code], depth: u32) -> SearchStats {
    let plan = Arc::new(Plan::new(tasks).unwrap());
    searched(vec![Command::StartBuild { plan, slots, in_place: false }], codes, depth)
}

fn searched(begin: Vec<Command>, codes: &[Code], depth: u32) -> SearchStats {
    let asked = SearchSpec {
        begin,
        policy: tight(),
        codes: codes.to_vec(),
        depth,
        crashes: 1,
        buttons: 1,
        states_max: 60_000,
    };
    search_states(&asked).unwrap_or_else(|violation| panic!("{violation}"))
}

#[test]
fn one_task_with_an_action_that_can_be_looked_up() {
    let merge = MutationSpec { kind: MutationKind::Merge, ..action("merge") };
    let found = all_ways(1, vec![acting("a", vec![merge])], &[Code::ValidationPreCommit], 14);
    assert!(found.states > 1_000, "{found:?}");
}

#[test]
fn one_task_with_an_action_without_a_probe() {
    let blind = MutationSpec { probe: false, ..action("k") };
    let found = all_ways(1, vec![acting("a", vec![blind])], &[Code::AuthInvalid], 14);
    assert!(found.states > 1_000, "{found:?}");
}

#[test]
fn two_tasks_that_share_an_account_and_a_merge_lock() {
    let codes = [Code::ProviderRateLimit, Code::GitStatusFailed];
    let found = all_ways(2, vec![task("a", &[]), task("b", &[])], &codes, 9);
    assert!(found.states > 1_000, "{found:?}");
}

#[test]
fn three_tasks_that_need_each_other_and_share_an_error() {
    let tasks = vec![task("a", &[]), task("b", &[]), task("c", &["a", "b"])];
    let found = all_ways(2, tasks, &[Code::ValidationPreCommit, Code::ConfigInvalid], 8);
    assert!(found.states > 1_000, "{found:?}");
}

// I7, I15
#[test]
fn three_tasks_that_may_not_run_side_by_side() {
    let within = |name, glob: &str| {
        let scope = ScopeSpec { allowed: vec![glob.to_owned()], forbidden: Vec::new() };
        TaskSpec { scope, ..acting(name, Vec::new()) }
    };
    let alone = TaskSpec { serialize: true, ..acting("c", Vec::new()) };
    let tasks = vec![within("a", "src/**"), alone, within("b", "src/x")];
    let found = all_ways(3, tasks, &[Code::ProviderRateLimit, Code::AuthInvalid], 9);
    assert!(found.states > 1_000, "{found:?}");
}

#[test]
fn a_job_that_fails_and_is_fired_again() {
    let begin = vec![
        Command::DefineJob { spec: Arc::new(job("j")) },
        Command::FireJob { task: TaskId(0) },
        Command::FireJob { task: TaskId(0) },
    ];
    let found = searched(begin, &[Code::LogicError, Code::PermissionFileAccess], 9);
    assert!(found.states > 1_000, "{found:?}");
}
