//! What cannot begin says so, does nothing, and has its own exit code.

use crate::program::SEARCH_PATH;
use crate::project::Project;

/// Variables, options, how it ends, and what it says.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], i32, &'a str);

// T4.14, T4.28, TX12: settings and surroundings are 78, a missing key is 77, and nothing is started
#[test]
fn what_cannot_begin_is_told_before_anything_is_started() {
    let stage = Project::with_agents();
    let cases: [Case<'_>; 6] = [
        (&[("UNSTUCK_AGENT_PROVIDER", "claude-cli")], &[], 78, "there is no program `claude`"),
        (&[("UNSTUCK_AGENT_PROVIDER", "anthropic-api")], &[], 78, "which model"),
        (
            &[("UNSTUCK_AGENT_PROVIDER", "anthropic-api")],
            &["--model", "claude-opus-4-5"],
            77,
            "ANTHROPIC_API_KEY is not set",
        ),
        (&[("UNSTUCK_AGENT_SCRIPT", "nowhere.toml")], &[], 78, "nowhere.toml: cannot read it"),
        (&[("UNSTUCK_RUN_JOBS", "many")], &[], 78, "$UNSTUCK_RUN_JOBS"),
        (&[], &["--config", "other.toml"], 78, "other.toml: there is no such file"),
    ];
    for (variables, options, exit, says) in cases {
        let mut run = stage.unstuck(&["run", "write a"]);
        run.args(options).envs(variables.iter().copied());
        let ran = crate::program::ran(run.output().unwrap());
        assert_eq!(ran.exit, exit, "{says}: {ran}");
        assert!(ran.stderr.contains(says), "{says}: {ran}");
        assert!(ran.stderr.contains("hint:"), "{ran}");
    }
    assert!(!stage.path(".unstuck/state.db").exists(), "nothing was started");
}

// T4.23, B44: the certificates that the environment names are a setting
#[test]
fn a_variable_without_certificates_is_named() {
    let stage = Project::with_agents();
    stage.write("junk.pem", "no certificate\n");
    let junk = stage.path("junk.pem");
    let cases = [
        ("SSL_CERT_FILE", "/nowhere.pem", "/nowhere.pem, which does not exist"),
        ("SSL_CERT_FILE", junk.to_str().unwrap(), "junk.pem, which holds no certificate"),
        ("SSL_CERT_DIR", "/nowhere", "/nowhere, which does not exist"),
    ];
    for (variable, value, says) in cases {
        for command in [&["run", "write a", "--model", "a-model"] as &[&str], &["doctor"]] {
            let mut unstuck = stage.unstuck(command);
            unstuck.env("UNSTUCK_AGENT_PROVIDER", "anthropic-api").env(variable, value);
            unstuck.env("UNSTUCK_AGENT_MODEL", "a-model").env("ANTHROPIC_API_KEY", "a-key");
            let ran = crate::program::ran(unstuck.output().unwrap()).exits(78);
            let said = ran.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains(variable) && said.contains(says), "{ran}");
            assert!(said.contains("correct it, or unset it") && said.contains("CONFIG_INVALID"));
        }
    }
    assert!(!stage.path(".unstuck/state.db").exists(), "nothing was started");
}

#[test]
fn in_place_wants_a_clean_tree() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[r#"{write = "work/a.txt", text = "fine\n"}"#]);
    let ran = stage.run(&["run", "write a", "--in-place"]).exits(78);
    assert!(ran.stderr.contains("has changes of its own: "), "{ran}");
    assert!(ran.stderr.contains("hint: commit or stash them"), "{ran}");
    for name in ["a", "b", "c", "d", "e", "f"] {
        stage.write(&format!("0-{name}.txt"), "new\n");
    }
    let ran = stage.run(&["run", "write a", "--in-place"]);
    assert!(ran.stderr.contains("0-a.txt, 0-b.txt") && ran.stderr.contains(" more"), "{ran}");
    for name in ["a", "b", "c", "d", "e", "f"] {
        std::fs::remove_file(stage.path(&format!("0-{name}.txt"))).unwrap();
    }
    stage.commit();
    stage.run(&["run", "write a", "--in-place"]).exits(0);
    assert_eq!(stage.on_branch("main", "work/a.txt"), "fine\n");
}

#[test]
fn outside_of_a_repository_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = crate::program::command(["run", "write a"]);
    run.current_dir(folder.path()).env("PATH", SEARCH_PATH);
    let ran = crate::program::ran(run.output().unwrap()).exits(78);
    assert!(ran.stderr.contains("is not in a git repository"), "{ran}");
    assert!(ran.stderr.contains("hint: `git init && git add -A && git commit"), "{ran}");
}

#[test]
fn a_bare_repository_inside_a_project_is_not_that_project() {
    let stage = Project::with_agents();
    stage.git(&["init", "--quiet", "--bare", "hub.git"]);
    let mut run = stage.unstuck(&["run", "write a"]);
    let ran =
        crate::program::ran(run.current_dir(stage.path("hub.git")).output().unwrap()).exits(78);
    assert!(ran.stderr.contains("bare"), "{ran}");
    assert!(!stage.path(".unstuck/state.db").exists(), "nothing was started");
}

#[test]
fn a_file_that_is_not_there_is_told_with_what_may_have_been_meant() {
    let stage = Project::with_agents();
    stage.write("tasks/login.md", "# Login\n");
    stage.write("tasks/notes.txt", "no task\n");
    let goal = "hint: a goal goes in quotes: `unstuck run \"make the login test pass\"`";
    for (named, says, near) in [
        ("tasks/lgoin.md", "there is no file tasks/lgoin.md", Some("tasks/login.md")),
        ("taks/", "there is no file taks/", Some("tasks")),
        ("tasks/notes.md", "there is no file tasks/notes.md", None),
        ("nowhere/login.md", "there is no file nowhere/login.md", None),
    ] {
        let ran = stage.run(&["run", named]).exits(2);
        assert!(ran.stderr.contains(says) && ran.stderr.contains(goal), "{ran}");
        assert!(!ran.stderr.contains("standard input"), "{ran}");
        let meant = ran.stderr.lines().find_map(|line| line.split_once("did you mean "));
        assert_eq!(meant.map(|(_, near)| near.trim_end_matches('?')), near, "{ran}");
    }
    assert!(!stage.path(".unstuck/state.db").exists(), "nothing was started");
}
