//! Events of questions and retries: for the caller of the run, and in the log.

use serde_json::Value;

use crate::project::Project;

const RED: &str = r#"{write = "work/a.txt", text = "broken\n"}"#;
const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;

fn events(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The position of the first event of a type.
fn at(events: &[Value], name: &str) -> usize {
    let found = events.iter().position(|event| event["type"] == name);
    found.unwrap_or_else(|| panic!("{name} is missing: {events:?}"))
}

fn count(events: &[Value], name: &str) -> usize {
    events.iter().filter(|event| event["type"] == name).count()
}

// T1.5, T1.12: the four events have these names, and come at their moments
#[test]
fn retries_questions_pauses_and_answers_are_events() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[RED, RED, GREEN]);
    stage.set("[retry]\nper_signature = 1\npause_after_questions = 1\n");
    let ran = stage.run(&["run", "write a", "--json", "--max-wait", "0"]).exits(4);
    let told = events(&ran.stdout);
    let [fault, retrying, asked, parked, paused] = [
        "run.fault", "agent.retrying", "agent.waiting_for_input", "task.parked",
        "agent.build_paused",
    ]
    .map(|name| at(&told, name));
    assert!(fault < retrying, "a retry follows what failed");
    assert!(retrying < asked && asked < parked && parked < paused, "{told:?}");
    assert_eq!(count(&told, "agent.retrying"), 1);
    assert_eq!(told[retrying]["data"]["attempt"], 1);
    assert_eq!(told[asked]["data"]["question"]["id"], 0);
    let pause = &told[paused]["data"];
    assert_eq!((&pause["cause"], &pause["open_questions"]), (&"questions".into(), &1.into()));
    assert_eq!(count(&told, "agent.build_paused"), 1, "it is paused once");
    assert_eq!(count(&told, "agent.escalation_resolved"), 0, "it is not answered yet");

    let guidance = ["inbox", "answer", "0", "provide_guidance", "--guidance", "write fine"];
    assert_eq!(stage.run(&guidance).exit, 0);
    let ran = stage.run(&["resume", "--json"]).exits(0);
    let resumed = events(&ran.stdout);
    let [resolved, unparked, done] =
        ["agent.escalation_resolved", "task.unparked", "task.done"].map(|name| at(&resumed, name));
    assert!(resolved < unparked && unparked < done, "{resumed:?}");
    let answer = &resumed[resolved]["data"];
    assert_eq!((&answer["question"], &answer["guidance"]), (&0.into(), &"write fine".into()));

    // The log holds the same events, in the same order and without a gap.
    let log = events(&stage.run(&["log", "--json", "--after", "0"]).stdout);
    assert_eq!(log, [told, resumed].concat());
}
