//! An agent knocks at the doors of its own supervisor.

use unstuck_core::engine::Event;

use crate::project::Project;

/// Controls every task and question of the project, without the variables that say whose child it is;
/// how each ended becomes part of its work.
const ATTACK: &str = r#"#!/bin/sh
mkdir -p work
for verb in "pause" "skip b" "cancel" "kick b" "inbox answer q0 skip_feature"; do
    "$1" -C "$2" $verb >>work/said.txt 2>&1
    echo "$verb: $?" >>work/ended.txt
done
"#;

// B18: one task's agent controls neither another task nor the build, and answers no question.
#[test]
fn an_agent_without_its_token_is_still_only_its_runs_child() {
    let stage = Project::with_agents();
    stage.write("attack.sh", ATTACK);
    let own = env!("CARGO_BIN_EXE_unstuck");
    let attack = format!(
        r#"{{run = "env -i PATH=$PATH setsid sh attack.sh {own} {root}"}}, {{write = "work/a.txt", text = "fine\n"}}"#,
        root = stage.path("").display()
    );
    stage.agent("a", &[&attack]);
    stage.agent("b", &[r#"{write = "work/b.txt", text = "fine\n"}"#]);
    stage.write("tasks/a.md", "# a\n");
    stage.write("tasks/b.md", "---\ndepends_on: [a]\n---\n# b\n");
    stage.commit();
    stage.run(&["run", "tasks/"]).exits(0);
    let ended = stage.on_branch("unstuck/b0", "work/ended.txt");
    let said = stage.on_branch("unstuck/b0", "work/said.txt");
    assert_eq!(ended.lines().count(), 5, "{ended}");
    assert!(ended.lines().all(|line| !line.ends_with(": 0")), "{ended} {said}");
    assert_eq!(stage.states(), [("a".to_owned(), "done"), ("b".to_owned(), "done")]);
}

// B16: with default settings nothing that an agent declares runs unasked, and after the yes it runs
// once.
#[test]
fn a_command_that_an_agent_declares_runs_only_after_a_persons_yes() {
    for (answer, came) in [("allow_once", Some("paid\n")), ("deny", None)] {
        let stage = Project::with_agents();
        stage.write("pay.sh", "exec \"$1\" mutate --key pay -- sh -c 'echo paid'\n");
        let own = env!("CARGO_BIN_EXE_unstuck");
        let pay =
            format!(r#"{{run = "sh pay.sh {own}"}}, {{write = "work/a.txt", text = "fine\n"}}"#);
        stage.agent("write-a", &[&pay]);
        stage.commit();
        stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
        assert_eq!(paid(&stage), None);
        let shown = stage.run(&["inbox", "show", "0"]);
        assert!(shown.stdout.contains("sh -c 'echo paid'"), "{shown}");
        stage.run(&["inbox", "answer", "0", answer]).exits(0);
        stage.run(&["resume"]).exits(0);
        assert_eq!(paid(&stage).as_deref(), came, "{answer}");
        assert_eq!(stage.states(), [("write-a".to_owned(), "done")], "{answer}");
    }
}

/// What came back from the payment, where it was made.
fn paid(stage: &Project) -> Option<String> {
    let events = stage.events();
    let action = events.iter().find_map(|recorded| match &recorded.event {
        Event::MutationIntended { mutation, spec, .. } if spec.key == "pay" => Some(*mutation),
        _ => None,
    });
    events.iter().find_map(|recorded| match &recorded.event {
        Event::MutationApplied { mutation, result } if Some(*mutation) == action => {
            Some(result.to_string())
        }
        _ => None,
    })
}

// B16: what decides how the project is built, checked and looked after is changed only with a yes.
#[test]
fn settings_jobs_pipelines_and_hooks_are_changed_only_when_a_person_says_so() {
    // `unstuck.toml` is put back before the checks instead.
    for path in
        ["deep/unstuck.toml", "jobs/nightly.md", ".github/workflows/ci.yml", ".husky/pre-push"]
    {
        let stage = Project::with_agents();
        let change = format!(r##"{{write = "{path}", text = "# mine\n"}}"##);
        stage.agent("write-a", &[&change]);
        stage.commit();
        let ran = stage.run(&["run", "write a", "--max-wait", "0"]);
        assert_eq!(ran.exit, 3, "{path}: {ran}");
        let shown = stage.run(&["inbox", "show", "0"]);
        assert!(shown.stdout.contains(path), "{path}: {shown}");
    }
}
