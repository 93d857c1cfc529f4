//! What a question of a run shows: the words of people and agents as they are, and what it rests on.

use serde_json::Value;

use crate::project::Project;

const RED: &str = r#"{write = "work/a.txt", text = "broken\n"}"#;

/// A project in which every task is worked on by the same script.
fn stage(attempts: &[&str], more: &str) -> Project {
    let stage = Project::with_agents();
    stage.replace_setting("{task}", "one");
    stage.agent("one", attempts);
    stage.set(more);
    stage
}

/// A question as the program writes it for programs.
fn shown(stage: &Project) -> Value {
    serde_json::from_str(&stage.run(&["inbox", "show", "0", "--json"]).stdout).unwrap()
}

// T1.6, T1.10: the title, the check, its output, the counts and the change
#[test]
fn a_question_shows_the_title_the_check_its_output_and_the_change() {
    let title = "Return HTTP 404 in get_order() für README.md";
    let stage = stage(&[RED, RED, RED, RED, RED], "");
    stage.run(&["run", title, "--max-wait", "0"]).exits(3);
    let show = stage.run(&["inbox", "show", "0"]);
    for part in [
        &format!("“{title}”"),
        "sh check.sh",
        "Evidence",
        "work/a.txt",
        "each time the same way",
        "unstuck inbox diff 0",
    ] {
        let lines: Vec<&str> = show.stdout.split_whitespace().collect();
        assert!(lines.join(" ").contains(part), "{part}: {show}");
    }
    assert!(!show.stdout.contains("different ways"), "{show}");
    let evidence = &shown(&stage)["evidence"];
    assert_eq!(evidence["command"], "sh check.sh", "{evidence}");
    assert!(evidence["output"].as_str().unwrap().contains("work/a.txt"), "{evidence}");
    assert_eq!(evidence["approaches"].as_array().unwrap().len(), 1, "{evidence}");
    assert_eq!(evidence["diff"]["files_changed"], 1, "{evidence}");
    let diff = stage.run(&["inbox", "diff", "0"]).exits(0);
    assert!(diff.stdout.contains("+broken"), "{diff}");
    let report = stage.run(&["report"]);
    assert!(report.stdout.replace('\\', "").contains(title), "{report}");
}

// T1.6: what the agent asks is shown as it asked it
#[test]
fn the_agents_question_is_shown_in_its_own_words() {
    let asks = "Should parse_order() in src/orders.py raise ValueError or return None?";
    let stage = stage(&[&format!("{{blocked = \"{asks}\"}}")], "");
    stage.run(&["run", "Fix parse_order()", "--max-wait", "0"]).exits(3);
    let words = shown(&stage)["problem"].as_str().unwrap().to_owned();
    assert!(
        words.contains(&format!("“{asks}”")) && words.contains("“Fix parse_order()”"),
        "{words}"
    );
}

// T1.4: a login that is refused lists the one attempt that was made
#[test]
fn a_login_question_lists_the_attempt_that_was_made() {
    let refused = r#"{fail = "AUTH_INVALID", message = "401 invalid x-api-key"}"#;
    let stage = stage(&[refused], "");
    stage.run(&["run", "paint it", "--max-wait", "0"]).exits(3);
    let question = shown(&stage);
    assert_eq!(
        question["attempts"],
        serde_json::json!(["Approach 1 changed nothing and the account refused the key."])
    );
    assert!(question["evidence"]["output"].as_str().unwrap().contains("invalid x-api-key"));
}

// T0.18: what may pass by itself can be tried again
#[test]
fn what_may_pass_by_itself_can_be_tried_again() {
    let down = r#"{fail = "ENV_CONNECTION", message = "connection refused"}"#;
    let green = r#"{write = "work/a.txt", text = "fine\n"}"#;
    let steps = format!("{down}, {down}, {green}");
    let stage = stage(&[&steps], "[retry]\ntransient = 1\ntransient_for = \"0s\"\n");
    stage.run(&["run", "paint it", "--max-wait", "2s"]).exits(3);
    let question = shown(&stage);
    assert_eq!(question["recommended"], "try_again", "{question}");
    assert_eq!(stage.run(&["inbox", "answer", "0", "try_again"]).exit, 0);
    assert_eq!(stage.run(&["resume"]).exit, 0);
}

#[test]
fn the_evidence_is_folded_for_people_who_do_not_read_commands() {
    let stage = stage(&[RED, RED, RED, RED, RED], "[inbox]\naudience = \"plain\"\n");
    assert_eq!(stage.run(&["run", "write a", "--max-wait", "0"]).exit, 3);
    let folded = stage.run(&["inbox", "show", "0"]);
    assert!(folded.stdout.contains("unstuck inbox show 0 --evidence"), "{folded}");
    assert!(!folded.stdout.contains("Exit status"), "{folded}");
    let open = stage.run(&["inbox", "show", "0", "--evidence"]);
    assert!(open.stdout.contains("Exit status"), "{open}");
}
