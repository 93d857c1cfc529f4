//! Inside a running attempt: observations cost nothing, faults come back to the agent.

use std::sync::Arc;

use unstuck_core::attempt::{Digest, ToolKind};
use unstuck_core::engine::{
    Check, CheckVerdict, Checked, Command, CommandRejection, EffectChange, EffectKind, Event,
    NOTE_CHARS_MAX, ProgressReport, Rule, RunNote, SkipReason, Start, TaskState,
};
use unstuck_core::fault::{Category, CheckStage, Class, Code, Fault, Kind};
use unstuck_core::signature::Signature;
use unstuck_core::tell;
use unstuck_core::time::Span;

use crate::engine::story::{Stage, action, fault, happened, with_actions};

fn raise(stage: &mut Stage, fault: Fault) -> Vec<Event> {
    let effect = stage.effect_id("a");
    stage.must(Command::Raise { effect, fault: Arc::new(fault) })
}

/// A command of the agent's was red, found by a text rule.
fn observe(stage: &mut Stage, error: &str, tree: u64) -> Vec<Event> {
    let effect = stage.effect_id("a");
    let signature = Signature::from_parts(Code::LogicError, "shell", &[error]);
    let fault = Fault::new(Kind::bare(Code::LogicError), "shell", error);
    let fault = Arc::new(fault.with_rule("test-runner", signature));
    stage.must(Command::Observe { effect, fault, tree: Some(Digest(tree)) })
}

fn count(error: &str, stage: &Stage) -> u32 {
    let signature = Signature::from_parts(Code::LogicError, "shell", &[error]);
    stage.state.signatures().count(signature)
}

// B36: a flaky check is counted among the problems and costs nothing.
#[test]
fn a_flaky_check_is_a_problem_that_was_got_past() {
    let mut stage = Stage::tasks(&["a"]);
    stage.attempt("a");
    let effect = stage.effect_id("a");
    for _ in 0..2 {
        let note =
            RunNote::Checked { checked: checked(CheckStage::PreCommit, CheckVerdict::Flaky) };
        stage.must(Command::Note { effect, note });
    }
    let (signature, record) = stage.state.signatures().iter().next().unwrap();
    assert_eq!(signature.code, Code::ValidationPreCommit);
    assert_eq!((record.total, record.count), (2, 0));
}

// T1.16
#[test]
fn a_first_red_test_costs_nothing_and_one_that_returns_from_a_changed_tree_does() {
    let mut stage = Stage::tasks(&["a"]);
    observe(&mut stage, "red", 1);
    observe(&mut stage, "red", 1);
    assert_eq!(count("red", &stage), 0);
    let events = observe(&mut stage, "red", 2);
    assert!(happened(&events, "agent.retrying"), "the agent hears that this way did not help");
    assert_eq!(count("red", &stage), 1);
    assert!(stage.owed_if_any("a").is_some(), "the attempt goes on");
}

// T1.8, T1.9
#[test]
fn the_fourth_time_the_attempt_ends_and_a_person_is_asked() {
    let mut stage = Stage::tasks(&["a"]);
    let effect = stage.effect_id("a");
    for tree in 0..4 {
        assert!(!happened(&observe(&mut stage, "red", tree), "agent.waiting_for_input"));
    }
    let events = observe(&mut stage, "red", 4);
    assert!(happened(&events, "agent.waiting_for_input"));
    assert!(stage.released.contains(&EffectChange::Stop(effect)), "its agent is stopped");
    assert!(matches!(stage.task_state("a"), TaskState::Parked { .. }));
}

#[test]
fn which_faults_end_a_run_and_which_come_back_to_the_agent() {
    for &code in Code::ALL {
        let mut stage = Stage::tasks(&["a"]);
        let effect = stage.effect_id("a");
        raise(&mut stage, fault(code, "x"));
        let goes_on = stage.state.outstanding_effects().iter().any(|owed| owed.id == effect);
        let row = code.row();
        let comes_back = row.class != Class::NeverRetry
            && match row.category {
                Category::Network | Category::Environment => true,
                Category::Logic => matches!(
                    code,
                    Code::LogicError | Code::LogicBadInput | Code::LogicPhaseViolation
                ),
                _ => code == Code::GitCommitFailed,
            };
        assert_eq!(goes_on, comes_back, "{code}");
        let stopped = stage.released.contains(&EffectChange::Stop(effect));
        assert_eq!(stopped, !comes_back, "{code}: an agent whose attempt is over is stopped");
    }
}

