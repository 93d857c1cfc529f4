//! The scripted part of the demo: what is to be done, and what goes wrong with it.

use std::sync::Arc;

use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::engine::{Outcome, Start, Work};
use unstuck_core::fault::{Auth, Fault, Files, GitOperation, Http, RateLimit, Tool, Validation};
use unstuck_core::plan::{GateKey, MutationKind, MutationSpec, Plan, TaskSpec};
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

/// How long something takes.
pub(super) fn takes(task: &str, work: Work, attempt: u32) -> Span {
    match work {
        Work::Attempt { .. } => {
            let length = u64::try_from(task.len()).unwrap_or_default();
            Span::from_secs(35 + 37 * length % 180 + 60 * u64::from(attempt))
        }
        Work::Check => Span::from_secs(40),
        Work::Perform { .. } => Span::from_secs(3),
        _ => Span::from_secs(1),
    }
}

/// What becomes of an attempt at a task: it may be the first, or go on where another stopped.
pub(super) fn attempt(task: &str, start: Start, attempt: u32) -> Outcome {
    match (task, start) {
        ("importer", Start::Fresh) => failed(
            Fault::provider_usage_limit(
                "claude-cli",
                "the plan's five hour window is used up",
                RateLimit { status: Some(429), limited: Some("five_hour".to_owned()) },
            )
            .retry_after(Span::from_mins(107)),
        ),
        ("tidy", Start::Fresh) => failed(Fault::provider_api_error(
            "claude-cli",
            "502 from the service",
            Http { status: Some(502), ..Http::default() },
        )),
        _ => Outcome::Attempted { approach: Arc::new(approach(task, attempt)) },
    }
}

fn approach(task: &str, nth: u32) -> Approach {
    let summary = match (task, nth) {
        ("webhook", 1) => "checked the signature by hand",
        ("webhook", 2) => "moved the check before the parsing",
        ("webhook", _) => "used the payment kit's own check",
        ("timeouts", 1) => "added one timeout for all calls",
        _ => "made the change and ran the tests",
    };
    let name: u64 = task.bytes().map(u64::from).sum();
    Approach {
        digest: Some(Digest(name * 100 + u64::from(nth))),
        summary: summary.to_owned(),
        files: vec![format!("src/{task}.rs")],
        files_changed: nth,
        commands: 3,
    }
}

/// What the checks of an attempt say.
pub(super) fn check(task: &str, nth: u32) -> Outcome {
    match (task, nth) {
        ("timeouts", 1) => red("test client::gives_up ... FAILED\nassertion failed: elapsed < 5"),
        ("webhook", 1 | 2) => red("test webhook::rejects_a_bad_signature ... FAILED"),
        ("tidy", 1) => failed(Fault::scope_forbidden(
            "scope",
            "a file outside the fence was changed",
            Files { files: vec!["billing/prices.toml".to_owned()], patch: None },
        )),
        _ => Outcome::Done,
    }
}

/// How an action travels.
pub(super) enum Push {
    /// It arrives.
    Arrives,
    /// It arrives, and nobody hears of it.
    Lost,
}

/// How this one does.
pub(super) fn push(task: &str, key: &str) -> Push {
    match (task, key) {
        ("notes", "push") => Push::Lost,
        _ => Push::Arrives,
    }
}

/// The hosting account has revoked the key.
pub(super) fn locked_out() -> Outcome {
    failed(Fault::auth_invalid(
        "deploy",
        "403: the token was revoked",
        Auth { account: "hosting".to_owned(), variable: None },
    ))
}

/// The connection broke while something was being sent.
pub(super) fn lost() -> Outcome {
    Outcome::Unknown {
        fault: Arc::new(Fault::git_push_failed(
            "git.push",
            "the connection was lost while pushing",
            GitOperation { operation: "push".to_owned(), ..GitOperation::default() },
        )),
    }
}

/// The story's own folder could not be written.
pub(super) fn disk(error: &std::io::Error) -> Outcome {
    failed(Fault::env_disk_full("demo", error.to_string(), Tool::default()))
}

fn red(output: &str) -> Outcome {
    let context =
        Validation { command: "cargo test".to_owned(), exit: Some(101), output: output.to_owned() };
    failed(Fault::validation_pre_commit("validate:pre_commit#1", output, context))
}

fn failed(fault: Fault) -> Outcome {
    Outcome::Failed { fault: Arc::new(fault), approach: None }
}

/// It happened.
pub(super) fn applied(result: &str) -> Outcome {
    Outcome::Applied { result: Arc::from(result) }
}
