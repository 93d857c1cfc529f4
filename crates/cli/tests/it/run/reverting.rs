//! A change that cannot be taken back: nothing is done in its worktree any more, and nothing is lost.

use std::fs;

use unstuck_core::fault::Code;

use crate::project::Project;

/// Works inside its fence and outside of it, once it is let go.
const OUTSIDE: &str = r#"{run = "echo up > $HOME/up; cat $HOME/go"}, {write = "work/a.txt", text = "fine\n"}, {write = "outside.txt", text = "mine\n"}"#;
const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;

fn stage() -> Project {
    let stage = Project::with_agents();
    stage.agent("write-a", &[OUTSIDE]);
    stage.write(".gitignore", "/up\n/go\n/.local\n");
    stage.set("[scope]\nallowed = [\"work/**\"]\n");
    stage.fifo("up");
    stage.fifo("go");
    stage
}

/// What is taken back is kept as a patch first; here there is no place for one.
fn leave_no_place_for_patches(stage: &Project) {
    let patches = stage.path(".unstuck/tasks/t0/patches");
    let _ = fs::remove_dir_all(&patches);
    fs::write(patches, "").unwrap();
}

fn run(stage: &Project, args: &[&str]) -> (Option<i32>, String) {
    let running = stage.start(args);
    stage.hear("up");
    leave_no_place_for_patches(stage);
    fs::write(stage.path("go"), "").unwrap();
    running.end()
}

// T4.17: the run ends at once, its worktree is kept as it is, and the work goes on in another one
#[test]
fn a_change_that_cannot_be_taken_back_sets_the_worktree_aside() {
    let stage = stage();
    let (exit, said) = run(&stage, &["run", "write a", "--json", "--max-wait", "0"]);
    assert_eq!(exit, Some(3), "{said}");
    assert_eq!(stage.fault_codes(), [Code::GitRevertFailed], "it is not tried again");
    assert!(said.contains(r#""status":"failed:internal""#), "{said}");
    let task = stage.tasks().remove(0);
    assert_eq!((task.moved.attempts, task.moved.counters.consecutive), (1, 0));
    let worktree = stage.path(".unstuck/worktrees/t0");
    assert_eq!(fs::read_to_string(worktree.join("outside.txt")).unwrap(), "mine\n");

    fs::remove_file(stage.path(".unstuck/tasks/t0/patches")).unwrap();
    let question = stage.questions().remove(0);
    let mut goes_on = question.text.options.iter().map(|option| option.value.as_str());
    let goes_on = goes_on.find(|value| *value != "skip_feature").unwrap().to_owned();
    stage.agent("write-a", &[GREEN]);
    stage.run(&["inbox", "answer", "0", &goes_on, "--guidance", "try once more"]).exits(0);
    stage.run(&["resume"]).exits(0);
    assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
    let aside: Vec<_> = fs::read_dir(stage.path(".unstuck/aside")).unwrap().collect();
    let kept = aside[0].as_ref().unwrap().path().join("outside.txt");
    assert_eq!(fs::read_to_string(kept).unwrap(), "mine\n", "the old one is kept");
}

// T4.17: a person's own tree cannot be set aside, so the build ends, and the tree stays as it is
#[test]
fn in_a_persons_own_tree_the_build_ends() {
    let stage = stage();
    let (exit, said) = run(&stage, &["run", "write a", "--json", "--in-place"]);
    assert_eq!(exit, Some(70), "{said}");
    assert_eq!(stage.fault_codes(), [Code::GitRevertFailed]);
    let failed = said.lines().find(|line| line.contains("build.failed")).unwrap();
    let failed: serde_json::Value = serde_json::from_str(failed).unwrap();
    assert_eq!(failed["code"], "GIT_REVERT_FAILED");
    assert_eq!(failed["category"], "git");
    assert_eq!(fs::read_to_string(stage.path("outside.txt")).unwrap(), "mine\n");
    assert_eq!(stage.questions().len(), 0);
}
