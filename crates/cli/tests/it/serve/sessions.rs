//! Sessions of other runtimes, with the real program: two agents that know nothing but the API, and a
//! server that is killed between two reports.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::server::Server;
use crate::project::Project;

/// An agent of the examples, at work in a folder of its own.
struct Agent(Child);

impl Agent {
    fn start(mut program: Command, stage: &Project, server: &Server) -> Self {
        stage.write("agent/orders.csv", &fs::read_to_string(example("orders.csv")).unwrap());
        let child = program
            .current_dir(stage.path("agent"))
            .env("UNSTUCK_URL", format!("http://{}", server.address))
            .env("UNSTUCK_TOKEN", &server.token)
            .stdout(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    /// Waits for the end. Returns the output and the exit status.
    fn end(mut self) -> (Vec<String>, Option<i32>) {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        let said = lines.map(Result::unwrap).collect();
        (said, self.0.wait().unwrap().code())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // One that ended is gone.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sessions").join(name)
}

fn one<'a>(listed: &'a Value, wanted: &str) -> Option<&'a Value> {
    listed["items"].as_array().unwrap().iter().find(|item| item["kind"] == wanted)
}

/// The whole story: an outage, three other ways, a person, one booking, the end.
fn agent_gets_unstuck(program: Command) {
    let stage = Project::with_agents();
    // A wait that is still there when its reader looks, whatever else the machine does.
    stage.replace_setting("10ms", "2s");
    stage.replace_setting("20ms", "2s");
    let server = Server::start(&stage, &[]);
    let agent = Agent::start(program, &stage, &server);
    let question = server
        .wait_for("/api/v1/questions?status=pending", |listed| one(listed, "choice").cloned());
    // T1.10: what was tried is told, one entry for each attempt
    assert_eq!(question["attempts"].as_array().unwrap().len(), 4, "{question}");
    let path = format!("/api/v1/questions/{}/answer", question["id"]);
    let words = json!({ "decision": "provide_guidance", "guidance": "The column is called sum." });
    server.post(&path, &words.to_string());
    let (said, status) = agent.end();
    assert_eq!(status, Some(0), "{said:?}");
    let expected = [
        "session 0 is open", "retry, attempt 0", "wait, attempt 1", "retry, attempt 1",
        "retry, attempt 1", "retry, attempt 2", "retry, attempt 3", "ask, attempt 4",
        "retry, attempt 1", "done: booked 2550",
    ];
    assert_eq!(said, expected);
    let booked = fs::read_to_string(stage.path("agent/booked.txt")).unwrap();
    assert_eq!(booked.lines().count(), 1, "{booked}");
    assert!(booked.starts_with("2550 "), "{booked}");
    let session = server.get("/api/v1/sessions/0");
    assert_eq!(session["state"], "done", "{session}");
    assert_eq!(session["mutations"][0]["status"], "applied", "{session}");
    // T1.12: the journal tells the same story
    let log = stage.run(&["log", "--json", "-n", "1000"]);
    let names: Vec<String> = log
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().into())
        .collect();
    let count = |wanted: &str| names.iter().filter(|name| *name == wanted).count();
    for (name, times) in [
        ("session.reported", 5),
        ("agent.retrying", 3),
        ("agent.waiting_for_input", 1),
        ("agent.escalation_resolved", 1),
        ("mutation.applied", 1),
        ("signature.recovered", 1),
        ("build.completed", 1),
        ("run.crashed", 0),
    ] {
        assert_eq!(count(name), times, "{name}: {names:?}");
    }
    // There is no branch and no worktree of it.
    assert_eq!(stage.git(&["branch", "--list", "unstuck/*"]), "");
    let status = stage.run(&["status"]);
    assert!(status.stdout.contains("Session b0"), "{status}");
    let report = stage.run(&["report"]);
    assert!(report.stdout.contains("It was done elsewhere"), "{report}");
    assert_eq!(server.end(), Some(143));
}

// T1.9, T2.3, T2.6, TX6: an agent in Python that knows nothing but the API
#[test]
fn an_agent_in_python_gets_unstuck() {
    let mut python = Command::new("python3");
    python.arg(example("agent.py")).env("PYTHONDONTWRITEBYTECODE", "1");
    agent_gets_unstuck(python);
}

// The same in TypeScript, which is checked on the way
#[test]
#[ignore = "needs the TypeScript compiler: ./scripts/typescript"]
fn an_agent_in_typescript_gets_unstuck() {
    let made = tempfile::tempdir().unwrap();
    let installed = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../.tools/typescript/node_modules")
        .canonicalize()
        .unwrap_or_else(|error| panic!("{error}; ./scripts/typescript installs it"));
    // Types are looked up beside the file.
    fs::copy(example("agent.mts"), made.path().join("agent.mts")).unwrap();
    std::os::unix::fs::symlink(&installed, made.path().join("node_modules")).unwrap();
    let flags = ["--strict", "--erasableSyntaxOnly", "--noUncheckedIndexedAccess"];
    let tsc = Command::new("node")
        .arg(installed.join("typescript/bin/tsc"))
        .args(flags)
        .args(["--target", "es2022", "--module", "nodenext", "--types", "node", "agent.mts"])
        .current_dir(made.path())
        .output()
        .unwrap();
    assert!(tsc.status.success(), "{}", String::from_utf8_lossy(&tsc.stdout));
    let mut node = Command::new("node");
    node.arg(made.path().join("agent.mjs"));
    agent_gets_unstuck(node);
}

