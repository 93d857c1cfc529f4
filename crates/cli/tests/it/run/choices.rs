//! What a person can choose fits the case, and says what it leads to.

use serde_json::{Value, json};
use unstuck_core::engine::Event;
use unstuck_world::fake::server::{FakeAnswer, FakeScript, FakeServer, FakeToolCall};

use super::models::ANTHROPIC;
use crate::program::{Ran, finish};
use crate::project::{Project, outside};

const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;

fn shown(stage: &Project) -> Value {
    serde_json::from_str(&stage.run(&["inbox", "show", "0", "--json"]).stdout).unwrap()
}

fn values(question: &Value) -> Vec<&str> {
    let options = question["options"].as_array().unwrap();
    options.iter().map(|option| option["value"].as_str().unwrap()).collect()
}

/// Has the settings of runs begin with these.
fn set_run(stage: &Project, settings: &str) {
    stage.replace_setting("[run]\n", &format!("[run]\n{settings}\n"));
    stage.commit();
}

// B34: a setup command that fails is one question, before anything is spent
#[test]
fn a_setup_command_that_fails_is_asked_about_once() {
    let stage = Project::with_agents();
    stage.write("prepare.sh", "test -n \"$1\" || { echo 'there is no libfoo.h here'; exit 3; }\n");
    stage.agent("write-a", &[GREEN]);
    set_run(&stage, "setup = [\"sh prepare.sh\"]");
    let ran = stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    let said = "The setup command “sh prepare.sh” ended with 3, so the work has not begun.";
    assert!(ran.stderr.contains(said) && !ran.stdout.contains("different approach"), "{ran}");
    assert_eq!(stage.count(|event| matches!(event, Event::FaultMet { .. })), 1);
    let question = shown(&stage);
    assert_eq!(values(&question), ["provide_credentials", "skip_feature"]);
    assert_eq!(question["evidence"]["command"], "sh prepare.sh", "{question}");
    let output = question["evidence"]["output"].as_str().unwrap();
    assert!(output.contains("there is no libfoo.h here"), "{question}");
    stage.replace_setting("sh prepare.sh", "sh prepare.sh libfoo");
    stage.run(&["inbox", "answer", "0", "fixed"]).exits(0);
    stage.run(&["resume", "--max-wait", "0"]).exits(0);
    assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
}

// B80: a question that is there before anything is listened to is shown, with what is wanted
#[test]
fn too_little_room_is_said_in_the_terminal_with_both_sizes() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[GREEN]);
    set_run(&stage, "disk_free_mb = 900000000");
    let ran = stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    let said =
        ["too little space on the disk", "are free at", "run.disk_free_mb asks for 878906.2 GB"];
    for part in said.into_iter().chain(["unstuck inbox answer q0 fixed"]) {
        assert!(ran.stderr.contains(part), "{part}: {ran}");
    }
    // Nothing but room is missing, so nothing is said to be tried differently.
    assert!(!ran.stdout.contains("different approach"), "{ran}");
}

/// The model writes a file and is done, as often as it is asked to.
fn works() -> [FakeAnswer; 2] {
    let write = json!({ "path": "work/a.txt", "content": "fine\n" });
    let done = json!({ "summary": "It is written." });
    [
        FakeAnswer::with_calls([FakeToolCall::new("write_file", &write)]),
        FakeAnswer::with_calls([FakeToolCall::new("task_done", &done)]),
    ]
}

/// A model whose price is known.
fn priced(stage: &Project, service: &FakeServer, args: &[&str]) -> Ran {
    finish(ANTHROPIC.unstuck(stage, service, args).env("UNSTUCK_AGENT_MODEL", "claude-sonnet-5-5"))
}

// B81: the recommended answer to a budget that is too small lets the work go on
#[test]
fn going_on_gives_the_next_step_room() {
    let (stage, outside) = (Project::with_agents(), outside());
    stage.set("[budget]\nper_task = { money = \"$0.05\" }\n");
    let [write, done] = works();
    let service = outside.block_on(FakeServer::start(FakeScript::new([write], done))).unwrap();
    let ran = priced(&stage, &service, &["run", "write a", "--max-wait", "0"]);
    assert!(matches!(ran.exit, 3 | 4), "{ran}");
    assert_eq!(service.model_calls().len(), 0, "{ran}");
    let question = shown(&stage);
    assert_eq!(question["recommended"], "continue", "{question}");
    let going_on = question["options"][0]["description"].as_str().unwrap();
    assert!(going_on.contains(" more ($") && going_on.contains(" in all)"), "{going_on}");
    assert_eq!(stage.run(&["inbox", "answer", "0", "continue"]).exit, 0);
    priced(&stage, &service, &["resume", "--max-wait", "0"]).exits(0);
    assert_eq!(stage.questions().len(), 1, "it is asked once");
}

