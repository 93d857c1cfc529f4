//! Three different approaches per error, then a question.

use unstuck_core::engine::{Command, EffectKind, Event, Start, TaskState};
use unstuck_core::fault::{Code, Fault, Files, Validation};
use unstuck_core::policy::Policy;
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_core::tell;

use crate::engine::story::{Stage, fault, happened, needing, red, task};

fn attempt_number(events: &[Event]) -> Option<u32> {
    events.iter().find_map(|event| match event {
        Event::Retrying { attempt, .. } => Some(*attempt),
        _ => None,
    })
}

// T1.9, T0.10, T1.12
#[test]
fn failures_one_to_three_replan_and_the_fourth_asks() {
    let mut stage = Stage::tasks(&["a"]);
    for n in 1..=3 {
        let events = stage.red("a", "boom");
        assert_eq!(attempt_number(&events), Some(n));
        assert!(!happened(&events, "agent.waiting_for_input"));
    }
    let events = stage.red("a", "boom");
    assert_eq!(attempt_number(&events), None);
    assert!(happened(&events, "agent.waiting_for_input"));
    assert_eq!(stage.question().kind, QuestionKind::Choice);
    // T1.10: one entry per attempt that really ran.
    assert_eq!(stage.question().attempts.len(), 4);
}

// T1.7, T0.12
#[test]
fn the_same_error_in_two_tasks_shares_one_budget_and_another_error_does_not() {
    let mut stage = Stage::tasks(&["a", "b"]);
    stage.red("a", "boom");
    stage.red("a", "boom");
    assert_eq!(attempt_number(&stage.red("b", "boom")), Some(3));
    assert_eq!(attempt_number(&stage.red("b", "other")), Some(1));
    assert!(happened(&stage.red("a", "boom"), "agent.waiting_for_input"));
}

// B17, I14
#[test]
fn the_same_error_healed_in_ten_tasks_in_a_row_asks_no_question() {
    let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut stage = Stage::tasks(&names);
    for name in names {
        assert_eq!(attempt_number(&stage.red(name, "boom")), Some(1));
        stage.succeed(name);
    }
    assert_eq!(stage.state.questions().count(), 0);
}

// B17
#[test]
fn an_error_that_comes_and_goes_inside_one_task_asks_at_its_fourth() {
    let mut stage = Stage::tasks(&["a"]);
    for error in ["x", "y", "x", "y", "x", "y"] {
        assert!(!happened(&stage.red("a", error), "agent.waiting_for_input"));
    }
    assert!(happened(&stage.red("a", "x"), "agent.waiting_for_input"));
}

// B12
#[test]
fn the_first_failure_keeps_the_tree_and_the_second_starts_from_the_base() {
    let mut stage = Stage::tasks(&["a"]);
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::Fresh });
    stage.red("a", "boom");
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::KeepTree });
    stage.red("a", "boom");
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::FromBase });
}

// T2.2
#[test]
fn another_build_of_the_project_inherits_the_counts() {
    let mut stage = Stage::tasks(&["a"]);
    for _ in 0..3 {
        stage.red("a", "boom");
    }
    stage.build(vec![task("again")]);
    assert!(happened(&stage.red("again", "boom"), "agent.waiting_for_input"));
}

// T2.3, T1.13, TX3, T1.12
#[test]
fn guidance_gives_three_fresh_attempts_and_reaches_the_next_one() {
    let mut stage = Stage::tasks(&["a"]);
    for _ in 0..4 {
        stage.red("a", "boom");
    }
    let question = stage.question().id;
    let events = stage.answer_to(question, Decision::ProvideGuidance, Some("use the SDK"));
    assert!(happened(&events, "agent.escalation_resolved"));
    assert!(happened(&events, "task.unparked"));
    let task = stage.state.task(stage.id("a")).unwrap();
    let guidance = task.guidance.as_ref().unwrap();
    assert_eq!(guidance.text.as_deref(), Some("use the SDK"));
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::FromBase });
    for n in 1..=3 {
        assert_eq!(attempt_number(&stage.red("a", "boom")), Some(n));
    }
    assert!(happened(&stage.red("a", "boom"), "agent.waiting_for_input"));
}

// TX2, I11
#[test]
fn further_failures_join_the_open_question_and_count_nothing() {
    let mut stage = Stage::tasks(&["a", "b"]);
    for _ in 0..4 {
        stage.red("a", "boom");
    }
    let signature = red("boom").signature;
    let events = stage.red("b", "boom");
    assert!(happened(&events, "question.joined"));
    assert_eq!(stage.state.signatures().count(signature), 4);
    assert_eq!(stage.question().tasks.len(), 2);
    stage.answer(Decision::SimplerVersion);
    assert!(matches!(stage.task_state("a"), TaskState::Running { .. }));
    assert!(matches!(stage.task_state("b"), TaskState::Running { .. }));
}