fn broken() -> String {
    json!({ "type": "KeyError", "message": "'total'", "approach": "read it by its name" })
        .to_string()
}

// T2.1, TX10: killed between two reports, the counters, the action that was sent and the
// requests that were taken are as they were
#[test]
fn a_killed_server_goes_on_with_the_session() {
    let stage = Project::with_agents();
    let server = Server::start(&stage, &[]);
    let opened = |server: &Server| {
        let body = json!({ "goal": "Bring the orders over" }).to_string();
        server.request("POST", "/api/v1/sessions", Some("open"), &body)
    };
    let fails = |server: &Server, key: &str| {
        server.request("POST", "/api/v1/sessions/b0/failures", Some(key), &broken())
    };
    let acts = |server: &Server, method: &str, path: &str, body: &Value| {
        let path = format!("/api/v1/sessions/b0/mutations{path}");
        server.request(method, &path, None, &body.to_string())
    };
    assert_eq!(opened(&server).0, 201);
    // It is written down, and the answer is lost with the server.
    let unheard = server.send_only("/api/v1/sessions/b0/failures", "r1", &broken());
    server.wait_for("/api/v1/sessions/b0", |session| {
        (session["direction"]["attempt"] == 1).then_some(())
    });
    server.kill();
    drop(unheard);
    let server = Server::start(&stage, &[]);
    let first = fails(&server, "r1");
    assert_eq!((first.0, &first.1["attempt"]), (200, &json!(1)), "{first:?}");
    let intent = json!({ "key": "refund", "arguments": { "cents": 500 } });
    let (_, permit) = acts(&server, "POST", "", &intent);
    assert_eq!(permit["decision"], "proceed", "{permit}");
    server.kill();
    let server = Server::start(&stage, &[]);
    // The same requests are taken once, and answered as before.
    let (status, session) = opened(&server);
    assert_eq!((status, &session["id"]), (201, &json!(0)), "{session}");
    assert_eq!(fails(&server, "r1"), first);
    // A sent action may have happened: the server does not permit it again by itself.
    let (_, again) = acts(&server, "POST", "", &intent);
    assert_eq!(again["decision"], "unsettled", "{again}");
    assert_eq!(again["idempotency_key"], permit["idempotency_key"]);
    let applied = json!({ "outcome": "applied", "result": "done" });
    assert_eq!(acts(&server, "PATCH", "/refund", &applied).0, 200);
    for attempt in 2..=3 {
        let (_, told) = fails(&server, &format!("r{attempt}"));
        assert_eq!((&told["decision"], &told["attempt"]), (&json!("retry"), &json!(attempt)));
    }
    server.kill();
    let server = Server::start(&stage, &[]);
    let (_, told) = fails(&server, "r4");
    assert_eq!((&told["decision"], &told["attempt"]), (&json!("ask"), &json!(4)), "{told}");
    let (_, known) = acts(&server, "POST", "", &intent);
    assert_eq!(known["decision"], "ask", "{known}");
    // B6: an answer that is given while no process runs is taken up
    server.kill();
    let question = told["question"]["id"].to_string();
    let words = ["provide_guidance", "--guidance", "It is called sum."];
    stage.run(&[&["inbox", "answer", &question][..], &words].concat()).exits(0);
    let server = Server::start(&stage, &[]);
    let session = server.wait_for("/api/v1/sessions/b0", |session| {
        (session["direction"]["decision"] == "retry").then(|| session.clone())
    });
    let context = session["direction"]["context"].as_str().unwrap();
    assert!(context.contains("It is called sum."), "{context}");
    let (_, known) = acts(&server, "POST", "", &intent);
    assert_eq!((&known["decision"], &known["result"]), (&json!("applied"), &json!("done")));
    let (status, over) = server.request("POST", "/api/v1/sessions/b0/success", None, "");
    assert_eq!((status, &over["state"]), (200, &json!("done")), "{over}");
    // No restart was charged to anybody.
    let log = stage.run(&["log", "--json", "-n", "1000"]);
    assert!(!log.stdout.contains("run.crashed"), "{log}");
    assert_eq!(server.end(), Some(143));
}

// B18: the server beside a build of another process: the holder decides about sessions
#[test]
fn a_session_beside_a_build_of_another_process() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[r#"{write = "work/a.txt", text = "broken\n"}"#]);
    stage.set("[retry]\nper_signature = 0\n");
    let mut run = stage.start(&["run", "write a", "--json"]);
    run.read_until("agent.waiting_for_input");
    let server = Server::start(&stage, &[]);
    let body = json!({ "goal": "Bring the orders over" }).to_string();
    let (status, session) = server.request("POST", "/api/v1/sessions", None, &body);
    assert_eq!(status, 201, "{session}");
    let path = format!("/api/v1/sessions/{}", session["id"]);
    let (_, told) = server.request("POST", &format!("{path}/failures"), Some("a"), &broken());
    assert_eq!(told["decision"], "ask", "{told}");
    let (status, problem) = server.request(
        "POST",
        &format!("{path}/failures"),
        Some("b"),
        r#"{"code": "LOGIC_ERROR"}"#,
    );
    assert_eq!((status, &problem["decision"]), (200, &json!("ask")), "{problem}");
    let reused = json!({ "code": "LOGIC_ERROR", "message": "else" }).to_string();
    let (status, _) = server.request("POST", &format!("{path}/failures"), Some("a"), &reused);
    assert_eq!(status, 422);
    run.signal(Signal::TERM);
    run.end();
    assert_eq!(server.end(), Some(143));
}