// T4.13
#[test]
fn an_agent_that_says_a_change_was_not_allowed_is_stopped_before_it_is_taken_back() {
    let mut stage = Stage::tasks(&["a"]);
    let (effect, run) = (stage.effect_id("a"), stage.owed("a").run);
    raise(&mut stage, fault(Code::ScopeUserDenied, "they said no"));
    let since = stage.released.iter().position(|change| *change == EffectChange::Stop(effect));
    let [EffectChange::Start(after)] = &stage.released[since.unwrap() + 1..] else {
        panic!("{:?}", stage.released);
    };
    assert_eq!(after.what, EffectKind::TakeBack);
    assert_eq!(stage.owed("a").run, run);
    let events = stage.done("a");
    assert!(happened(&events, "run.cancelled"));
    assert_eq!(stage.task_state("a"), &TaskState::Skipped { left: SkipReason::Denied });
    let task = stage.state.task(stage.id("a")).unwrap();
    assert_eq!(task.counters.consecutive, 0);
    assert_eq!(stage.state.questions().count(), 0);
}

#[test]
fn an_agents_own_command_is_waited_for_and_never_repeated_by_us() {
    let mut stage = Stage::tasks(&["a"]);
    let before = stage.released.len();
    let events = raise(&mut stage, fault(Code::EnvConnection, "refused"));
    let waits = events.iter().find_map(|event| match event {
        Event::ToolWaiting { until, .. } => Some(until.since(stage.now)),
        _ => None,
    });
    assert!((1_000..=1_300).contains(&waits.unwrap().as_millis()));
    assert_eq!(stage.released.len(), before, "nothing is sent again");
    // The server's word wins here too.
    let mut told = fault(Code::ToolRateLimit, "429");
    told.retry_after = Some(Span::from_secs(40));
    let events = raise(&mut stage, told);
    let waits = events.iter().find_map(|event| match event {
        Event::ToolWaiting { until, .. } => Some(until.since(stage.now)),
        _ => None,
    });
    assert!((40_000..=44_000).contains(&waits.unwrap().as_millis()));
}

#[test]
fn an_outage_that_lasts_parks_the_task_and_resumes_where_it_stood() {
    let mut stage = Stage::tasks(&["a"]);
    while stage.state.questions().count() == 0 {
        raise(&mut stage, fault(Code::EnvDns, "no host"));
        stage.now = stage.now + Span::from_mins(6);
    }
    assert_eq!(stage.question().why.rule, Rule::MaxRetriesExceeded);
    stage.answer(unstuck_core::question::Decision::ProvideGuidance);
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::Resume });
}

#[test]
fn a_run_that_uses_up_its_steps_is_replanned() {
    let mut stage = Stage::tasks(&["a"]);
    let progress = |stage: &mut Stage, iterations, tool_calls| {
        let effect = stage.effect_id("a");
        let report = ProgressReport { iterations, tool_calls, ..ProgressReport::default() };
        stage.must(Command::Progress { effect, report })
    };
    assert!(!happened(&progress(&mut stage, 49, 10), "run.failed"));
    assert!(happened(&progress(&mut stage, 1, 1), "run.failed"));
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::KeepTree });
    assert!(!happened(&progress(&mut stage, 0, 149), "run.failed"), "a new run starts its own");
    assert!(happened(&progress(&mut stage, 0, 1), "run.failed"));
}

#[test]
fn results_that_fit_nothing_are_refused_and_change_nothing() {
    let mut stage = Stage::tasks(&["a"]);
    let effect = stage.effect_id("a");
    let absent = unstuck_core::engine::EffectId(999);
    let report = ProgressReport::default();
    assert_eq!(
        stage.try_to(Command::Progress { effect: absent, report }),
        Err(CommandRejection::Stale(absent))
    );
    let spent = unstuck_core::policy::Amount::ZERO;
    let outcome = unstuck_core::engine::EffectOutcome::NotApplied;
    assert_eq!(
        stage.try_to(Command::Settle { effect, outcome, spent }),
        Err(CommandRejection::Misfit(effect))
    );
    stage.attempt("a");
    let check = stage.effect_id("a");
    let fault = Arc::new(fault(Code::LogicError, "x"));
    assert_eq!(
        stage.try_to(Command::Raise { effect: check, fault }),
        Err(CommandRejection::Misfit(check))
    );
}

