//! Every code through the whole program: whatever fails or is held up says its code and category,
//! wherever a program reads it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};
use unstuck_core::fault::{Code, Reaction};

use crate::project::Project;

/// Events that tell of a failure, or of work that does not go on because of one.
const FAILURES: [&str; 9] = [
    "run.fault", "run.failed", "run.paused", "task.failed", "task.parked", "task.backing_off",
    "agent.retrying", "agent.waiting_for_input", "gate.waiting",
];

/// Nothing is waited for or tried twice, and as many questions may be open as there are codes.
const AT_ONCE: &str = "[retry]\nper_signature = 0\ntransient = 0\ntransient_for = \"1ms\"\n\
    consecutive = 1\npause_after_questions = 500\n[wait]\nlimited = \"1ms\"\nwindows = 1\n";

/// A code about an account or a whole build holds up more than its own task.
fn stands_alone(code: Code) -> bool {
    matches!(
        code.row().reaction,
        Reaction::Gate | Reaction::GateUntilReset | Reaction::BackoffThenGate | Reaction::Budget
    )
}

fn named(code: Code) -> String {
    code.as_str().to_lowercase().replace('_', "-")
}

/// A task for each of these codes, whose agent fails with it.
fn stage(codes: &[Code]) -> Project {
    let stage = Project::with_agents();
    for code in codes {
        let name = named(*code);
        stage.write(&format!("tasks/{name}.md"), &format!("# Do {name}\n\nIt is done.\n"));
        let fails = format!(r#"{{fail = "{code}", message = "{name}", retry_after_s = 1}}"#);
        stage.agent(&name, &[&[&*fails; 3].join(", ")]);
    }
    stage.set(AT_ONCE);
    stage
}

/// The two words that belong together.
fn told(of: &Value) -> (Value, Value) {
    (of["code"].clone(), of["category"].clone())
}

fn right(code: Code) -> (Value, Value) {
    (json!(code), json!(code.row().category))
}

/// Code and category are there and fit, wherever this is about.
fn fits(of: &Value, place: &str) {
    let (code, category) = told(of);
    let known = code.as_str().and_then(|code| code.parse::<Code>().ok());
    let known = known.unwrap_or_else(|| panic!("{place} has no code: {of}"));
    assert_eq!((code, category), right(known), "{place}: {of}");
}

fn json_of(stage: &Project, args: &[&str]) -> Value {
    serde_json::from_str(&stage.run(args).stdout).unwrap()
}

/// The codes that the events, the tables and the report tell for each task.
fn looked_over(stage: &Project, stdout: &str) -> BTreeMap<String, Code> {
    for line in stdout.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        if FAILURES.contains(&event["type"].as_str().unwrap()) {
            fits(&event, "an event");
        }
    }
    let status = json_of(stage, &["status", "--json"]);
    let mut results = BTreeMap::new();
    for row in status["builds"][0]["rows"].as_array().unwrap() {
        fits(&row["failure"], "a row of status");
        let code = row["failure"]["code"].as_str().unwrap().parse().unwrap();
        results.insert(row["spec"]["name"].as_str().unwrap().to_owned(), code);
    }
    for question in status["questions"].as_array().unwrap() {
        fits(question, "a question of status");
    }
    for question in json_of(stage, &["inbox", "list", "--json"]).as_array().unwrap() {
        fits(question, "a question of inbox");
    }
    let report = json_of(stage, &["report", "--json"]);
    let lists = ["waiting", "not_done"].map(|list| report[list].as_array().unwrap().clone());
    for result in lists.concat() {
        fits(&result, "the report");
    }
    results
}

// T4.29, T4.31: every code, from its agent to events, status, inbox and report
#[test]
fn every_failure_says_its_code_and_category_everywhere() {
    let codes: Vec<Code> = Code::ALL.iter().copied().filter(|code| !stands_alone(*code)).collect();
    let stage = stage(&codes);
    let ran = stage.run(&["run", "--json", "--max-wait", "1s"]);
    assert!([1, 3].contains(&ran.exit), "{}", ran.stderr);
    let results = looked_over(&stage, &ran.stdout);
    for code in codes {
        assert_eq!(results.get(&named(code)), Some(&code), "{code} is told as it was stated");
    }
}

