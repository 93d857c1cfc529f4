//! Tests of loops that are recognized, and of work that only looks like one.

use proptest::prelude::*;

use super::*;
use crate::attempt::Observation;
use crate::fault::Code;

fn action(tool: ToolKind, input: &str, outcome: ActionOutcome, output: &str) -> AgentAction {
    let observation = Observation::from_output(outcome, output, "");
    AgentAction { tool, input: input.to_owned(), observation }
}

fn ok(command: &str, output: &str) -> AgentAction {
    action(ToolKind::Command, command, ActionOutcome::Succeeded, output)
}

fn bad(command: &str, output: &str) -> AgentAction {
    action(ToolKind::Command, command, ActionOutcome::Failed, output)
}

fn edit(input: &str) -> AgentAction {
    action(ToolKind::Edit, input, ActionOutcome::Succeeded, "done")
}

fn read(path: &str) -> AgentAction {
    action(ToolKind::Read, path, ActionOutcome::Succeeded, "text")
}

fn poll() -> AgentAction {
    action(ToolKind::Command, "tail build.log", ActionOutcome::Waiting, "building")
}

/// Returns each verdict as a letter: `.` fine, `n` nudge, and the pattern's letter for stuck.
fn letters(steps: &[AgentStep<'_>]) -> String {
    let mut watch = LoopDetector::new(StuckLimits::default(), "");
    let letter = |step: &AgentStep<'_>| match watch.observe(*step) {
        StepVerdict::Fine => '.',
        StepVerdict::Nudge(_) => 'n',
        StepVerdict::Stuck(LoopEvidence { pattern: LoopPattern::SameResult, .. }) => 'R',
        StepVerdict::Stuck(LoopEvidence { pattern: LoopPattern::SameFailure, .. }) => 'F',
        StepVerdict::Stuck(LoopEvidence { pattern: LoopPattern::Alternation, .. }) => 'A',
        StepVerdict::Stuck(LoopEvidence { pattern: LoopPattern::OnlyTalk, .. }) => 'T',
    };
    steps.iter().map(letter).collect()
}

fn seen(actions: &[AgentAction]) -> String {
    letters(&actions.iter().map(AgentStep::Action).collect::<Vec<_>>())
}

#[test]
fn circles_are_recognised() {
    let a = ok("make a", "x");
    let b = ok("make b", "y");
    let c = ok("make c", "z");
    let cases: &[(&str, &[&AgentAction], &str)] = &[
        ("same result", &[&a, &a, &a, &a], "...R"),
        ("it goes on", &[&a, &a, &a, &a, &a], "...RR"),
        ("something new before", &[&b, &a, &a, &a, &a], "....R"),
        ("alternation", &[&a, &b, &a, &b, &a, &b], ".....A"),
        ("alternation, later", &[&c, &a, &b, &a, &b, &a, &b], "......A"),
        ("a circle of three", &[&a, &b, &c, &a, &b, &c, &a, &b, &c, &a, &b, &c], "...........R"),
    ];
    for (name, steps, expected) in cases {
        let steps: Vec<AgentAction> = steps.iter().map(|step| (*step).clone()).collect();
        assert_eq!(seen(&steps), *expected, "{name}");
    }
}

#[test]
fn a_failure_gets_one_nudge_and_then_counts() {
    let fail = |n: u32| bad("cargo test", &format!("{n} failed"));
    let other = ok("npm install", "ok");
    let cases: &[(&str, &[AgentAction], &str)] = &[
        ("the same words", &[fail(1), fail(1), fail(1), fail(1)], "..nR"),
        ("other words each time", &[fail(4), fail(3), fail(2), fail(1)], "..nF"),
        (
            "looking is not doing",
            &[fail(4), read("a"), fail(3), ok("cat b", "b"), fail(2)],
            "....n",
        ),
        ("edited in between", &[fail(4), edit("1"), fail(4), edit("2"), fail(4)], "....."),
        ("another try in between", &[fail(4), fail(3), other.clone(), fail(4), fail(3)], "....."),
        (
            "it helped, and it came back: no second nudge",
            &[fail(9), fail(8), fail(7), other.clone(), fail(6), fail(5), fail(4)],
            "..n...F",
        ),
        (
            "green in between",
            &[fail(4), fail(3), ok("cargo test", "ok"), fail(2), fail(1)],
            ".....",
        ),
    ];
    for (name, steps, expected) in cases {
        assert_eq!(seen(steps), *expected, "{name}");
    }
}

#[test]
fn progress_resets() {
    let test = |n: u32| ok("make", &format!("{n} of 90 done at 12:00:0{n}"));
    assert_eq!(seen(&[test(1), test(1), test(1), test(2), test(2), test(2)]), "......");
    assert_eq!(seen(&(0..50).map(|n| test(n % 60)).collect::<Vec<_>>()), ".".repeat(50));
    let stamped = |n: u32| ok("make", &format!("waiting at 12:00:0{n}"));
    assert_eq!(seen(&[stamped(1), stamped(2), stamped(3), stamped(4)]), "...R");
    // Writing tests and making them pass only looks like an alternation.
    let work: Vec<AgentAction> =
        (0..12).flat_map(|n| [edit(&n.to_string()), ok("make", "all passed")]).collect();
    assert_eq!(seen(&work), ".".repeat(24));
}

#[test]
fn waiting_for_a_running_process_is_no_symptom() {
    assert_eq!(seen(&vec![poll(); 100]), ".".repeat(100));
    let a = ok("make", "x");
    let p = poll();
    let mixed = [&a, &p, &p, &a, &p, &a, &p, &a].map(Clone::clone);
    assert_eq!(seen(&mixed), ".......R", "a poll does not hide a circle either");
    let talk = [
        AgentStep::Message,
        AgentStep::Message,
        AgentStep::Waiting,
        AgentStep::Message,
        AgentStep::Message,
    ];
    assert_eq!(letters(&talk), ".....");
}

