//! A remote that is not there: the work is done, and a person is told how to push it.

use super::stage::Stage;

const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;

fn pushing() -> Stage {
    let stage = Stage::new();
    for name in ["one", "two"] {
        let text = format!("# Do {name}\n\n## Goal\nThe file is written.\n");
        stage.write(&format!("tasks/{name}.md"), &text);
        stage.agent(name, &[&GREEN.replace("a.txt", &format!("{name}.txt"))]);
    }
    let settings = std::fs::read_to_string(stage.path("unstuck.toml")).unwrap();
    stage.write("unstuck.toml", &settings.replace("[run]\n", "[run]\npush = true\n"));
    stage.commit();
    stage
}

/// Nobody is asked, nothing is said to be sent, and the command is told.
fn told_how_to_push(stage: &Stage) {
    let ran = stage.run(&["run", "tasks/", "--max-wait", "0"]);
    assert_eq!(ran.exit, 0, "{ran}");
    assert_eq!(stage.questions().len(), 0, "{ran}");
    assert!(ran.stderr.contains("`git push origin unstuck/b0`"), "{ran}");
    let report = stage.run(&["report"]);
    assert!(report.stdout.contains("git push origin unstuck/b0"), "{report}");
    assert!(report.stdout.contains("It was not pushed."), "{report}");
    assert!(!report.stdout.contains("sent on"), "{report}");
}

// T4.16: said before money is spent, warned about afterwards
#[test]
fn without_a_remote_it_is_said_first_and_nobody_is_asked() {
    let stage = pushing();
    told_how_to_push(&stage);
    let ran = stage.run(&["run", "--dry-run", "tasks/"]);
    assert_eq!(ran.exit, 0, "{ran}");
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
fn a_remote_that_is_away_asks_nobody() {
    let stage = pushing();
    // A port that is bound and not listened on refuses every connection.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    drop(taken);
    stage.git(&["remote", "add", "origin", &format!("http://{address}/shop.git")]);
    told_how_to_push(&stage);
}
