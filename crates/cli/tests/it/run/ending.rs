//! Ends of a run: everything done, something not, a person needed, paused.

use unstuck_core::engine::Event;
use unstuck_core::fault::Code;
use unstuck_testkit::stage::write_program;

use crate::program::ran;
use crate::project::Project;

const GREEN: &str = r#"{say = "I write it."}, {write = "work/a.txt", text = "fine\n"}"#;
const RED: &str = r#"{say = "I write it."}, {write = "work/a.txt", text = "broken\n"}"#;

// TX12: all done is 0
#[test]
fn green_work_lands_on_the_builds_branch_and_nowhere_else() {
    let stage = Project::with_agent("write-a", &[GREEN]);
    let ran = stage.run(&["run", "write a"]).exits(0);
    assert!(ran.stdout.contains("1 of 1 task done"), "{ran}");
    assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
    assert!(!stage.path("work").exists(), "the person's own tree is not touched");
    assert_eq!(stage.git(&["status", "--porcelain"]), "");
}

// T4.11: the check's output goes into the next prompt, and the second approach is another one
#[test]
fn a_red_check_is_healed_by_another_approach() {
    let stage = Project::with_agent("write-a", &[RED, GREEN]);
    let ran = stage.run(&["run", "write a"]).exits(0);
    assert!(ran.stdout.contains("a different approach (2 of 3)"), "{ran}");
    assert_eq!(stage.tasks()[0].moved.attempts, 2);
    assert_eq!(stage.questions().len(), 0);
}

// A task that was left out is told apart from one that failed, and an ended build is named.
#[test]
fn a_task_that_was_left_out_says_so_at_the_end() {
    let stage = Project::with_agent("write-a", &[RED, RED, RED, RED]);
    stage.set("[retry]\nper_signature = 1\n");
    let ran = stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    assert!(ran.stdout.contains("for “write a”: the check “"), "{ran}");
    assert_eq!(stage.run(&["inbox", "answer", "0", "skip_feature"]).exit, 0);
    let ran = stage.run(&["resume"]).exits(1);
    assert!(ran.stdout.contains("– write a  left out, as you chose · "), "{ran}");
}

#[test]
fn no_task_at_a_time_is_refused() {
    let stage = Project::with_agent("write-a", &[GREEN]);
    stage.run(&["run", "write a", "--jobs", "0"]).exits(2);
    stage.replace_setting("[run]\n", "[run]\njobs = 0\n");
    let ran = stage.run(&["run", "write a"]).exits(78);
    assert!(ran.stderr.contains("run.jobs: 0 would start no task"), "{ran}");
    stage.replace_setting("[run]\njobs = 0\n", "[budget]\nper_build = { money = \"$0\" }\n[run]\n");
    let ran = stage.run(&["run", "write a"]).exits(78);
    assert!(ran.stderr.contains("budget.per_build.money: nothing can be spent"), "{ran}");
}

// What the agent does not see is said once, without the files that say what is to be done.
#[test]
fn uncommitted_changes_that_the_agent_does_not_see_are_named() {
    let stage = Project::with_agent("write-a", &[GREEN]);
    for name in ["one", "two", "three", "zero"] {
        stage.write(&format!("drafts/{name}"), "mine\n");
    }
    let ran = stage.run(&["run", "write a"]).exits(0);
    let told =
        "do not see what you have not committed: drafts/one, drafts/three, drafts/two and 1 more";
    assert_eq!(ran.stderr.matches(told).count(), 1, "{ran}");
}

// B1: the same again is checked once more at most, and the agent is told that it was the same
#[test]
fn an_approach_that_comes_back_is_not_checked_a_third_time() {
    let stage = Project::with_agent("write-a", &[RED, RED, RED, GREEN]);
    stage.run(&["run", "write a"]).exits(0);
    let red = Code::ValidationPreCommit;
    assert_eq!(stage.fault_codes(), [red, red, Code::LogicRepeatedApproach]);
    let why = stage.run(&["why", "r2"]);
    assert!(why.stdout.contains("LOGIC_REPEATED_APPROACH"), "{why}");
    assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
}

// T2.4, B18, TX12: a person is needed (3), answers from another process, and the next start goes on
#[test]
fn what_needs_a_person_waits_for_the_answer_and_goes_on_with_it() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[RED, RED, RED, RED, GREEN]);
    stage.set("[retry]\nper_signature = 1\n");
    let ran = stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    assert!(ran.stderr.contains("unstuck inbox answer q0 provide_guidance"), "{ran}");
    assert_eq!(stage.states(), [("write-a".to_owned(), "waiting for a person")]);
    stage.agent("write-a", &[GREEN]);
    let guidance = ["inbox", "answer", "0", "provide_guidance", "--guidance", "write fine"];
    assert_eq!(stage.run(&guidance).exit, 0);
    stage.run(&["resume"]).exits(0);
    assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
}

