//! Tests of the headline, the reasons and the names.

use std::sync::Arc;

use unstuck_core::engine::{
    BuildState, Check, CheckVerdict, Checked, PauseCause, QuestionId, RunId, SkipReason, TaskId,
    TaskState,
};
use unstuck_core::fault::{CheckStage, Code, Config, Fault};
use unstuck_core::plan::GateKey;
use unstuck_core::text::{lint_text, our_words};

use super::{facts, task};
use crate::report::BuildReport;

#[test]
fn the_first_line_tells_the_truth() {
    let parked = TaskState::Parked { question: QuestionId(4), run: None };
    let left = TaskState::Skipped { left: SkipReason::Decided };
    let failed = TaskState::Failed { code: Code::LogicError };
    let running = TaskState::Running { run: RunId(0) };
    let cases = [
        (BuildState::Completed, vec![TaskState::Done; 2], "2 of 2 tasks are done."),
        (
            BuildState::Waiting,
            vec![TaskState::Done, parked, left, failed],
            "So far, 1 of 4 tasks is done. 1 waits for you. 1 failed. 1 was skipped.",
        ),
        (
            BuildState::Failed,
            vec![TaskState::Cancelled; 3],
            "None of 3 tasks is done. 3 were cancelled.",
        ),
        (
            BuildState::Running,
            vec![running, TaskState::Pending { run: None }],
            "So far, none of 2 tasks is done. 2 are still to do.",
        ),
    ];
    for (state, tasks, headline) in cases {
        let tasks = (0..).zip(tasks).map(|(id, state)| task(id, "Deploy", state)).collect();
        assert_eq!(BuildReport::from_facts(&facts(state, tasks)).headline, headline);
    }
}

#[test]
fn a_build_that_stands_still_or_broke_says_why() {
    let pause = |cause| BuildState::Paused { cause };
    let cases = [
        (BuildState::Completed, vec![]),
        (BuildState::Cancelled, vec!["The build is cancelled, as you asked."]),
        (BuildState::Waiting, vec!["All remaining work waits for your answer."]),
        (pause(PauseCause::Person), vec!["The build is paused, as you asked."]),
        (
            pause(PauseCause::Budget),
            vec!["The build is paused: its budget has no room for the next step."],
        ),
        (BuildState::Running, vec!["It is not running now and continues at the next start."]),
        (BuildState::Failed, vec!["The build failed: a setting had a value that cannot work."]),
    ];
    for (state, remarks) in cases {
        let mut facts = facts(state, vec![]);
        if state == BuildState::Failed {
            let fault = Fault::config_invalid("unstuck.toml", "line 3", Config::default());
            facts.build.failure = Some(Arc::new(fault));
        }
        assert_eq!(BuildReport::from_facts(&facts).remarks, remarks);
    }
}

#[test]
fn what_was_not_done_has_a_reason() {
    let tasks = vec![
        task(0, "Deploy", TaskState::Failed { code: Code::InternalError }),
        task(1, "Tell all", TaskState::Skipped { left: SkipReason::Needs { task: TaskId(0) } }),
        task(2, "Search", TaskState::Skipped { left: SkipReason::Denied }),
        task(3, "Notes", TaskState::Cancelled),
    ];
    let report = BuildReport::from_facts(&facts(BuildState::Completed, tasks));
    let why: Vec<&str> = report.not_done.iter().map(|ended| ended.why.as_str()).collect();
    assert_eq!(
        why,
        [
            "Failed: something inside Unstuck went wrong.",
            "Skipped: it needs “Deploy”.",
            "Skipped: you did not allow what it needs.",
            "Cancelled with its build.",
        ]
    );
    assert_eq!(report.not_done[0].code, Some(Code::InternalError));
    assert_eq!(report.into_public().not_done[0].code, None);
}

#[test]
fn titles_are_shown_as_they_are() {
    let titles = ["Fix src/main.rs:3", "payment_webhook", "<b>x</b>", ""];
    let tasks = (0..).zip(titles).map(|(id, title)| task(id, title, TaskState::Done)).collect();
    let report = BuildReport::from_facts(&facts(BuildState::Completed, tasks));
    let titles: Vec<&str> = report.shipped.iter().map(|done| done.title.as_str()).collect();
    assert_eq!(titles, ["Fix src/main.rs:3", "payment_webhook", "<b>x</b>", "n3"]);
}

#[test]
fn what_we_say_passes_the_linter() {
    let hostile = "</p><script> src/main.rs TOKEN=abc123 panicked at 'x'";
    let states = [
        TaskState::Done,
        TaskState::Failed { code: Code::ValidationPrePr },
        TaskState::Skipped { left: SkipReason::Needs { task: TaskId(0) } },
        TaskState::Cancelled,
        TaskState::Running { run: RunId(0) },
        TaskState::Reconciling { run: RunId(0) },
        TaskState::BackingOff { until: None, gate: Some(GateKey(1)), run: None },
    ];
    let tasks = (0..).zip(states).map(|(id, state)| task(id, hostile, state)).collect();
    let mut facts = facts(BuildState::Running, tasks);
    facts.tasks[0].row.moved.checked = vec![Arc::new(Checked {
        gate: CheckStage::PrePush,
        checks: vec![Check { command: hostile.into(), verdict: CheckVerdict::Passed }],
        more_passed: 0,
        put_back: vec![hostile.into()],
    })];
    let report = BuildReport::from_facts(&facts).into_public();
    let mut said = vec![report.headline];
    said.extend(report.remarks);
    for done in report.shipped {
        assert_eq!(done.title, hostile);
        said.push(done.checked.said);
        said.extend(done.actions.said);
    }
    said.extend(report.not_done.into_iter().map(|ended| ended.why));
    said.extend(report.still.into_iter().map(|task| task.stands));
    for text in said {
        assert_eq!(lint_text(&our_words(&text)), [], "{text}");
    }
}
