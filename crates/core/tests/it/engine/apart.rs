//! Tasks that may change the same part of a project do not run side by side.

use unstuck_core::engine::{Command, TaskState};
use unstuck_core::fault::Code;
use unstuck_core::plan::{ScopeSpec, TaskSpec};
use unstuck_core::question::Decision;

use crate::engine::story::{Stage, fault, task};

fn within(name: &str, globs: &[&str]) -> TaskSpec {
    let allowed = globs.iter().map(|&glob| glob.to_owned()).collect();
    TaskSpec { scope: ScopeSpec { allowed, forbidden: Vec::new() }, ..task(name) }
}

fn alone(name: &str) -> TaskSpec {
    TaskSpec { serialize: true, ..task(name) }
}

fn urgent(priority: i32, spec: TaskSpec) -> TaskSpec {
    TaskSpec { priority, ..spec }
}

fn on_stage(tasks: Vec<TaskSpec>, slots: u32) -> Stage {
    let mut stage = Stage::new();
    stage.build_with_slots(tasks, slots);
    stage
}

fn running(stage: &Stage) -> Vec<&str> {
    let runs = |state: &TaskState| matches!(state, TaskState::Running { .. });
    let tasks = stage.state.tasks().filter(|task| runs(&task.state));
    tasks.map(|task| stage.state.task(task.id).unwrap().spec.name.as_str()).collect()
}

// I15
#[test]
fn who_starts_beside_whom() {
    let table: [(&str, Vec<TaskSpec>, &[&str]); 8] = [
        (
            "no scope meets no other",
            vec![task("a"), within("b", &["**"]), task("c")],
            &["a", "b", "c"],
        ),
        (
            "one in the other",
            vec![within("a", &["src/**"]), within("b", &["src/api/*.rs"])],
            &["a"],
        ),
        (
            "side by side",
            vec![within("a", &["src/a/**"]), within("b", &["src/ab/**"])],
            &["a", "b"],
        ),
        (
            "the next that fits takes the place",
            vec![within("a", &["src/**"]), within("b", &["src/b"]), within("c", &["docs"])],
            &["a", "c"],
        ),
        (
            "the more urgent first",
            vec![within("a", &["src/**"]), urgent(1, within("b", &["src/b"]))],
            &["b"],
        ),
        (
            "no task overtakes what it meets",
            vec![within("a", &["src/a"]), within("b", &["**"]), within("c", &["docs"]), task("d")],
            &["a", "d"],
        ),
        ("alone", vec![alone("a"), task("b"), within("c", &["src"])], &["a"]),
        ("before the one that runs alone", vec![task("a"), alone("b"), task("c")], &["a"]),
    ];
    for (said, tasks, expected) in table {
        assert_eq!(running(&on_stage(tasks, 8)), expected, "{said}");
    }
}

// I15
#[test]
fn the_way_is_free_when_the_other_ends_or_waits() {
    let two = || on_stage(vec![within("a", &["src/**"]), within("b", &["src/b.rs"])], 4);
    let mut stage = two();
    stage.succeed("a");
    assert_eq!(running(&stage), ["b"]);

    let mut stage = two();
    stage.fails("a", fault(Code::AuthInvalid, "no"));
    assert_eq!(running(&stage), ["b"], "a task that waits for a person is not in the way");
    stage.answer(Decision::ProvideCredentials);
    assert_eq!(running(&stage), ["b"], "and takes a place when that is free again");
    stage.succeed("b");
    assert_eq!(running(&stage), ["a"]);
    stage.succeed("a");
}

#[test]
fn a_build_that_is_held_goes_on_with_those_that_ran() {
    let mut stage =
        on_stage(vec![within("a", &["src"]), within("b", &["docs"]), within("c", &["src"])], 4);
    let build = stage.state.builds().next().unwrap().id;
    stage.must(Command::Pause { build });
    stage.must(Command::Resume { build });
    assert_eq!(running(&stage), ["a", "b"]);
    stage.must(Command::Recover { task: None, clean: true });
    assert_eq!(running(&stage), ["a", "b"]);
}

// I7: small tasks do not hold up one that runs alone.
#[test]
fn a_task_that_runs_alone_gets_its_turn() {
    let mut tasks: Vec<TaskSpec> = (0..6).map(|n| task(&format!("t{n}"))).collect();
    tasks.insert(3, alone("alone"));
    let mut stage = on_stage(tasks, 2);
    stage.succeed("t0");
    assert_eq!(running(&stage), ["t1", "t2"]);
    stage.succeed("t1");
    assert_eq!(running(&stage), ["t2"], "no task overtakes it");
    stage.succeed("t2");
    assert_eq!(running(&stage), ["alone"]);
    stage.succeed("alone");
    assert_eq!(running(&stage), ["t3", "t4"]);
}

#[test]
fn a_gate_that_is_closed_keeps_no_place() {
    let other_account =
        |spec: TaskSpec| TaskSpec { gate: unstuck_core::engine::GateKey(7), ..spec };
    let mut stage = on_stage(
        vec![
            within("a", &["src/a"]),
            within("wide", &["**"]),
            other_account(within("c", &["docs"])),
            other_account(alone("last")),
        ],
        4,
    );
    assert_eq!(running(&stage), ["a"], "the wide one is next");
    stage.fails("a", fault(Code::ProviderRateLimit, "slow down"));
    assert_eq!(running(&stage), ["c"], "it cannot start now, so it is not in the way");
    stage.wait();
    assert_eq!(running(&stage), ["a", "c"], "the one that tries the account first");
}

#[test]
fn hundreds_of_scopes_are_all_done_in_the_end() {
    let files = (0..500).map(|n| within(&format!("t{n}"), &[&format!("src/{n}/x")]));
    let mut stage = Stage::new();
    stage.quiet = true;
    let mut tasks: Vec<TaskSpec> = files.collect();
    tasks.insert(0, within("wide", &["src/**"]));
    stage.build_with_slots(tasks, 16);
    assert_eq!(running(&stage), ["wide"]);
    stage.succeed("wide");
    while let Some(name) = running(&stage).first().map(|&name| name.to_owned()) {
        assert!(running(&stage).len() <= 16);
        stage.succeed(&name);
    }
    let done = stage.state.tasks().filter(|task| task.state == TaskState::Done).count();
    assert_eq!(done, 501);
}

#[test]
fn a_state_with_tasks_kept_apart_survives_being_written_down() {
    let stage = on_stage(vec![within("a", &["src"]), within("b", &["src/x"]), alone("c")], 4);
    let written = serde_json::to_string(&stage.state).unwrap();
    assert_eq!(serde_json::from_str::<unstuck_core::engine::State>(&written).unwrap(), stage.state);
    let plain = serde_json::to_string(&Stage::tasks(&["a"]).state).unwrap();
    assert!(!plain.contains("apart") && !plain.contains("beside"), "{plain}");
}