// B82: what the parts cost adds up to what all of it cost
#[test]
fn costs_below_a_cent_add_up() {
    let (stage, outside) = (Project::with_agents(), outside());
    stage.write("plan.md", "- [ ] Write one\n- [ ] Write two\n- [ ] Write three\n");
    stage.commit();
    let write = |name: &str| {
        let file = json!({ "path": format!("work/{name}.txt"), "content": "fine\n" });
        FakeAnswer::with_calls([FakeToolCall::new("write_file", &file)])
    };
    let [_, done] = works();
    let answers = [write("one"), done.clone(), write("two"), done.clone(), write("three")];
    let service = outside.block_on(FakeServer::start(FakeScript::new(answers, done))).unwrap();
    set_run(&stage, "jobs = 1");
    priced(&stage, &service, &["run", "plan.md"]).exits(0);
    let report = stage.run(&["report"]);
    let amount = |line: &str| -> f64 {
        let at = line.rfind('$').unwrap_or_else(|| panic!("no cost in {line}"));
        let digits = |c: &char| c.is_ascii_digit() || *c == '.';
        line[at + 1..].chars().take_while(digits).collect::<String>().parse().unwrap()
    };
    let row = |name: &str| {
        let mut lines = report.stdout.lines();
        let row = lines.rfind(|line| line.contains(name) && line.contains('$'));
        amount(row.unwrap_or_else(|| panic!("no row of {name}: {report}")))
    };
    let sum: f64 = ["Write one", "Write two", "Write three"].into_iter().map(row).sum();
    assert!((sum - row("All together")).abs() < 0.000_21, "{report}");
}

const PIPELINE: &str = ".github/workflows/ci.yml";

/// An agent that empties the pipeline, and then does what `steps` say.
fn with_pipeline(steps: &[&str]) -> Project {
    let stage = Project::with_agents();
    stage.write(PIPELINE, "on: push\njobs:\n  test:\n    steps: [{ run: make test }]\n");
    stage.agent("write-a", steps);
    stage.set("[scope]\nask_first = [\".github/**\"]\n");
    stage
}

const EMPTIED: &str = r#"{write = ".github/workflows/ci.yml", text = "on: push\njobs: {}\n"}"#;

// B83: files that are asked about first: safe is recommended, the change is shown, the rest is kept
#[test]
fn work_goes_on_without_the_files_that_need_a_yes() {
    let stage = with_pipeline(&[&format!("{EMPTIED}, {GREEN}")]);
    stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    let question = shown(&stage);
    assert_eq!(question["recommended"], "provide_guidance", "{question}");
    assert_eq!(question["options"][0]["label"], "Continue without it", "{question}");
    let diff = &question["evidence"]["diff"];
    assert_eq!(
        (&diff["files_changed"], &diff["whole"]),
        (&json!(2), &json!("unstuck inbox diff 0"))
    );
    let text = question["recommended_text"].as_str().unwrap();
    assert!(text.contains("unstuck inbox diff 0"), "{text}");
    let change = stage.run(&["inbox", "diff", "0"]);
    assert!(change.stdout.contains("+jobs: {}"), "{change}");
    assert_eq!(stage.run(&["inbox", "answer", "0", "Continue without it"]).exit, 0);
    stage.run(&["resume", "--max-wait", "0"]).exits(0);
    assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
    assert_eq!(stage.git(&["diff", "--name-only", "main", "unstuck/b0"]), "work/a.txt\n");
    assert_eq!(stage.tasks()[0].moved.attempts, 1);
}

// B83: where nothing is left without them, the agent finds another way
#[test]
fn work_that_is_nothing_without_those_files_is_done_anew() {
    let stage = with_pipeline(&[EMPTIED, GREEN]);
    assert_eq!(stage.run(&["run", "write a", "--max-wait", "0"]).exit, 3);
    assert_eq!(stage.run(&["inbox", "answer", "0", "continue-without-it"]).exit, 0);
    stage.run(&["resume", "--max-wait", "0"]).exits(0);
    assert_eq!(stage.git(&["diff", "--name-only", "main", "unstuck/b0"]), "work/a.txt\n");
}

// B84: a word that is no choice is answered with each choice as it is typed
#[test]
fn a_word_that_is_no_choice_lists_each_choice_once() {
    let stage = with_pipeline(&[EMPTIED]);
    assert_eq!(stage.run(&["run", "write a", "--max-wait", "0"]).exit, 3);
    let ran = stage.run(&["inbox", "answer", "0", "perhaps"]).exits(2);
    for choice in ["answer 0 allow_once`: Allow it this once", "answer 0 deny`: Do not allow it"] {
        assert_eq!(ran.stderr.matches(choice).count(), 1, "{choice}: {ran}");
    }
    assert!(ran.stderr.contains(": Continue without it"), "{ran}");
    let land = stage.run(&["land"]);
    assert!(!land.stdout.contains("already"), "{land}");
}
