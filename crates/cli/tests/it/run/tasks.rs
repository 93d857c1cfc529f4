//! Tasks as people write them: files, folders and plans.

use crate::project::Project;

/// Writes a file of its own.
fn writes(name: &str) -> String {
    format!(r#"{{write = "work/{name}.txt", text = "fine\n"}}"#)
}

fn task(stage: &Project, name: &str, front: &str) {
    let text = format!("---\n{front}\n---\n# Do {name}\n\n## Goal\nThe file is written.\n");
    stage.write(&format!("tasks/{name}.md"), &text);
    stage.agent(name, &[&writes(name)]);
}

#[test]
fn a_folder_of_files_is_done_in_the_order_of_their_needs() {
    let stage = Project::with_agents();
    task(&stage, "001-first", "depends_on: 002");
    task(&stage, "002-second", "priority: -5");
    stage.write("tasks/README.md", "What these files are.\n");
    stage.commit();
    let ran = stage.run(&["run", "--dry-run", "tasks/"]).exits(0);
    insta::assert_snapshot!(ran.stdout);
    stage.run(&["run"]).exits(0);
    let subjects = stage.git(&["log", "--format=%s", "main..unstuck/b0"]);
    assert_eq!(subjects, "Do 001-first\nDo 002-second\n");
}

#[test]
fn items_of_a_plan_are_ticked_as_they_are_done() {
    let stage = Project::with_agents();
    stage.write(
        "plan.md",
        "# Friday\n\n- [ ] Add timeouts\n- [x] Old thing\n- [ ] Faster importer\n",
    );
    for name in ["add-timeouts", "faster-importer"] {
        stage.agent(name, &[&writes(name)]);
    }
    stage.commit();
    stage.run(&["run", "plan.md"]).exits(0);
    let plan = std::fs::read_to_string(stage.path("plan.md")).unwrap();
    assert_eq!(plan, "# Friday\n\n- [x] Add timeouts\n- [x] Old thing\n- [x] Faster importer\n");
}

// T4.14: everything that is wrong is told before anything starts
#[test]
fn all_that_is_wrong_with_all_files_is_told_at_once() {
    let stage = Project::with_agents();
    task(&stage, "001-first", "depends_on: [003]\npriorty: 3");
    task(&stage, "002-second", "depends_on: 001");
    stage.write("tasks/004-broken.md", "---\nid: [\n---\n# Broken\n");
    stage.commit();
    let ran = stage.run(&["run", "tasks/"]).exits(78);
    for place in ["tasks/001-first.md:2: ", "tasks/001-first.md:3: ", "tasks/004-broken.md:"] {
        assert!(ran.stderr.contains(place), "{place}: {ran}");
    }
    assert!(!stage.path(".unstuck/state.db").exists(), "nothing was started");
}

#[test]
fn a_circle_is_named_and_a_mistyped_file_is_no_goal() {
    let stage = Project::with_agents();
    task(&stage, "a", "depends_on: b");
    task(&stage, "b", "depends_on: a");
    stage.commit();
    let ran = stage.run(&["run", "tasks/"]).exits(78);
    assert!(ran.stderr.contains("a → b → a") || ran.stderr.contains("b → a → b"), "{ran}");
    assert_eq!(stage.run(&["run", "taks/"]).exit, 2);
    assert_eq!(stage.run(&["run", "no-such-file.md"]).exit, 2);
}

// A task of an earlier build that is done and on the branch is as good as one of this build.
#[test]
fn a_need_is_met_by_an_earlier_build_once_it_has_landed() {
    let stage = Project::with_agents();
    task(&stage, "001-base", "priority: 1");
    task(&stage, "002-roof", "depends_on: 001");
    stage.commit();
    let refused = |why: &str, way: &str| {
        let ran = stage.run(&["run", "tasks/002-roof.md"]).exits(78);
        assert!(ran.stderr.contains(why) && ran.stderr.contains(way), "{ran}");
    };
    refused("it needs `001-base`, which is not done", "`unstuck run tasks/001-base.md` does it");
    assert!(!stage.path(".unstuck/state.db").exists(), "nothing was started");
    stage.run(&["run", "tasks/001-base.md"]).exits(0);
    refused("which is done and not on your branch yet", "`unstuck land b0 --merge` brings it");
    stage.git(&["merge", "--quiet", "--squash", "unstuck/b0"]);
    stage.commit();
    stage.run(&["run", "tasks/002-roof.md"]).exits(0);
    assert_eq!(stage.git(&["log", "--format=%s", "main..unstuck/b1"]), "Do 002-roof\n");
}

#[test]
fn tasks_run_side_by_side_unless_they_may_change_the_same() {
    let stage = Project::with_agents();
    // Each waits for the other to begin: alone, neither would end.
    for (name, mine, other) in [("a", "a-up", "b-up"), ("b", "b-up", "a-up")] {
        let scope = format!("## Scope\n### Allowed\n- `work/{name}.txt`\n");
        stage.write(
            &format!("tasks/{name}.md"),
            &format!("# Do {name}\n\nIt is written.\n\n{scope}"),
        );
        let meet = format!(
            r#"{{run = "touch ../../../{mine}; while ! test -e ../../../{other}; do :; done"}}"#
        );
        stage.agent(name, &[&format!("{meet}, {}", writes(name))]);
    }
    stage.commit();
    stage.run(&["run", "tasks/", "--jobs", "2"]).exits(0);
}
