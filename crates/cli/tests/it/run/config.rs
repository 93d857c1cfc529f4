//! Settings that cannot work: before a run, and while one is under way.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use serde_json::{Value, json};
use unstuck_core::engine::{BuildId, Command, Counters};
use unstuck_core::fault::{Fault, Kind};

use crate::program::finish;
use crate::project::Project;

const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;
const CODES: [&str; 4] =
    ["CONFIG_MISSING", "CONFIG_PARSE_ERROR", "CONFIG_ENV_VAR_MISSING", "CONFIG_INVALID"];

/// The error that a program reads.
fn error(stderr: &str) -> Value {
    let line = stderr.lines().find(|line| line.starts_with("{\"error\"")).unwrap_or(stderr);
    let told: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{stderr}"));
    told["error"].clone()
}

// T4.14, T4.23, T4.28: each code with its path, field, variable and place; 78, and nothing is started
#[test]
fn what_is_wrong_with_settings_has_its_code_and_place() {
    let stage = Project::with_agents();
    let cases = [
        (None, &["--config", "other.toml"][..], "CONFIG_MISSING", json!({ "path": "other.toml" })),
        (
            Some("[run\njobs = 2\n"),
            &[],
            "CONFIG_PARSE_ERROR",
            json!({ "path": "unstuck.toml", "line": 1, "column": 5 }),
        ),
        (
            Some("[agent]\nmodel = \"${NOT_SET}\"\n"),
            &[],
            "CONFIG_ENV_VAR_MISSING",
            json!({
                "path": "unstuck.toml", "line": 2, "column": 10,
                "field": "agent.model", "variable": "NOT_SET",
            }),
        ),
        (
            Some("[run]\n\njobs = \"many\"\n"),
            &[],
            "CONFIG_INVALID",
            json!({ "path": "unstuck.toml", "line": 3, "column": 8, "field": "run.jobs" }),
        ),
        (
            Some("[run]\njobz = 2\n"),
            &[],
            "CONFIG_INVALID",
            json!({ "path": "unstuck.toml", "line": 2, "column": 1, "field": "run.jobz" }),
        ),
        (
            Some("[retry]\nfresh_start_at = 0\n"),
            &[],
            "CONFIG_INVALID",
            json!({ "field": "retry.fresh_start_at" }),
        ),
    ];
    for (settings, options, code, facts) in cases {
        if let Some(settings) = settings {
            stage.write("unstuck.toml", settings);
        }
        let told = stage.run(&[&["run", "write a", "--json"], options].concat());
        assert_eq!((told.exit, told.stdout.as_str()), (78, ""), "{told}");
        let error = error(&told.stderr);
        assert_eq!((&error["code"], &error["category"]), (&json!(code), &json!("config")));
        assert_eq!(error["exit"], 78);
        let problem = &error["problems"][0];
        assert_eq!((&problem["code"], &problem["category"]), (&json!(code), &json!("config")));
        for (name, wanted) in facts.as_object().unwrap() {
            match (name.as_str(), wanted.as_str()) {
                ("path", Some(file)) => {
                    assert!(problem[name].as_str().unwrap().ends_with(file), "{error}");
                }
                _ => assert_eq!(&problem[name], wanted, "{name}: {error}"),
            }
        }
    }
    assert!(!stage.path(".unstuck/state.db").exists(), "nothing was started");
}

// T4.23: a variable of ours that holds nonsense is named, and so is a task file with its line
#[test]
fn variables_and_task_files_are_named_too() {
    let stage = Project::with_agents();
    let told = finish(stage.unstuck(&["run", "write a", "--json"]).env("UNSTUCK_RUN_JOBS", "many"));
    let problem = error(&told.stderr)["problems"][0].clone();
    assert_eq!(
        (&problem["field"], &problem["variable"]),
        (&json!("run.jobs"), &json!("UNSTUCK_RUN_JOBS"))
    );
    stage.write("tasks/a.md", "---\nid: [\n---\n# Broken\n");
    let told = stage.run(&["run", "--json"]).exits(78);
    let problem = error(&told.stderr)["problems"][0].clone();
    assert_eq!(
        (&problem["code"], &problem["path"]),
        (&json!("CONFIG_PARSE_ERROR"), &json!("tasks/a.md"))
    );
    assert!(problem["line"].as_u64().is_some_and(|line| line > 1), "{problem}");
}

