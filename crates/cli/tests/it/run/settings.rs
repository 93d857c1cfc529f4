//! The sources of settings, and the messages about wrong ones.

use std::fs;

use crate::program::{finish, ran};
use crate::project::Project;

#[test]
fn options_win_over_the_environment_over_the_project_over_the_user() {
    let stage = Project::with_agents();
    stage.write(".config/unstuck/unstuck.toml", "[run]\njobs = 2\nidle = \"3m\"\npush = true\n");
    stage.write("unstuck.toml", "[run]\njobs = 3\nidle = \"4m\"\n");
    let mut config = stage.unstuck(&["config", "--changed"]);
    config.env("UNSTUCK_RUN_JOBS", "5");
    let shown = ran(config.output().unwrap()).exits(0);
    let line = |key: &str| shown.stdout.lines().find(|line| line.starts_with(key)).unwrap();
    assert!(line("jobs = 5").contains("$UNSTUCK_RUN_JOBS"), "{shown}");
    assert!(line("idle = \"4m\"").contains("unstuck.toml"), "{shown}");
    assert!(line("push = true").contains(".config/unstuck/unstuck.toml"), "{shown}");
}

// T4.23: a syntax error, an unknown key, an unset variable and a bad value, with their places
#[test]
fn everything_wrong_with_a_file_is_told_with_its_place() {
    let stage = Project::with_agents();
    let told = |text: &str| {
        stage.write("unstuck.toml", text);
        let shown = stage.run(&["config"]).exits(78);
        shown.stderr
    };
    let two = told("[run]\njobz = 2\n[agent]\nmodel = \"${NOT_SET}\"\n");
    assert!(two.contains("unstuck.toml:2:1: there is no setting run.jobz (did you mean jobs?)"));
    assert!(two.contains("agent.model: the variable NOT_SET is not set"), "{two}");
    let all = told(
        "[run]\njbos = 2\nidle = \"soon\"\nshare = [\"target\", 7]\n[retry]\nfresh_start_at = 0\n\
         [notify.me]\nkind = \"pigeon\"\n[agent]\nprovider = \"unknown\"\nmodel = \"${NOT_SET}\"\n",
    );
    for says in [
        "unstuck.toml:2:1: there is no setting run.jbos (did you mean jobs?)",
        "unstuck.toml:3:8: run.idle:",
        "unstuck.toml:4:20: run.share:",
        ": notify.me:",
        "unstuck.toml:10:12: agent.provider:",
        "agent.model: the variable NOT_SET is not set",
        "retry.fresh_start_at",
    ] {
        assert!(all.contains(says), "{says}: {all}");
    }
    assert_eq!(told("[run]\njobs = \"${NOT_SET}\"\n").matches("run.jobs").count(), 1);
    assert!(told("[run\n").contains("unstuck.toml:1:"));
    assert!(told("[run]\n\njobs = \"many\"\n").contains("unstuck.toml:3:8:"));
    assert!(told("[retry]\nfresh_start_at = 0\n").contains("retry.fresh_start_at"));
}

// T4.23: a mistyped variable or key, a folder and a file that is no text
#[test]
fn what_looks_like_a_setting_is_never_ignored() {
    let stage = Project::with_agents();
    let mut config = stage.unstuck(&["config"]);
    config.envs([("UNSTUCK_RUN_JOBZ", "4"), ("UNSTUCK_MINE", "1"), ("UNSTUCK_OF_MINE", "1")]);
    let told = ran(config.output().unwrap()).exits(78);
    assert!(told.stderr.contains("UNSTUCK_RUN_JOBZ: there is no such setting"), "{told}");
    assert!(told.stderr.contains("did you mean UNSTUCK_RUN_JOBS"), "{told}");
    assert!(!told.stderr.contains("MINE"), "{told}");
    let told = stage.run(&["config", "run.jobz"]).exits(2);
    assert!(told.stderr.contains("did you mean run.jobs?"), "{told}");
    let path = stage.path("unstuck.toml");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(stage.run(&["config"]).exits(78).stderr.contains("it is a folder"));
    fs::remove_dir(&path).unwrap();
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(stage.run(&["config"]).exits(78).stderr.contains("is not UTF-8 text"));
}

// T4.23: a path that never matches and a check that checks nothing are told with all the others
#[test]
fn globs_and_commands_that_mean_nothing_are_told_with_their_place() {
    let stage = Project::with_agents();
    let wrong = "[scope]\nforbidden = [\"src/[\"]\nask_first = [\"\"]\n[validate]\n\
                 pre_commit = [\"sh check.sh\", \" \"]\nprotect = [\"{a\"]\n[run]\njbos = 2\nsetup = [\"\"]\n";
    stage.write("unstuck.toml", wrong);
    for verb in ["config", "doctor"] {
        let shown = stage.run(&[verb]).exits(78);
        let said = format!("{}{}", shown.stdout, shown.stderr);
        for says in [
            "unstuck.toml:2:13: scope.forbidden: \"src/[\" is no glob:",
            "unstuck.toml:3:13: scope.ask_first: an empty text is no glob",
            "unstuck.toml:5:14: validate.pre_commit: an empty text is no command",
            "unstuck.toml:6:11: validate.protect: \"{a\" is no glob:",
            "unstuck.toml:8:1: there is no setting run.jbos",
            "unstuck.toml:9:9: run.setup: an empty text is no command",
        ] {
            assert!(said.contains(says), "{says}: {said}");
        }
    }
    stage.write("unstuck.toml", "[agent]\nprovider = \"script\"\nscript = \"x\"\n");
    let mut run = stage.unstuck(&["run", "write a"]);
    let refused = ran(run.env("UNSTUCK_VALIDATE_PRE_COMMIT", "[\"\"]").output().unwrap()).exits(78);
    assert!(refused.stderr.contains("validate.pre_commit"), "{refused}");
}

// TX16, B9: what a variable holds is not shown
#[test]
fn what_was_put_in_from_a_variable_is_shown_by_its_name() {
    let stage = Project::with_agents();
    stage.write("unstuck.toml", "[agent]\nbase_url = \"http://${CANARY}@localhost\"\n");
    let mut config = stage.unstuck(&["config", "agent.base_url", "--json"]);
    config.env("CANARY", "canary-4711");
    let shown = ran(config.output().unwrap());
    assert!(shown.stdout.contains("http://${CANARY}@localhost"), "{shown}");
    assert!(!format!("{shown}").contains("-4711"), "{shown}");
    // Neither where it is of the wrong kind.
    stage.write("unstuck.toml", "[agent]\nprovider = \"${CANARY}\"\n");
    let shown = finish(stage.unstuck(&["config"]).env("CANARY", "canary-4711"));
    assert!(shown.stderr.contains("unstuck.toml:2:12: agent.provider:"), "{shown}");
    assert!(!shown.stderr.contains("-4711"), "{shown}");
}

#[test]
fn the_schema_knows_every_setting() {
    let stage = Project::with_agents();
    let schema: serde_json::Value = serde_json::from_str(&stage.run(&["schema"]).stdout).unwrap();
    assert_eq!(schema["properties"]["run"]["properties"]["jobs"]["type"], "integer");
    assert_eq!(schema["additionalProperties"], false);
}