#[test]
fn talk_without_action_is_no_progress() {
    let step = read("a");
    let say = action(ToolKind::Narrate, "x", ActionOutcome::Succeeded, "");
    let step = AgentStep::Action(&step);
    let say = AgentStep::Action(&say);
    let talk = AgentStep::Message;
    assert_eq!(letters(&[talk, talk, talk]), "..T");
    assert_eq!(letters(&[talk, talk, step, talk, talk]), ".....");
    assert_eq!(letters(&[talk, say, talk]), "..T");
}

// B3
#[test]
fn prose_about_limits_changes_nothing() {
    for words in ["rate limit exceeded", "401 Unauthorized", "operation timeout", "I am stuck"] {
        let plain = [ok("make", "x"), ok("make", "y"), bad("make", "z"), ok("make", "x")];
        let said: Vec<AgentAction> = plain
            .iter()
            .zip(["x", "y", "z", "x"])
            .map(|(step, output)| {
                let outcome = step.observation.outcome;
                action(step.tool, &step.input, outcome, &format!("{output} {words}"))
            })
            .collect();
        assert_eq!(seen(&plain), seen(&said), "{words}");
    }
}

#[test]
fn evidence_names_the_pattern_and_the_action() {
    let (a, b) = (ok("make b", "x"), edit(r#"{"file_path":"/work/tree/a.rs"}"#));
    let circle = |one: &AgentAction, other: &AgentAction| {
        let mut watch = LoopDetector::new(StuckLimits::default(), "/work/tree");
        let steps = [one, other].into_iter().cycle().take(6);
        match steps.map(|step| watch.observe(AgentStep::Action(step))).last() {
            Some(StepVerdict::Stuck(evidence)) => evidence,
            other => panic!("{other:?}"),
        }
    };
    let evidence = circle(&a, &b);
    assert_eq!(
        (evidence.pattern.as_str(), &*evidence.action),
        ("alternation", "edit a.rs / make b")
    );
    let fault = evidence.to_fault("agent");
    assert_eq!(fault.code(), Code::LogicNoProgress);
    assert_eq!(fault.message, "back and forth for 6 steps: edit a.rs / make b");
    assert_eq!(circle(&b, &a).to_fault("agent").signature, fault.signature);
}

#[test]
fn limits_are_data() {
    let limits: StuckLimits = serde_json::from_str(r#"{"messages": 1}"#).unwrap();
    assert_eq!(limits, StuckLimits { messages: 1, ..StuckLimits::default() });
    assert!(matches!(
        LoopDetector::new(limits, "").observe(AgentStep::Message),
        StepVerdict::Stuck(_)
    ));
    let wide = StuckLimits { same_result: 999, ..StuckLimits::default() };
    let mut watch = LoopDetector::new(wide, "");
    let step = ok("make", "x");
    let verdicts: Vec<_> =
        (0..WINDOW_STEPS).map(|_| watch.observe(AgentStep::Action(&step))).collect();
    assert_eq!(verdicts.iter().filter(|verdict| **verdict != StepVerdict::Fine).count(), 1);
}

fn any_step() -> impl Strategy<Value = Option<AgentAction>> {
    let outcome = prop::sample::select(vec![
        ActionOutcome::Succeeded,
        ActionOutcome::Failed,
        ActionOutcome::Waiting,
    ]);
    let tool = prop::sample::select(vec![ToolKind::Read, ToolKind::Edit, ToolKind::Command]);
    prop::option::weighted(
        0.9,
        (tool, 0..3_u8, outcome, 0..3_u8).prop_map(|(tool, input, outcome, output)| {
            action(tool, &format!("x{input}"), outcome, &format!("y{output}"))
        }),
    )
}

proptest! {
    #[test]
    fn memory_is_bounded_and_a_stored_watch_goes_on_as_before(
        steps in prop::collection::vec(any_step(), 0..120), stop in 0_usize..120,
    ) {
        let mut watch = LoopDetector::new(StuckLimits::default(), "/w");
        let mut stored = watch.clone();
        for (n, step) in steps.iter().enumerate() {
            let step = step.as_ref().map_or(AgentStep::Message, AgentStep::Action);
            prop_assert_eq!(watch.observe(step), stored.observe(step));
            if n == stop {
                stored = serde_json::from_str(&serde_json::to_string(&stored).unwrap()).unwrap();
            }
            prop_assert!(watch.window.len() <= WINDOW_STEPS);
            prop_assert!(watch.failing.len() <= FAILING_ACTIONS_MAX);
            prop_assert!(watch.nudged.len() <= NUDGES_MAX);
        }
    }

    #[test]
    fn steps_that_are_all_new_and_succeed_never_trip(length in 0_usize..200) {
        let steps: Vec<AgentAction> = (0..length).map(|n| ok("make", &format!("line {n}"))).collect();
        prop_assert_eq!(seen(&steps), ".".repeat(length));
    }

    #[test]
    fn polls_anywhere_change_no_verdict(
        steps in prop::collection::vec(any_step(), 0..60), polls in 0_usize..4,
    ) {
        let actions: Vec<AgentAction> = steps.into_iter().flatten().collect();
        let mut plain = LoopDetector::new(StuckLimits::default(), "");
        let mut polled = plain.clone();
        for step in &actions {
            for _ in 0..polls {
                prop_assert_eq!(polled.observe(AgentStep::Action(&poll())), StepVerdict::Fine);
            }
            prop_assert_eq!(plain.observe(AgentStep::Action(step)), polled.observe(AgentStep::Action(step)));
        }
    }
}