// TX12: some work left out is 1
#[test]
fn a_build_with_something_left_out_says_so_with_its_exit_code() {
    let stage = Project::with_agent("paint-it", &[r#"{blocked = "which colour?"}"#]);
    stage.run(&["run", "paint it", "--max-wait", "0"]).exits(3);
    assert_eq!(stage.run(&["inbox", "answer", "0", "skip_feature"]).exit, 0);
    let ran = stage.run(&["resume"]).exits(1);
    assert!(ran.stdout.contains("0 of 1 task done"), "{ran}");
}

#[test]
fn with_nothing_left_to_do_it_says_so() {
    let stage = Project::with_agents();
    let ran = stage.run(&["resume"]);
    assert_eq!(ran.exit, 2, "nothing was ever run here: {ran}");
    stage.agent("write-a", &[GREEN]);
    stage.commit();
    assert_eq!(stage.run(&["run", "write a"]).exit, 0);
    let ran = stage.run(&["resume"]);
    let told = "There is nothing to continue. Build b0 is finished.\n";
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, told));
}

#[test]
fn a_program_reads_every_event_as_a_line() {
    let stage = Project::with_agent("write-a", &[GREEN]);
    let ran = stage.run(&["run", "write a", "--json"]).exits(0);
    let types: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["type"].to_string())
        .collect();
    assert!(types.contains(&"\"task.done\"".to_owned()), "{types:?}");
    assert_eq!(types.last().unwrap(), "\"build.completed\"");
}

// T4.9, TX12: an account that is limited and no time to wait is 75
#[test]
fn a_limited_account_is_not_waited_for_longer_than_wanted() {
    let stage = Project::with_agents();
    let limited = r#"{fail = "PROVIDER_RATE_LIMIT", message = "slow down", retry_after_s = 600}"#;
    stage.agent("write-a", &[limited, GREEN]);
    stage.commit();
    let ran = stage.run(&["run", "write a", "--max-wait", "0"]).exits(75);
    assert!(ran.stderr.contains("the service is limited until "), "{ran}");
    assert!(ran.stderr.contains("(in ") && ran.stderr.contains("`unstuck resume`"), "{ran}");
    assert_eq!(stage.count(|event| matches!(event, Event::GateWaiting { .. })), 1);
    assert_eq!(stage.questions().len(), 0, "a wait asks no question");
}

// T4.9: a hook of the person's that does not end is named, with its limit and what it wrote
#[test]
fn a_hook_that_hangs_is_named_and_no_service_is_called_limited() {
    let stage = Project::with_agent("write-a", &[GREEN]);
    let hook = stage.path(".git/hooks/pre-commit");
    write_program(&hook, "echo waiting for the lock server\nsleep 1000");
    let mut unstuck = stage.unstuck(&["run", "write a", "--max-wait", "0"]);
    let ran = ran(unstuck.env("UNSTUCK_RUN_COMMAND", "1s").output().unwrap()).exits(75);
    let why = "one step took too long (“the hook pre-commit took longer than 1s”)";
    assert!(ran.stdout.contains(why) && ran.stderr.contains(why), "{ran}");
    assert!(ran.stderr.contains("“write a” is tried again"), "{ran}");
    assert!(!ran.stderr.contains("the service is limited"), "{ran}");
    let log = stage.run(&["log"]);
    let met = "the hook pre-commit took longer than 1s; last written: waiting for the lock server";
    assert!(log.stdout.contains(met), "{log}");
}

fn task(stage: &Project, name: &str, front: &str, steps: &str) {
    let text = format!("---\n{front}\n---\n# Do {name}\n\n## Goal\nThe file is written.\n");
    stage.write(&format!("tasks/{name}.md"), &text);
    stage.agent(name, &[steps]);
}

// TX12: what needs a task that waits for a person waits for a person (3), and nothing hangs
#[test]
fn a_parked_task_with_others_that_need_it_ends_as_waiting_for_a_person() {
    let stage = Project::with_agents();
    task(&stage, "one", "priority: 1", r#"{blocked = "which colour?"}"#);
    task(&stage, "two", "depends_on: one", r#"{write = "work/two.txt", text = "fine\n"}"#);
    task(&stage, "three", "depends_on: two", r#"{write = "work/three.txt", text = "fine\n"}"#);
    task(&stage, "four", "priority: 0", r#"{write = "work/four.txt", text = "fine\n"}"#);
    stage.commit();
    stage.run(&["run", "tasks/", "--max-wait", "0"]).exits(3);
    let done: Vec<String> = stage
        .states()
        .into_iter()
        .filter(|(_, state)| *state == "done")
        .map(|(name, _)| name)
        .collect();
    assert_eq!(done, ["four"], "what needs no person is done first");
    // Going on with it says the same at once.
    stage.run(&["resume", "--max-wait", "0"]).exits(3);
}

// TX12: a build that its open questions have paused is 4
#[test]
fn a_build_that_is_paused_by_its_questions_ends_as_paused() {
    let stage = Project::with_agents();
    for name in ["a", "b", "c", "d", "e", "f"] {
        let blocked = format!(r#"{{blocked = "which colour has {name}?"}}"#);
        task(&stage, name, "priority: 1", &blocked);
    }
    stage.set("[retry]\npause_after_questions = 2\n");
    stage.run(&["run", "tasks/", "--max-wait", "0"]).exits(4);
    assert!(stage.questions().len() >= 3, "two of tasks and that of the build");
}