#[test]
fn ten_faults_in_a_row_are_enough_whatever_they_are() {
    let mut stage = Stage::tasks(&["a"]);
    for n in 0..10 {
        assert!(!happened(&stage.red("a", &n.to_string()), "agent.waiting_for_input"), "{n}");
    }
    assert!(happened(&stage.red("a", "ten"), "agent.waiting_for_input"));
}

// T4.19
#[test]
fn a_mixed_night_ends_well_with_the_counter_reset_in_between() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::IterationTimeout, "slow"));
    assert_eq!(stage.state.task(stage.id("a")).unwrap().counters.consecutive, 1);
    stage.wait();
    let effect = stage.effect_id("a");
    let report = unstuck_core::engine::ProgressReport { validated: true, ..Default::default() };
    stage.must(Command::Progress { effect, report });
    assert_eq!(stage.state.task(stage.id("a")).unwrap().counters.consecutive, 0);
    stage.attempt("a");
    stage.fails("a", fault(Code::ScopeForbidden, "touched it"));
    assert_eq!(stage.state.task(stage.id("a")).unwrap().counters.consecutive, 1);
    stage.succeed("a");
    assert_eq!(stage.state.task(stage.id("a")).unwrap().counters.consecutive, 0);
}

// B1
#[test]
fn a_repeated_approach_is_confirmed_once_and_then_refused_before_any_check() {
    let mut stage = Stage::tasks(&["a"]);
    stage.attempt_as("a", 7);
    let failed = |stage: &mut Stage| {
        let approach = Some(std::sync::Arc::new(crate::engine::story::approach_no(7)));
        let fault = std::sync::Arc::new(red("boom"));
        stage.settle("a", unstuck_core::engine::EffectOutcome::Failed { fault, approach })
    };
    failed(&mut stage);
    stage.attempt_as("a", 7);
    assert_eq!(stage.owed("a").what, EffectKind::Check, "flaky checks get one more chance");
    failed(&mut stage);
    let events = stage.attempt_as("a", 7);
    let repeated = events.iter().any(|event| {
        matches!(event, Event::FaultMet { fault, .. }
            if fault.code() == Code::LogicRepeatedApproach)
    });
    assert!(repeated, "{events:?}");
    assert!(matches!(stage.owed("a").what, EffectKind::Attempt { start: Start::FromBase }));
    // The budget that is charged is the one of the error that was to be got past.
    assert_eq!(stage.state.signatures().count(red("boom").signature), 3);
}

#[test]
fn limits_can_differ_by_code_and_by_task() {
    let mut policy = Policy::default();
    policy.codes.insert(
        Code::ValidationPreCommit,
        unstuck_core::policy::CodeLimits { per_signature: Some(1), ..Default::default() },
    );
    let mut stage = Stage::with(policy);
    let mut own = task("own");
    own.overrides.per_signature = Some(0);
    stage.build(vec![task("a"), own]);
    stage.red("a", "boom");
    assert!(happened(&stage.red("a", "boom"), "agent.waiting_for_input"));
    assert!(happened(&stage.red("own", "else"), "agent.waiting_for_input"));
}

// I13
#[test]
fn a_dependant_starts_when_what_it_needs_is_done() {
    let mut stage = Stage::new();
    stage.build(vec![needing("b", &["a"]), task("a")]);
    assert!(stage.owed_if_any("b").is_none());
    stage.succeed("a");
    assert!(stage.owed_if_any("b").is_some());
    stage.succeed("b");
    assert!(stage.state.builds().all(|build| build.state.has_ended()));
}

#[test]
fn an_error_that_was_forgotten_and_comes_back_leaves_the_others_charged() {
    let mut stage = Stage::tasks(&["a"]);
    stage.red("a", "other");
    stage.red("a", "boom");
    stage.must(Command::Forget { signature: Some(red("boom").signature) });
    stage.red("a", "boom");
    let charged = &stage.state.task(stage.id("a")).unwrap().charged;
    let mut errors: Vec<_> = charged.iter().map(|charged| charged.signature).collect();
    errors.sort_unstable();
    let mut expected = [red("boom").signature, red("other").signature];
    expected.sort_unstable();
    assert_eq!(errors, expected, "each error once");
    stage.succeed("a");
    assert_eq!(stage.state.signatures().count(red("other").signature), 0, "it is given back");
}