// T4.14, T4.28: while a build is under way, the one task fails at once (1) and the others are done
#[test]
fn settings_of_one_task_fail_that_task_at_once() {
    for code in CODES {
        let stage = Project::with_agents();
        for (name, steps) in [
            ("a", format!(r#"{{fail = "{code}", message = "as it is"}}"#)),
            ("b", GREEN.to_owned()),
        ] {
            stage.write(&format!("tasks/{name}.md"), &format!("# Do {name}\n\nIt is done.\n"));
            stage.agent(name, &[&steps, GREEN]);
        }
        stage.commit();
        let ran = stage.run(&["run", "--json"]);
        assert_eq!(ran.exit, 1, "{code}: {ran}");
        let events = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let failed = events.into_iter().find(|event| event["type"] == "task.failed").unwrap();
        assert_eq!((&failed["code"], &failed["category"]), (&json!(code), &json!("config")));
        let [a, b] = &stage.tasks()[..] else { panic!("{ran}") };
        assert_eq!(b.moved.state.kind().as_str(), "done");
        assert_eq!(a.moved.attempts, 1, "{code} is not tried again");
        assert_eq!(a.moved.counters, Counters::default(), "{code} moves no counter");
        assert_eq!(stage.questions().len(), 0, "{code} asks no question");
        let report: Value = serde_json::from_str(&stage.run(&["report", "--json"]).stdout).unwrap();
        let told = &report["not_done"][0];
        assert_eq!((&told["code"], &told["category"]), (&json!(code), &json!("config")));
        let told = stage.run(&["report", "--all", "--markdown"]).stdout;
        assert!(told.contains(code), "{told}");
    }
}

// T4.14, T4.28: settings that no task can work with end the whole build (78)
#[test]
fn settings_of_a_build_end_it_at_once() {
    for code in CODES {
        let stage = Project::with_agents();
        stage.agent("write-a", &[r#"{run = "echo up > $HOME/up; cat $HOME/go"}"#]);
        stage.commit();
        stage.fifo("up");
        stage.fifo("go");
        let running = stage.start(&["run", "write a", "--json"]);
        stage.hear("up");
        abort(&stage, code);
        let (exit, said) = running.end();
        assert_eq!(exit, Some(78), "{code}: {said}");
        let failed = said.lines().find(|line| line.contains("\"build.failed\"")).unwrap();
        let failed: Value = serde_json::from_str(failed).unwrap();
        assert_eq!((&failed["code"], &failed["category"]), (&json!(code), &json!("config")));
        assert_eq!(stage.tasks()[0].moved.counters, Counters::default());
        for verb in ["status", "report"] {
            let told: Value = serde_json::from_str(&stage.run(&[verb, "--json"]).stdout).unwrap();
            let about = if verb == "status" { &told["builds"][0]["failure"] } else { &told };
            assert_eq!((&about["code"], &about["category"]), (&json!(code), &json!("config")));
        }
    }
}

/// Has the holder of the project end its build, as one does that finds the settings unusable.
fn abort(stage: &Project, code: &str) {
    let fault = Fault::new(Kind::bare(code.parse().unwrap()), "settings", "as it is");
    let command = Command::Abort { build: BuildId(0), fault: Arc::new(fault) };
    let ask = json!({ "id": 1, "do": "command", "command": command });
    let mut socket = UnixStream::connect(stage.path(".unstuck/control.sock")).unwrap();
    writeln!(socket, "{ask}").unwrap();
    let mut answer = String::new();
    BufReader::new(socket).read_line(&mut answer).unwrap();
    assert!(answer.contains("build.failed"), "{answer}");
}
