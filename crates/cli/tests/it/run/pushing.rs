//! A remote that is not there: the work is done, and a person is told how to push it.

use crate::project::Project;

const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;

fn pushing() -> Project {
    let stage = Project::with_agents();
    for name in ["one", "two"] {
        let text = format!("# Do {name}\n\n## Goal\nThe file is written.\n");
        stage.write(&format!("tasks/{name}.md"), &text);
        stage.agent(name, &[&GREEN.replace("a.txt", &format!("{name}.txt"))]);
    }
    stage.replace_setting("[run]\n", "[run]\npush = true\n");
    stage.commit();
    stage
}

/// The run asks no question, claims no push, and prints the command to push with git's reason.
fn told_how_to_push(stage: &Project, reason: &str) {
    let ran = stage.run(&["run", "tasks/", "--max-wait", "0"]);
    for said in [&ran.stderr, &stage.run(&["report"]).stdout, &stage.run(&["log"]).stdout] {
        assert!(said.contains(reason), "{reason}: {said}");
    }
    let advice = if reason == "rejected" {
        "`git push origin unstuck/b0:NEW-NAME` pushes it under another name"
    } else {
        "When that is put right, `git push origin unstuck/b0` pushes it"
    };
    assert!(ran.stderr.contains(advice), "{ran}");
    let lost = "The push of “Do one” did not arrive.";
    assert_eq!(ran.stdout.matches(lost).count(), 1, "{ran}");
    assert!(!ran.stdout.contains("the last action"), "{ran}");
    assert_eq!(ran.exit, 0, "{ran}");
    assert_eq!(stage.questions().len(), 0, "{ran}");
    let report = stage.run(&["report"]);
    assert!(report.stdout.contains("git push origin unstuck/b0"), "{report}");
    assert!(report.stdout.contains("It was not pushed."), "{report}");
    assert!(!report.stdout.contains("was pushed"), "{report}");
    assert!(!report.stdout.contains("Recovered by itself"), "{report}");
    for said in [&ran.stdout, &ran.stderr, &report.stdout] {
        assert!(!said.contains("refs/heads/"), "git's own form for people: {said}");
    }
}

// T4.16: said before money is spent, warned about afterwards
#[test]
fn without_a_remote_it_is_said_first_and_no_question_is_asked() {
    let stage = pushing();
    told_how_to_push(&stage, "'origin' does not appear to be a git repository");
    stage.run(&["run", "--dry-run", "tasks/"]).exits(0);
}

#[test]
fn a_missing_remote_is_one_line_at_the_start() {
    let stage = pushing();
    let ran = stage.run(&["run", "tasks/"]);
    let line = "unstuck: there is no remote origin, so nothing will be pushed.";
    assert_eq!(ran.stderr.matches(line).count(), 1, "{ran}");
}

// T4.16: a remote that is away is tried again, then warned about
#[test]
fn a_remote_that_is_away_asks_no_question() {
    let stage = pushing();
    // A port that is bound and not listened on refuses every connection.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    drop(taken);
    stage.git(&["remote", "add", "origin", &format!("http://{address}/shop.git")]);
    told_how_to_push(&stage, "unable to access");
}

// T4.16: a branch of the same name that went another way
#[test]
fn a_push_that_is_rejected_says_why() {
    let stage = pushing();
    let remote = tempfile::tempdir().unwrap();
    let url = remote.path().display().to_string();
    stage.git(&["init", "--quiet", "--bare", &url]);
    stage.git(&["remote", "add", "origin", &url]);
    stage.git(&["checkout", "--quiet", "--orphan", "elsewhere"]);
    stage.git(&["commit", "--quiet", "--allow-empty", "--message=theirs"]);
    stage.git(&["push", "--quiet", "origin", "elsewhere:unstuck/b0"]);
    stage.git(&["checkout", "--quiet", "main"]);
    told_how_to_push(&stage, "rejected");
}