/// The text that the agent of a task would be told now.
fn told(stage: &Stage, name: &str) -> Option<String> {
    tell::replan_context(&stage.state, &Policy::default(), stage.owed(name).run)
}

// T4.11, T4.12
#[test]
fn the_next_attempt_is_told_what_the_check_wrote_and_what_was_taken_back() {
    let mut stage = Stage::tasks(&["a"]);
    assert_eq!(told(&stage, "a"), None);
    stage.attempt("a");
    let output = "error: the page is bad".to_owned();
    let check = Validation { command: "check".to_owned(), exit: Some(1), output };
    stage.fails("a", Fault::validation_pre_commit("validate:pre_commit#1", "red", check));
    let text = told(&stage, "a").unwrap();
    assert!(
        text.contains("error: the page is bad") && text.contains("The tree was kept"),
        "{text}"
    );

    stage.attempt("a");
    let files = Files { files: vec!["b".to_owned()], patch: Some("kept/b.patch".to_owned()) };
    stage.fails("a", Fault::scope_outside_allowed("scope", "outside: b", files));
    let text = told(&stage, "a").unwrap();
    assert!(text.contains("were taken back") && text.contains("kept/b.patch"), "{text}");
}

// T2.6: what passed by itself is no reason to look for another way.
#[test]
fn an_agent_that_goes_on_after_a_wait_is_not_told_to_find_another_way() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::ProviderRateLimit, "slow down"));
    stage.wait();
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::Resume });
    assert_eq!(told(&stage, "a"), None);
}

#[test]
fn the_last_approaches_are_remembered_and_older_ones_let_go() {
    let mut policy = Policy::default();
    policy.retry.per_signature = 100;
    policy.retry.consecutive = 100;
    let mut stage = Stage::with(policy);
    stage.build(vec![task("a")]);
    for _ in 0..18 {
        stage.red("a", "boom");
    }
    let record = stage.state.signatures().get(red("boom").signature).unwrap();
    let kept: Vec<String> =
        record.failed.iter().map(|f| f.tried.approach.summary.clone()).collect();
    let expected: Vec<String> = (3..=18).map(|n| format!("approach {n}")).collect();
    assert_eq!(kept, expected);
}

/// A red check that wrote this.
fn red_check(output: &str) -> Fault {
    let check =
        Validation { command: "check".to_owned(), exit: Some(1), output: output.to_owned() };
    Fault::validation_pre_commit("validate:pre_commit#1", "red", check)
}

/// The agent takes the approach of this number, and the check is red.
fn red_as(stage: &mut Stage, approach: u64, output: &str) {
    stage.attempt_as("a", approach);
    let fault = std::sync::Arc::new(red_check(output));
    stage.settle("a", unstuck_core::engine::EffectOutcome::Failed { fault, approach: None });
}

// T0.17: whatever the approaches failed with, they are numbered as they came
#[test]
fn the_next_prompt_numbers_the_approaches_of_the_task() {
    let mut stage = Stage::tasks(&["a"]);
    stage.red("a", "boom");
    let text = told(&stage, "a").unwrap();
    assert!(text.contains("APPROACH 1 FAILED\nThis is approach 2 of 3"), "{text}");
    stage.red("a", "another error");
    let text = told(&stage, "a").unwrap();
    assert!(
        text.contains("APPROACH 2 FAILED\nThis is approach 3, and 2 of 3 for this error"),
        "{text}"
    );
    assert!(text.contains("1. “approach 1”") && text.contains("2. “approach 2”"), "{text}");
    stage.red("a", "boom");
    stage.red("a", "boom");
    let text = told(&stage, "a").unwrap();
    assert!(text.contains("APPROACH 4 FAILED\nThis is approach 5, the last one"), "{text}");
}

// B1, T4.11: a repeated approach does not hide what the check said
#[test]
fn after_a_repeated_approach_the_latest_output_of_the_check_is_still_told() {
    let mut stage = Stage::tasks(&["a"]);
    for _ in 0..2 {
        red_as(&mut stage, 7, "error: the page is bad");
    }
    stage.attempt_as("a", 7);
    let text = told(&stage, "a").unwrap();
    assert!(text.contains("LOGIC_REPEATED_APPROACH"), "{text}");
    assert!(text.contains("WHAT THE LATEST CHECK SAID"), "{text}");
    assert!(text.contains("error: the page is bad"), "{text}");
}

