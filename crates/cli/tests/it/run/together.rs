//! A run beside others in one project.

use crate::project::Project;

const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;

#[test]
fn a_run_beside_the_holder_of_the_project_is_not_refused() {
    let stage = Project::with_agent("write-a", &[GREEN]);
    stage.fifo("up");
    stage.fifo("go");
    let holder = stage.start(&["exec", "--", "sh", "-c", "echo > up; cat go; echo held"]);
    stage.hear("up");
    stage.run(&["run", "write a"]).exits(0);
    assert_eq!(stage.on_branch("unstuck/b1", "work/a.txt"), "fine\n");
    std::fs::write(stage.path("go"), "").unwrap();
    assert_eq!(holder.end(), (Some(0), "held\n".to_owned()));
}

// B91
#[test]
fn when_the_holder_ends_the_run_takes_the_project_and_its_agent_works_on() {
    let stage = Project::with_agents();
    let slow = r#"{run = "echo > ../../../working; cat ../../../on"}, {write = "work/a.txt", text = "fine\n"}"#;
    stage.agent("write-a", &[slow]);
    stage.commit();
    stage.fifos(&["up", "go", "working", "on"]);
    let holder = stage.start(&["exec", "--", "sh", "-c", "echo > up; cat go"]);
    stage.hear("up");
    let run = stage.start(&["run", "write a"]);
    stage.hear("working");
    std::fs::write(stage.path("go"), "").unwrap();
    assert_eq!(holder.end().0, Some(0));
    std::fs::write(stage.path("on"), "").unwrap();
    let (exit, said) = run.end();
    assert_eq!(exit, Some(0), "{said}");
    assert_eq!(said.matches("Working on").count(), 1, "{said}");
    assert!(!said.contains("interrupted") && !said.contains("ontinuing"), "{said}");
    assert_eq!(stage.on_branch("unstuck/b1", "work/a.txt"), "fine\n");
}