#[test]
fn what_an_agent_does_is_noted_and_decides_nothing() {
    let mut stage = Stage::tasks(&["a"]);
    let (effect, run, before) = (stage.effect_id("a"), stage.owed("a").run, stage.state.clone());
    let label: Arc<str> = Arc::from("cargo test");
    let text: Arc<str> = "x".repeat(NOTE_CHARS_MAX + 1).into();
    let cases = [
        (RunNote::Thinking, Event::Thinking { run }),
        (
            RunNote::ToolCalled {
                tool: ToolKind::Command,
                label: Arc::clone(&label),
                running: Vec::new(),
            },
            Event::ToolCalled { run, tool: ToolKind::Command, label, running: Vec::new() },
        ),
        (
            RunNote::Narrated { text },
            Event::Narrated { run, text: format!("{}…", "x".repeat(NOTE_CHARS_MAX)).into() },
        ),
    ];
    for (note, event) in cases {
        assert_eq!(stage.must(Command::Note { effect, note }), [event]);
    }
    assert_eq!(stage.state.outstanding_effects(), before.outstanding_effects());
    assert_eq!(stage.state.task(stage.id("a")), before.task(stage.id("a")));
    stage.attempt("a");
    let late = Command::Note { effect, note: RunNote::Thinking };
    assert_eq!(stage.try_to(late), Err(CommandRejection::Stale(effect)));
    let misfit = Command::Note { effect: stage.effect_id("a"), note: RunNote::Thinking };
    assert!(matches!(stage.try_to(misfit), Err(CommandRejection::Misfit(_))));
    let text: Arc<str> = Arc::from("The check was red before.");
    let said = Command::Note {
        effect: stage.effect_id("a"),
        note: RunNote::Narrated { text: Arc::clone(&text) },
    };
    assert_eq!(stage.must(said), [Event::Narrated { run, text }]);
}

fn checked(gate: CheckStage, verdict: CheckVerdict) -> Checked {
    let check = Check { command: "make".into(), verdict };
    Checked { gate, checks: vec![check], more_passed: 0, put_back: Vec::new() }
}

fn verdicts(stage: &Stage) -> Vec<(CheckStage, CheckVerdict)> {
    let checked = &stage.state.task(stage.id("a")).unwrap().checked;
    checked.iter().map(|checked| (checked.gate, checked.checks[0].verdict)).collect()
}

#[test]
fn what_the_checks_said_stays_with_the_attempt_they_were_about() {
    let mut stage = Stage::new();
    stage.build(vec![with_actions("a", vec![action("push")])]);
    let note = |stage: &Stage, gate, verdict| Command::Note {
        effect: stage.effect_id("a"),
        note: RunNote::Checked { checked: checked(gate, verdict) },
    };
    let by_agent = note(&stage, CheckStage::PreCommit, CheckVerdict::Passed);
    assert!(matches!(stage.try_to(by_agent), Err(CommandRejection::Misfit(_))), "no agent says so");
    stage.attempt("a");
    let said = note(&stage, CheckStage::PreCommit, CheckVerdict::Failed);
    let events = stage.must(said);
    assert!(happened(&events, "run.checked"), "{events:?}");
    assert_eq!(verdicts(&stage), [(CheckStage::PreCommit, CheckVerdict::Failed)]);
    stage.fails("a", crate::engine::story::red("one"));
    assert_eq!(verdicts(&stage), [], "another attempt, not checked yet");
    stage.attempt("a");
    let said = note(&stage, CheckStage::PreCommit, CheckVerdict::Passed);
    stage.must(said);
    stage.done("a");
    stage.done("a");
    // The action is under way, and has checks of its own.
    for verdict in [CheckVerdict::NotMade, CheckVerdict::Passed] {
        let said = note(&stage, CheckStage::PrePush, verdict);
        stage.must(said);
    }
    let kept = [
        (CheckStage::PreCommit, CheckVerdict::Passed),
        (CheckStage::PrePush, CheckVerdict::Passed),
    ];
    assert_eq!(verdicts(&stage), kept, "the last word of each gate");
    stage.applied("a");
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);
    assert_eq!(verdicts(&stage), kept);
}

// T3.12
#[test]
fn a_command_that_runs_when_an_agent_is_cut_off_is_told_to_the_next_one() {
    let mut stage = Stage::tasks(&["a"]);
    let told = |stage: &Stage| tell::render_cut_off(stage.state.task(stage.id("a")).unwrap());
    let call = |stage: &mut Stage, commands: &[&str]| {
        let effect = stage.effect_id("a");
        let running = commands.iter().map(|line| Arc::from(*line)).collect();
        let note = RunNote::ToolCalled { tool: ToolKind::Command, label: Arc::from("x"), running };
        stage.must(Command::Note { effect, note });
    };
    call(&mut stage, &["make"]);
    let effect = stage.effect_id("a");
    stage.must(Command::Note { effect, note: RunNote::Thinking });
    assert_eq!(told(&stage), None, "it came back");
    call(&mut stage, &["cat README.md"]);
    let report = ProgressReport { tool_calls: 1, idle: true, ..ProgressReport::default() };
    stage.must(Command::Progress { effect, report });
    assert_eq!(told(&stage), None, "a report says that nothing runs");
    call(&mut stage, &["make", "curl https://pay.example"]);
    stage.must(Command::Recover { task: None, clean: false });
    assert!(told(&stage).unwrap().contains("curl https://pay.example"));
    call(&mut stage, &["ls"]);
    stage.fails("a", fault(Code::OperationTimeout, "too long"));
    stage.wait();
    assert!(told(&stage).unwrap().contains("ls"), "whatever cut it off");
    stage.attempt("a");
    assert_eq!(told(&stage), None, "its work is over");
}
