//! "Done" is never said wrongly: what is red before, what is flaky, and work that changes nothing,
//! with the defaults of a new project.

use unstuck_core::engine::Event;
use unstuck_core::fault::Code;

use crate::program::ran;
use crate::project::Project;

/// Red as long as `add` is wrong, in the words of a test runner.
const TEST: &str = "\
got=$(cat add)
test \"$got\" = 5 && exit 0
echo 'FAIL: test_login (calc.Case.test_login)'
echo \"AssertionError: expected 5, got $got\"
exit 1
";

fn with_red_base() -> Project {
    let stage = Project::with_agents();
    stage.write("check.sh", TEST);
    stage.write("add", "-1");
    stage.commit();
    stage
}

// B15: a red test and an agent that does nothing never end in "done".
#[test]
fn an_agent_that_does_nothing_about_a_red_test_ends_in_a_question() {
    let stage = with_red_base();
    stage.agent("make-the-login-test-pass", &[r#"{say = "All done."}"#]);
    stage.commit();
    let ran = stage.run(&["run", "make the login test pass", "--max-wait", "0"]).exits(3);
    let said = "`sh check.sh` fails before any work has begun (calc.Case.test_login: “AssertionError: \
                expected 5, got -1”).";
    assert!(ran.stdout.contains(said) && ran.stdout.contains("0 of 1 task done"), "{ran}");
    // The last lines of its output stand below.
    let last =
        "\n    FAIL: test_login (calc.Case.test_login)\n    AssertionError: expected 5, got -1\n";
    assert!(ran.stdout.contains(last), "{ran}");
    let report = stage.run(&["report"]);
    for part in ["Failed before the work began", "expected 5, got -1", "none of 1 task is done"] {
        assert!(report.stdout.contains(part), "{part}: {report}");
    }
    assert_eq!(stage.questions()[0].code, Some(Code::ValidationPreCommit));
}

// B15: a red base is said by every build, also by the next one from the same commit.
#[test]
fn the_next_build_from_the_same_commit_looks_at_its_base_again() {
    let stage = with_red_base();
    stage.agent("make-the-login-test-pass", &[r#"{write = "add", text = "5"}, {say = "Done."}"#]);
    stage.commit();
    for _ in 0..2 {
        let ran = stage.run(&["run", "make the login test pass", "--max-wait", "0"]).exits(0);
        assert!(ran.stdout.contains("`sh check.sh` fails before any work has begun"), "{ran}");
    }
}

// B15: comparing excuses old failures beside work, and no idleness; the default excuses neither.
#[test]
fn nothing_done_about_a_red_test_is_not_done_on_the_default_or_where_failures_are_compared() {
    for baseline in [None, Some("compare")] {
        let stage = with_red_base();
        stage.agent("make-it-pass", &[r#"{say = "All tests pass now."}"#]);
        stage.commit();
        let mut unstuck = stage.unstuck(&["run", "make it pass", "--max-wait", "0"]);
        unstuck.envs(baseline.map(|mode| ("UNSTUCK_RUN_BASELINE", mode)));
        let ran = ran(unstuck.output().unwrap());
        assert_eq!(ran.exit, 3, "{baseline:?}: {ran}");
        assert!(ran.stdout.contains("0 of 1 task done"), "{baseline:?}: {ran}");
        assert_eq!(stage.questions()[0].code, Some(Code::ValidationPreCommit), "{baseline:?}");
    }
}

// B15: what is checked is what is committed.
#[test]
fn a_check_that_is_green_by_a_file_that_git_ignores_is_not_green() {
    let local = r#"{write = "local/level", text = "5"}, {say = "Set the level."}"#;
    let hidden = r#"{write = ".gitignore", text = "add2\n"}, {write = "add2", text = "5"}"#;
    for (task, cheats) in [("by-its-own-list", hidden), ("by-the-projects-list", local)] {
        let stage = with_red_base();
        stage.write("check.sh", "cat add2 local/level 2> /dev/null | grep -q 5 || exit 1\n");
        stage.write(".gitignore", "local/\n");
        stage.agent(task, &[cheats]);
        stage.commit();
        let ran = stage.run(&["run", &task.replace('-', " "), "--max-wait", "0"]);
        assert_eq!(ran.exit, 3, "{task}: {ran}");
        assert!(ran.stdout.contains("0 of 1 task done"), "{task}: {ran}");
    }
}

// B15: a branch of the person's, or of a build whose record is lost, is not built on.
#[test]
fn a_branch_that_is_there_already_is_not_moved() {
    let stage =
        Project::with_agent("write-a", &[r#"{write = "work/a", text = "x"}, {say = "Wrote it."}"#]);
    stage.git(&["branch", "unstuck/b0"]);
    let before = stage.git(&["rev-parse", "unstuck/b0"]);
    let ran = stage.run(&["run", "write a"]);
    assert_ne!(ran.exit, 0, "{ran}");
    assert!(ran.stderr.contains("git branch -m unstuck/b0"), "{ran}");
    assert_eq!(stage.git(&["rev-parse", "unstuck/b0"]), before);
    stage.git(&["branch", "--move", "unstuck/b0", "mine"]);
    assert_eq!(stage.run(&["run", "write a"]).exit, 0);
    std::fs::remove_dir_all(stage.path(".unstuck")).unwrap();
    stage.git(&["worktree", "prune"]);
    stage.git(&["branch", "--move", "unstuck/b0", "earlier"]);
    stage.write("more", "x");
    stage.commit();
    assert_eq!(stage.run(&["run", "write a"]).exit, 0);
    assert!(stage.git(&["ls-tree", "--name-only", "unstuck/b0"]).contains("more"));
}

// An empty variable in a script is no folder.
#[test]
fn an_empty_goal_is_refused() {
    let stage = Project::with_agents();
    stage.write("plan.md", "- [ ] Write a\n");
    stage.commit();
    let ran = stage.run(&["run", ""]).exits(2);
    assert!(ran.stderr.contains("the goal is empty"), "{ran}");
}

// B15: another value in the same message is another failure, and the agent is told of it.
#[test]
fn a_wrong_fix_goes_back_to_the_agent_and_the_right_one_lands() {
    let stage = with_red_base();
    let wrong = r#"{write = "add", text = "6"}, {say = "Multiplied."}"#;
    let right = r#"{write = "add", text = "5"}, {say = "Added."}"#;
    stage.agent("add-numbers", &[wrong, right]);
    stage.commit();
    stage.run(&["run", "add numbers"]).exits(0);
    assert_eq!(stage.on_branch("unstuck/b0", "add"), "5");
    assert_eq!(stage.tasks()[0].moved.attempts, 2);
    assert_eq!(stage.questions().len(), 0);
}

// B15: exactly the old failures are one question for all tasks, and its answer holds for the build.
#[test]
fn work_beside_an_old_failure_waits_for_one_answer() {
    for (answer, lands) in [("unrelated", true), ("skip_feature", false)] {
        let stage = with_red_base();
        for task in ["dark-mode", "light-mode"] {
            let write = format!(r#"{{write = "work/{task}", text = "x"}}, {{say = "Made it."}}"#);
            stage.agent(task, &[&write]);
        }
        stage.write("plan.md", "- [ ] Dark mode\n- [ ] Light mode\n");
        stage.commit();
        stage.run(&["run", "plan.md", "--max-wait", "0"]).exits(3);
        let questions = stage.questions();
        assert_eq!(questions.len(), 1, "{questions:?}");
        assert_eq!(questions[0].tasks.len(), 2);
        let shown = stage.run(&["inbox", "show", "0"]);
        for part in ["sh check.sh", "expected 5, got -1", "It belongs to the work"] {
            assert!(shown.stdout.contains(part), "{part}: {shown}");
        }
        stage.run(&["inbox", "answer", "0", answer]);
        let ran = stage.run(&["resume", "--max-wait", "0"]);
        assert_eq!(ran.exit, i32::from(!lands), "{ran}");
        let branch = stage.git(&["ls-tree", "-r", "--name-only", "unstuck/b0"]);
        assert_eq!(branch.contains("work/light-mode"), lands, "{branch}");
    }
}

// B35: nothing changed is no shipment, and has a mark of its own.
#[test]
fn a_task_that_needs_no_change_says_so_everywhere() {
    let stage = Project::with_agents();
    stage.agent("log-in", &[r#"{say = "The login is there already."}"#]);
    stage.write("plan.md", "- [ ] Log in\n");
    stage.commit();
    let ran = stage.run(&["run", "plan.md"]).exits(0);
    assert!(ran.stdout.contains("“Log in” needs no change: "), "{ran}");
    assert!(ran.stdout.contains("build b0: 1 task needed no change"), "{ran}");
    assert!(!ran.stdout.contains("The work is on the branch"), "{ran}");
    let status = stage.run(&["status"]);
    assert!(status.stdout.contains("no change needed"), "{status}");
    let land = stage.run(&["land"]);
    assert!(
        land.stdout.contains("There is nothing of build b0 to land: it changed nothing."),
        "{land}"
    );
    assert_eq!(stage.count(|event| matches!(event, Event::Nudged { .. })), 1);
    let report = stage.run(&["report"]);
    for part in ["Nothing was changed. 1 needed no change.", "The login is there already."] {
        assert!(report.stdout.contains(part), "{part}: {report}");
    }
    let plan = std::fs::read_to_string(stage.path("plan.md")).unwrap();
    assert_eq!(plan, "- [-] Log in\n");
}

// B35: an agent that says it is blocked asks in its own words.
#[test]
fn an_agent_that_ends_blocked_asks_a_person() {
    let stage = Project::with_agents();
    let blocked = r#"{say = "BLOCKED: Which database should README.md name?"}"#;
    stage.agent("write-a", &[blocked]);
    stage.commit();
    stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    let shown = stage.run(&["inbox", "show", "0"]);
    assert!(shown.stdout.contains("Which database should README.md name?"), "{shown}");
}

// B36: red and then green on the same files is green, and said to be flaky.
#[test]
fn a_flaky_check_costs_no_attempt() {
    let stage = Project::with_agents();
    let once = stage.path("was-red");
    let flaky = format!(
        "test ! -e work/a.txt || test -e {0} || {{ touch {0}; echo 'not ok 1 - timing'; exit 1; }}\n",
        once.display()
    );
    stage.write("check.sh", &flaky);
    stage.agent("write-a", &[r#"{write = "work/a.txt", text = "fine\n"}"#]);
    stage.commit();
    stage.run(&["run", "write a"]).exits(0);
    assert_eq!(stage.tasks()[0].moved.attempts, 1);
    let report = stage.run(&["report"]);
    let named = "One check (“sh check.sh”) passed only when run again.";
    assert!(report.stdout.contains(named), "{report}");
}
