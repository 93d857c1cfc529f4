//! A server goes on with the work of processes that are gone, and copes with a project in trouble.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use rustix::process::Signal;

use super::server::Server;
use super::{GREEN, stuck};
use crate::project::Project;

const PENDING: &str = "/api/v1/questions?status=pending";

fn answer_and_see_it_end(server: &Server) {
    let question = server.wait_for_question();
    server.guide(&question, "Plainly.");
    server.wait_for("/api/v1/builds/b0", |build| (build["state"] == "completed").then_some(()));
}

// B4: the process that performed a build beside the server is killed, and the server goes on
#[test]
fn a_build_whose_run_was_killed_goes_on() {
    let stage = stuck();
    let server = Server::start(&stage, &[]);
    let run = stage.start(&["run", "write a", "--json"]);
    server.wait_for_question();
    run.signal(Signal::KILL);
    run.end();
    answer_and_see_it_end(&server);
    assert_eq!(server.end(), Some(143));
}

// The same for one that ended by itself before its question was answered
#[test]
fn a_build_that_its_run_left_waiting_goes_on() {
    let stage = stuck();
    let server = Server::start(&stage, &[]);
    stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    answer_and_see_it_end(&server);
    assert_eq!(server.end(), Some(143));
}

// What a client of `unstuck mcp` has left is no work for the agents of the project
#[test]
fn what_a_client_left_is_not_taken_up() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[GREEN]);
    let server = Server::start(&stage, &[]);
    let mut client = stage.unstuck(&["mcp"]).stdin(Stdio::piped()).spawn().unwrap();
    let asks = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "ask_human", "arguments": {"question": "Which colour?"}}}"#;
    writeln!(client.stdin.take().unwrap(), "{}", asks.replace('\n', " ")).unwrap();
    assert!(client.wait().unwrap().success());
    let question = server.wait_for_question();
    server.guide(&question, "Plainly.");
    let tasks = "/api/v1/builds/b0/tasks";
    server.wait_for(tasks, |listed| (listed["items"][0]["state"] == "running").then_some(()));
    // Whatever the server would do about it, it would have done before this is over.
    server.post("/api/v1/builds", r#"{"goal": "write a"}"#);
    server.wait_for("/api/v1/builds/b1", |build| (build["state"] == "completed").then_some(()));
    assert_eq!(server.get(tasks)["items"][0]["state"], "running");
    assert_eq!(server.get(PENDING)["items"], serde_json::json!([]));
    assert_eq!(server.end(), Some(143));
}

// What ran the jobs beside the server has ended, and the server runs them.
#[test]
fn jobs_whose_process_has_ended_go_on() {
    let stage = Project::with_agents();
    stage.agent("mail", &[GREEN]);
    stage.set("[[job]]\nname = \"mail\"\nrun = \"echo x >>ran\"\nschedule = \"every second\"\n");
    let mut watch = stage.start(&["jobs", "--watch"]);
    watch.read_until("Ctrl-C ends it");
    let server = Server::start(&stage, &[]);
    watch.signal(Signal::TERM);
    watch.end();
    let fired = || fs::read_to_string(stage.path("ran")).unwrap_or_default().lines().count();
    let before = fired();
    server.wait_for("/api/v1/jobs", |_| (fired() >= before + 2).then_some(()));
    assert_eq!(server.end(), Some(143));
}

#[test]
fn what_is_wrong_from_the_beginning_is_said_before_anything_else() {
    let stage = Project::with_agents();
    stage.set("[[job]]\nname = \"mail\"\nrun = \"echo x\"\n");
    let refused = stage.run(&["serve", "--bind", "127.0.0.1:0"]);
    assert_eq!((refused.exit, refused.stdout.as_str()), (78, ""), "{refused}");
    assert!(refused.stderr.contains("mail"), "{refused}");
}

#[test]
fn a_project_in_trouble_is_shown_and_tried_again() {
    let stage = stuck();
    let run = stage.start(&["run", "write a", "--json"]);
    let mut server = Server::start(&stage, &[]);
    server.wait_for_question();
    fs::rename(stage.path(".git"), stage.path("git-elsewhere")).unwrap();
    run.signal(Signal::KILL);
    run.end();
    let said = server.complains();
    assert!(said.contains(" is not kept: ") && said.contains("it is tried again"), "{said}");
    assert_eq!(server.get("/api/v1/builds/b0")["id"], 0);
    fs::rename(stage.path("git-elsewhere"), stage.path(".git")).unwrap();
    answer_and_see_it_end(&server);
    assert_eq!(server.end(), Some(143));
}