// T4.11: neither does an agent that goes in circles, nor a wait
#[test]
fn after_no_progress_or_a_wait_the_latest_output_of_the_check_is_still_told() {
    let mut stage = Stage::tasks(&["a"]);
    red_as(&mut stage, 1, "error: the page is bad");
    stage.fails("a", fault(Code::ProviderRateLimit, "slow down"));
    stage.wait();
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::Resume });
    let text = told(&stage, "a").unwrap();
    assert!(text.contains("error: the page is bad") && text.contains("approach 2 of 3"), "{text}");
    stage.fails("a", fault(Code::LogicNoProgress, "the same call eight times"));
    let text = told(&stage, "a").unwrap();
    assert!(
        text.contains("LOGIC_NO_PROGRESS") && text.contains("error: the page is bad"),
        "{text}"
    );
    // A green check takes it back.
    stage.attempt("a");
    stage.done("a");
    stage.fails("a", fault(Code::GitConflict, "both changed it"));
    let text = told(&stage, "a").unwrap();
    assert!(!text.contains("error: the page is bad"), "{text}");
}

// B1, T2.3: after an answer the same change is checked again
#[test]
fn an_answer_lets_the_same_change_be_checked_again() {
    for (decision, checked) in
        [(Decision::ProvideGuidance, true), (Decision::SimplerVersion, false)]
    {
        let mut stage = Stage::tasks(&["a"]);
        for _ in 0..2 {
            red_as(&mut stage, 7, "boom");
        }
        stage.attempt_as("a", 7);
        stage.attempt_as("a", 7);
        let question = stage.question().id;
        stage.answer_to(question, decision, Some("keep it; I have fixed the check"));
        let text = told(&stage, "a").unwrap();
        assert!(text.starts_with("GUIDANCE FROM A PERSON"), "{text}");
        assert!(text.contains("keep it; I have fixed the check"), "{text}");
        assert!(!text.contains("fundamentally different"), "{text}");
        stage.attempt_as("a", 7);
        let is_checked = stage.owed("a").what == EffectKind::Check;
        assert_eq!(is_checked, checked, "{decision}");
    }
}

#[test]
fn a_change_that_fails_again_after_the_answer_is_confirmed_once_and_then_refused() {
    let mut stage = Stage::tasks(&["a"]);
    for _ in 0..2 {
        red_as(&mut stage, 7, "boom");
    }
    stage.attempt_as("a", 7);
    stage.attempt_as("a", 7);
    stage.answer(Decision::ProvideGuidance);
    red_as(&mut stage, 7, "boom");
    let text = told(&stage, "a").unwrap();
    assert!(text.contains("APPROACH 1 FAILED\nThis is approach 2 of 3"), "{text}");
    red_as(&mut stage, 7, "boom");
    let events = stage.attempt_as("a", 7);
    let refused = events.iter().any(|event| {
        matches!(event, Event::FaultMet { fault, .. }
            if fault.code() == Code::LogicRepeatedApproach)
    });
    assert!(refused, "{events:?}");
}

// TX3: what was fixed or allowed is no failed approach
#[test]
fn after_fixed_no_line_says_that_the_approach_failed() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::AuthInvalid, "the key was refused"));
    stage.answer(Decision::ProvideCredentials);
    let text = told(&stage, "a").unwrap();
    assert!(text.starts_with("GUIDANCE FROM A PERSON"), "{text}");
    assert!(!text.contains("APPROACH") && !text.contains("not retry"), "{text}");
    // Nor does a wait after it.
    stage.fails("a", fault(Code::ProviderRateLimit, "slow down"));
    stage.wait();
    assert_eq!(told(&stage, "a").unwrap(), text);
}

// T2.2: a new build of the same task knows what failed before it
#[test]
fn the_first_prompt_of_a_rebuild_names_the_approaches_that_failed() {
    let mut stage = Stage::new();
    let build = stage.build(vec![task("a")]);
    stage.red("a", "boom");
    stage.red("a", "boom");
    stage.must(Command::Cancel { build });
    stage.build(vec![task("other")]);
    assert_eq!(told(&stage, "other"), None);
    stage.build(vec![task("a")]);
    let text = told(&stage, "a").unwrap();
    assert!(text.contains("FAILED IN AN EARLIER BUILD"), "{text}");
    assert!(text.contains("“approach 1”") && text.contains("“approach 2”"), "{text}");
    assert!(!text.contains("APPROACH 1 FAILED"), "{text}");
    stage.succeed("a");
    stage.build(vec![task("a")]);
    assert_eq!(told(&stage, "a"), None, "it was done");
}
