//! The scripted part of the demo: what is to be done, and what goes wrong with it.

use std::sync::Arc;

use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::engine::{GateKey, Outcome, Work};
use unstuck_core::fault::{Auth, Fault, Files, GitOperation, Http, RateLimit, Validation};
use unstuck_core::plan::{MutationKind, MutationSpec, Plan, TaskSpec};
use unstuck_core::time::Span;

/// The account all agents of the night work with.
pub(super) const ACCOUNT: GateKey = GateKey(1);

/// What there is to do.
pub(super) fn plan() -> Arc<Plan> {
    let merge = action("merge", MutationKind::Merge);
    let push = action("push", MutationKind::Push);
    let deploy = action("preview", MutationKind::Command);
    let tasks = vec![
        task("timeouts", "Add timeouts", &[], vec![merge.clone()]),
        task("webhook", "Payment webhook", &[], vec![merge.clone()]),
        task("preview", "Deploy the preview", &[], vec![merge.clone(), deploy]),
        task("importer", "Faster importer", &[], vec![merge.clone()]),
        task("notes", "Release notes", &["timeouts"], vec![merge.clone(), push]),
        task("tidy", "Tidy the settings page", &[], vec![merge]),
    ];
    // The tasks are written here: names are unique and nothing needs itself.
    Plan::new(tasks).map_or_else(|_| unreachable!("the story's plan holds"), Arc::new)
}

fn task(name: &str, title: &str, needs: &[&str], mutations: Vec<Arc<MutationSpec>>) -> TaskSpec {
    TaskSpec {
        name: name.to_owned(),
        title: title.to_owned(),
        goal: format!("{title}."),
        depends_on: needs.iter().map(|&need| need.to_owned()).collect(),
        gate: ACCOUNT,
        mutations,
        ..TaskSpec::default()
    }
}

fn action(key: &str, kind: MutationKind) -> Arc<MutationSpec> {
    Arc::new(MutationSpec { key: key.to_owned(), kind, probe: true, ..MutationSpec::default() })
}

/// What becomes of the `nth` time that `work` is done for a task, and how long it takes.
pub(super) fn outcome(task: &str, work: Work, key: Option<&str>, nth: u32) -> (Span, Outcome) {
    match work {
        Work::Attempt { .. } => (minutes(task, nth), attempt(task, nth)),
        Work::Check => (Span::from_secs(40), check(task, nth)),
        Work::Perform { .. } => (Span::from_secs(3), perform(task, key.unwrap_or_default(), nth)),
        Work::Probe { .. } => (Span::from_secs(1), applied("it had arrived")),
        Work::Commit | Work::Emit | Work::TakeBack | Work::Repair { .. } => {
            (Span::from_secs(1), Outcome::Done)
        }
        Work::Execute { .. } | Work::Stop { .. } => (Span::ZERO, Outcome::Done),
    }
}

fn minutes(task: &str, nth: u32) -> Span {
    let length = u64::try_from(task.len()).unwrap_or_default();
    Span::from_secs(95 + 37 * length % 180 + 60 * u64::from(nth))
}

fn attempt(task: &str, nth: u32) -> Outcome {
    match (task, nth) {
        ("importer", 0) => failed(
            Fault::provider_usage_limit(
                "claude-cli",
                "the plan's five hour window is used up",
                RateLimit { status: Some(429), limited: Some("five_hour".to_owned()) },
            )
            .retry_after(Span::from_mins(107)),
        ),
        ("tidy", 0) => failed(Fault::provider_api_error(
            "claude-cli",
            "502 from the service",
            Http { status: Some(502), ..Http::default() },
        )),
        _ => Outcome::Attempted { approach: Arc::new(approach(task, nth)) },
    }
}

fn approach(task: &str, nth: u32) -> Approach {
    let summary = match (task, nth) {
        ("webhook", 0) => "checked the signature by hand",
        ("webhook", 1) => "moved the check before the parsing",
        ("webhook", _) => "used the payment kit's own check",
        ("timeouts", 0) => "added one timeout for all calls",
        _ => "made the change and ran the tests",
    };
    let name: u64 = task.bytes().map(u64::from).sum();
    Approach {
        digest: Some(Digest(name * 100 + u64::from(nth))),
        summary: summary.to_owned(),
        files: vec![format!("src/{task}.rs")],
        files_changed: 1 + nth,
        commands: 3,
    }
}

fn check(task: &str, nth: u32) -> Outcome {
    match (task, nth) {
        ("timeouts", 0) => red("test client::gives_up ... FAILED\nassertion failed: elapsed < 5"),
        ("webhook", 0 | 1) => red("test webhook::rejects_a_bad_signature ... FAILED"),
        ("tidy", 0) => failed(Fault::scope_forbidden(
            "scope",
            "a file outside the fence was changed",
            Files { files: vec!["billing/prices.toml".to_owned()], patch: None },
        )),
        _ => Outcome::Done,
    }
}

fn perform(task: &str, key: &str, nth: u32) -> Outcome {
    match (task, key, nth) {
        ("preview", "preview", 0) => failed(Fault::auth_invalid(
            "deploy",
            "403: the token was revoked",
            Auth { account: "hosting".to_owned(), variable: None },
        )),
        ("notes", "push", 0) => Outcome::Unknown {
            fault: Arc::new(Fault::git_push_failed(
                "git.push",
                "the connection was lost while pushing",
                GitOperation { operation: "push".to_owned(), ..GitOperation::default() },
            )),
        },
        _ => applied("done"),
    }
}

fn red(output: &str) -> Outcome {
    let context =
        Validation { command: "cargo test".to_owned(), exit: Some(101), output: output.to_owned() };
    failed(Fault::validation_pre_commit("validate:pre_commit#1", output, context))
}

fn failed(fault: Fault) -> Outcome {
    Outcome::Failed { fault: Arc::new(fault), approach: None }
}

fn applied(result: &str) -> Outcome {
    Outcome::Applied { result: Arc::from(result) }
}