// T4.29: and those that hold up an account or a build
#[test]
fn what_holds_up_all_tasks_says_its_code_and_category_too() {
    for code in Code::ALL.iter().copied().filter(|code| stands_alone(*code)) {
        let stage = stage(&[code]);
        let ran = stage.run(&["run", "--json", "--max-wait", "0"]);
        assert!([3, 75].contains(&ran.exit), "{code}: {ran}");
        assert_eq!(looked_over(&stage, &ran.stdout).get(&named(code)), Some(&code), "{code}");
    }
}

// T4.29, T4.31: a script that fails says the same on standard error, beside its own words
#[test]
fn a_script_that_fails_says_its_code_and_category() {
    let cases: [(&[&str], &str, &str); 4] = [
        (&[], "echo 'fatal: Authentication failed' >&2; exit 128", "AUTH_INVALID"),
        (&[], "kill -SEGV $$", "TOOL_CRASH"),
        (&[], "echo \"NameError: name 'x' is not defined\" >&2; exit 1", "LOGIC_ERROR"),
        (&["--timeout", "10ms"], "sleep 60", "OPERATION_TIMEOUT"),
    ];
    for (options, line, code) in cases {
        let stage = Project::with_agents();
        stage.set(AT_ONCE);
        let args = [&["exec", "--json", "--max-wait", "0"], options, &["--", "sh", "-c", line]];
        let ran = stage.run(&args.concat());
        assert_eq!(ran.exit, 3, "{code}: {ran}");
        let lines = ran.stderr.lines().filter(|line| line.starts_with('{'));
        let lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        let parked = lines.iter().find(|line| line["type"] == "task.parked").unwrap();
        assert_eq!(told(parked), right(code.parse().unwrap()), "{ran}");
        let question = &lines.iter().find(|line| !line["question"].is_null()).unwrap()["question"];
        assert_eq!(told(question), right(code.parse().unwrap()), "{ran}");
        assert!(question["options"].as_array().is_some_and(|options| !options.is_empty()));
    }
}

// T4.31: what the control socket refuses has a code too
#[test]
fn a_refusal_of_the_control_socket_has_a_code() {
    let stage = Project::with_agents();
    stage.fifos(&["up", "go"]);
    let holder = stage.start(&["exec", "--", "sh", "-c", "echo > up; cat go"]);
    stage.hear("up");
    let path = stage.path(".unstuck/control.sock");
    let mut socket = UnixStream::connect(path).unwrap();
    let mut answers = BufReader::new(socket.try_clone().unwrap()).lines();
    for ask in [
        json!({ "id": 1, "do": "hello", "token": "made up" }),
        json!({ "id": 2, "do": "command", "command": { "Pause": { "build": 99 } } }),
        json!({ "id": 3, "do": "dance" }),
    ] {
        writeln!(socket, "{ask}").unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        fits(&answer["refused"], "a refusal");
    }
    std::fs::write(stage.path("go"), "").unwrap();
    assert_eq!(holder.end().0, Some(0));
}

// T4.31: an error of the program itself is more than words: exit code, next steps, and its code
#[test]
fn an_error_of_the_program_is_more_than_words() {
    let stage = Project::with_agents();
    let cases: [(&[&str], i32, Value); 5] = [
        (&["status", "--json"], 2, Value::Null),
        (&["run", "--json", "nowhere.md"], 2, Value::Null),
        (&["run", "--json", "x", "--provider", "claude-cli"], 78, json!("PROVIDER_NOT_AVAILABLE")),
        (&["run", "--json", "x", "--config", "no.toml"], 78, json!("CONFIG_MISSING")),
        (&["run", "--json", "x"], 78, json!("CONFIG_MISSING")),
    ];
    for (args, exit, code) in cases {
        let ran = stage.run(args);
        assert_eq!((ran.exit, ran.stdout.as_str()), (exit, ""), "{args:?}: {ran}");
        let told: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|_| panic!("{ran}"));
        let error = &told["error"];
        assert_eq!((&error["exit"], &error["code"]), (&json!(exit), &code), "{args:?}");
        assert!(!error["message"].as_str().unwrap().is_empty());
        assert!(!error["hints"].as_array().unwrap().is_empty(), "{args:?}");
    }
}
