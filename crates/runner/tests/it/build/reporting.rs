//! A report of a real build says what really happened in it.

use unstuck_core::engine::CheckVerdict;
use unstuck_core::fault::CheckStage;
use unstuck_core::question::Decision;
use unstuck_runner::report::{BuildReport, ShippedTask, TaskLanding};
use unstuck_testkit::stage::TestRepo;

use crate::build::build_project::{CANARY, Set, Stage};
use crate::build::scripts::{Job, push, run, write};

fn shipped<'a>(report: &'a BuildReport, title: &str) -> &'a ShippedTask {
    report.shipped.iter().find(|done| done.title == title).unwrap()
}

/// Each check with its gate and verdict.
fn checks(done: &ShippedTask) -> Vec<(CheckStage, &str, CheckVerdict)> {
    let of = |gate: &'_ unstuck_core::engine::Checked| gate.gate;
    let gates = done.checked.gates.iter();
    gates
        .flat_map(|gate| gate.checks.iter().map(move |c| (of(gate), &*c.command, c.verdict)))
        .collect()
}

fn commits(done: &ShippedTask) -> Vec<String> {
    let ids = match &done.landed {
        TaskLanding::Commits { ids } => Some(ids.clone()),
        TaskLanding::Unchanged | TaskLanding::Elsewhere | TaskLanding::Unknown => None,
    };
    ids.unwrap()
}

// B15: what was red before is said in the report.
#[tokio::test]
async fn a_report_names_the_commits_and_the_checks_that_really_ran() {
    let repo = TestRepo::with(&[("trouble", "error: old trouble\n")]);
    let old = "cat trouble; test ! -s trouble";
    let secret = format!("test {CANARY} = {CANARY}");
    let jobs = vec![
        Job::new("a", [&[write("a", "a\n")]])
            .checked("test -s a -o ! -e a")
            .checked(old)
            .comparing(),
        Job::new("b", [&[write("b", "b\n")]]).after("a"),
        Job::new("c", [&[run("true")]]).checked(&secret).after("b"),
    ];
    let stage = Stage::build(repo, jobs).await;
    stage.done().await;
    let report = stage.report().await;
    assert_eq!(report.headline, "2 of 3 tasks are done. 1 needed no change.");
    let (a, b) = (shipped(&report, "Do a"), shipped(&report, "Do b"));
    assert_eq!(report.red_base[0].command.as_ref(), old);
    assert_eq!(
        checks(a),
        [
            (CheckStage::PreCommit, "test -s a -o ! -e a", CheckVerdict::Passed),
            (CheckStage::PreCommit, old, CheckVerdict::RedBefore),
        ]
    );
    let said = format!(
        "One check passed (“test -s a -o ! -e a”) and one check (“{old}”) failed before the work \
         began and still fails."
    );
    assert_eq!(a.checked.said, said);
    assert_eq!(b.checked.said, "Nothing was checked, because no checks are set.");
    let [c] = &report.unchanged[..] else { panic!("{report:?}") };
    assert_eq!(
        (c.title.as_str(), c.checked.said.as_str()),
        ("Do c", "One check passed (“test [redacted] = [redacted]”).")
    );
    let written = serde_json::to_string(&report).unwrap();
    assert!(!written.contains(CANARY), "{written}");
    let landed = [commits(a), commits(b)].concat();
    let log =
        stage.repo.git(["log", "--reverse", "--format=%H", &format!("main..{}", Stage::branch())]);
    assert_eq!(landed, log.lines().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_task_that_landed_twice_names_both_commits_and_its_last_checks() {
    let repo = TestRepo::with(&[]);
    repo.add_remote();
    let mut job = Job::new("a", [&[write("a", "bad\n")], &[write("a", "good\n")]]).then(push());
    let check = "grep -q good a || { echo 'error: a is bad'; exit 1; }";
    job.pre_push.push(check.to_owned());
    let stage = Stage::build(repo, vec![job]).await;
    stage.done().await;
    let report = stage.report().await;
    let done = shipped(&report, "Do a");
    assert_eq!(commits(done).len(), 2);
    assert_eq!(checks(done), [(CheckStage::PrePush, check, CheckVerdict::Passed)]);
    assert_eq!(done.actions.said, ["It was pushed."]);
    assert_eq!(report.healed.len(), 1, "{:?}", report.healed);
}

// T2.5
#[tokio::test]
async fn what_healed_is_for_operators_and_what_waits_is_for_all() {
    let red = "test ! -e bad || { echo 'error: secret_thing.rs is bad'; exit 1; }";
    let jobs = vec![
        Job::new("a", [&[write("bad", "x\n")], &[write("a", "a\n")]]).checked(red),
        Job::new("b", [&[write("b", "b\n")]]).ask_first(&["b"]).after("a"),
    ];
    let stage = Stage::with(Set::default(), TestRepo::with(&[]), jobs).await;
    stage.wait_for_question().await;
    let report = stage.report().await;
    assert_eq!(report.headline, "So far, 1 of 2 tasks is done. 1 waits for you.");
    let codes: Vec<String> = report.healed.iter().map(|healed| healed.code.to_string()).collect();
    assert_eq!(codes, ["VALIDATION_PRE_COMMIT"]);
    let public = serde_json::to_string(&report.into_public()).unwrap();
    assert!(!public.contains("VALIDATION"), "{public}");
    assert!(public.contains("needs your approval first"), "{public}");
    stage.answer(Decision::Deny, None).await;
    stage.ended().await;
    let report = stage.report().await;
    assert_eq!(report.headline, "1 of 2 tasks is done. 1 was skipped.");
    assert_eq!(report.not_done[0].why, "Skipped: you did not allow what it needs.");
    assert_eq!(report.waiting, []);
}
