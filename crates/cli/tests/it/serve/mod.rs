//! `unstuck serve` as a person and a program meet it: the real program, over real connections.

mod keeping;
mod ready;
mod server;
mod sessions;

use std::fs;

use server::{Server, user};

use crate::project::Project;

const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;
const RED: &str = r#"{write = "work/a.txt", text = "broken\n"}"#;

/// A project whose agent needs a person before its third attempt.
fn stuck() -> Project {
    let stage = Project::with_agents();
    stage.agent("write-a", &[RED, RED, GREEN]);
    stage.set("[retry]\nper_signature = 1\n");
    stage
}

// B18, T2.3, T2.4: a build beside the server asks, is answered over HTTP, and ends
#[test]
fn a_build_is_answered_over_http_while_it_runs() {
    let stage = stuck();
    let server = Server::start(&stage, &[]);
    let run = stage.start(&["run", "write a", "--json"]);
    let question = server.wait_for_question();
    assert_eq!(question["kind"], "choice", "{question}");
    // TX5: the command line and the API write the same record
    let shown = stage.run(&["inbox", "show", &question["id"].to_string(), "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown, question);
    let path = format!("/api/v1/questions/{}/answer", question["id"]);
    let body = r#"{"decision": "provide_guidance", "guidance": "Write it in plain words."}"#;
    let answered = server.post(&path, body);
    assert_eq!(answered["taken_up"], true, "{answered}");
    let (exit, said) = run.end();
    assert_eq!(exit, Some(0), "{said}");
    let build = server.get("/api/v1/builds/b0");
    assert_eq!((&build["state"], &build["done"]), (&"completed".into(), &1.into()), "{build}");
    assert_eq!(server.end(), Some(143));
}

// B4, B6: killed at its worst, the next start goes on with the build and takes up what was answered
#[test]
fn a_server_that_was_killed_goes_on_with_the_build() {
    let stage = stuck();
    stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    let server = Server::start(&stage, &[]);
    let question = server.wait_for_question();
    server.kill();
    let id = question["id"].to_string();
    let answered =
        stage.run(&["inbox", "answer", &id, "provide_guidance", "--guidance", "Plainly."]);
    assert!(answered.stdout.contains("takes effect at the next start"), "{answered}");
    let server = Server::start(&stage, &[]);
    server.wait_for("/api/v1/builds/b0", |build| (build["state"] == "completed").then_some(()));
    assert_eq!(server.end(), Some(143));
}

// B18: a process that follows a build beside the one that performs it sees its end
#[test]
fn a_build_that_the_server_performs_ends_for_others_too() {
    let stage = stuck();
    stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    let server = Server::start(&stage, &[]);
    let question = server.wait_for_question();
    let resumed = stage.start(&["resume"]);
    server.guide(&question, "Plainly.");
    let (exit, said) = resumed.end();
    assert_eq!(exit, Some(0), "{said}");
    assert_eq!(server.end(), Some(143));
}

// The jobs run at their times while it serves, and can be run and paused over HTTP
#[test]
fn jobs_run_while_it_serves() {
    let stage = Project::with_agents();
    stage.agent("mail", &[GREEN]);
    stage.set("[[job]]\nname = \"mail\"\nrun = \"echo x >>ran\"\nschedule = \"every second\"\n");
    let server = Server::start(&stage, &[]);
    server.wait_for("/api/v1/jobs", |listed| {
        let job = &listed["items"][0];
        (job["row"]["firing"].as_u64() >= Some(3)).then_some(())
    });
    assert!(fs::read_to_string(stage.path("ran")).unwrap().starts_with("x\nx\n"));
    let paused = server.post("/api/v1/jobs/mail/pause", "{}");
    assert_eq!(paused[0]["type"], "job.held", "{paused}");
    let fired = server.post("/api/v1/jobs/mail/run", "{}");
    // Once more afterwards, where it runs just now.
    assert!(fired[0]["type"].as_str().unwrap().starts_with("job.fire"), "{fired}");
    let listed = stage.run(&["jobs"]);
    assert!(listed.stdout.contains("`unstuck serve` (process"), "{listed}");
    assert_eq!(server.end(), Some(143));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let stage = Project::with_agents();
    let server = Server::start(&stage, &[]);
    let other = Project::with_agents();
    let second = other.run(&["serve", "--bind", &server.address]).exits(78);
    assert!(second.stderr.contains(&server.address), "{second}");
    assert_eq!(server.end(), Some(143));
}

#[test]
fn two_projects_of_one_name_are_not_mixed_up() {
    let stage = Project::with_agents();
    for folder in ["a/shop", "b/shop"] {
        stage.write(&format!("{folder}/unstuck.toml"), "");
    }
    let refused = stage.run(&["serve", "--bind", "127.0.0.1:0", "a/shop", "b/shop"]).exits(2);
    assert!(refused.stderr.contains("two projects are called shop"), "{refused}");
}

// The server hangs up on a client that never ends its request, and serves others meanwhile
#[test]
fn half_a_request_does_not_hold_up_others() {
    let stage = Project::with_agents();
    let server = Server::start(&stage, &[]);
    let mut slow = server.connect();
    std::io::Write::write_all(&mut slow, b"GET /healthz HTTP/1.1\r\nHost: local").unwrap();
    assert_eq!(
        server.raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\n", ""),
        (200, "ok\n".to_owned())
    );
    let garbage = server.raw_bytes(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n");
    assert!(garbage.starts_with("HTTP/1.1 400"), "{garbage}");
    assert_eq!(server.end(), Some(143));
}

// B34: what `run` says before it begins is in the answer to the order of a build
#[test]
fn a_build_that_is_started_over_http_has_its_warnings() {
    let stage = stuck();
    stage.git(&["checkout", "--quiet", "--detach"]);
    let server = Server::start(&stage, &[]);
    let started = server.post("/api/v1/builds", r#"{"goal": "write a"}"#);
    let warned = started["warnings"].to_string();
    assert!(warned.contains("HEAD is detached") && warned.contains("git switch -c"), "{started}");
    server.wait_for_question();
    assert_eq!(server.end(), Some(143));
}

// B4, B6: a build that was started over HTTP is carried out, also by the next server
#[test]
fn a_build_is_started_over_http_and_carried_out() {
    let stage = stuck();
    let server = Server::start(&stage, &[]);
    let started = server.post("/api/v1/builds", r#"{"goal": "write a"}"#);
    assert_eq!((&started["id"], &started["tasks"]), (&0.into(), &1.into()), "{started}");
    let question = server.wait_for_question();
    server.kill();
    let server = Server::start(&stage, &[]);
    server.guide(&question, "Plainly.");
    server.wait_for("/api/v1/builds/b0", |build| (build["state"] == "completed").then_some(()));
    assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
    assert_eq!(server.end(), Some(143));
}

// An order that is sent again finds its build, also when what it named is gone meanwhile
#[test]
fn a_build_is_started_once_for_its_request() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[GREEN]);
    stage.write("tasks/write-a.md", "# Write a\n\nWrite it.\n");
    let server = Server::start(&stage, &[]);
    let start = || server.request("POST", "/api/v1/builds", Some("k1"), r#"{"tasks": ["tasks"]}"#);
    let (first, said) = start();
    assert_eq!(first, 201, "{said}");
    fs::remove_dir_all(stage.path("tasks")).unwrap();
    let (again, said) = start();
    assert_eq!(again, 201, "{said}");
    assert_eq!(server.get("/api/v1/builds")["items"].as_array().unwrap().len(), 1);
    assert_eq!(server.end(), Some(143));
}

#[test]
fn only_what_is_in_the_project_is_started() {
    let stage = Project::with_agents();
    stage.write("tasks/one.md", "# Write a\n\nWrite it.\n");
    std::os::unix::fs::symlink("/etc", stage.path("outside")).unwrap();
    let server = Server::start(&stage, &[]);
    for path in ["/etc/passwd", "../x.md", "tasks/../../x.md", "outside/passwd", "nothing.md"] {
        let body = format!(r#"{{"tasks": ["{path}"]}}"#);
        let (status, said) = server.request("POST", "/api/v1/builds", None, &body);
        assert_eq!(status, 422, "{path}: {said}");
        assert!(said["detail"].as_str().unwrap().contains("there is no"), "{path}: {said}");
    }
    assert_eq!(server.get("/api/v1/builds")["items"], serde_json::json!([]));
    assert_eq!(server.end(), Some(143));
}

// B18: a build serves its inbox by itself, and says where
#[test]
fn a_run_is_answered_at_its_own_inbox() {
    let stage = stuck();
    let run = Server::beside_run(&stage, &["run", "write a", "--json"]);
    let question = run.wait_for_question();
    let path = format!("/api/v1/questions/{}/answer", question["id"]);
    let answered =
        run.post(&path, r#"{"decision": "provide_guidance", "guidance": "In plain words."}"#);
    assert_eq!(answered["taken_up"], true, "{answered}");
    assert_eq!(run.ends(), Some(0));
}

// The key is shown on a terminal, and never written where logs go.
#[test]
fn a_run_whose_words_go_to_a_log_does_not_show_the_key() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[GREEN]);
    let mut run = stage.unstuck(&["run", "write a"]);
    run.env("UNSTUCK_SERVER_DURING_RUN", "true").env("UNSTUCK_SERVER_BIND", "127.0.0.1:0");
    let ran =
        crate::program::ran(run.env("XDG_STATE_HOME", user(&stage)).output().unwrap()).exits(0);
    assert!(ran.stderr.contains("your inbox while this runs: http://127.0.0.1:"), "{ran}");
    assert!(!ran.to_string().contains("ust_") && !ran.to_string().contains("/enter/"), "{ran}");
}

// A message leads to the question and to each of its answers, and following a link answers nothing
#[test]
fn a_message_carries_links_that_lead_to_the_answer() {
    let (stage, outside) = (stuck(), crate::project::outside());
    let receiver =
        outside.block_on(unstuck_world::fake::receiver::FakeReceiver::start([])).unwrap();
    stage.set(&format!(
        "[server]\npublic = [\"https://inbox.example.org\"]\n[notify.phone]\nkind = \"webhook\"\n\
         url = \"{}\"\n",
        receiver.url("/")
    ));
    let mut run = stage.unstuck(&["run", "write a", "--max-wait", "0"]);
    crate::program::ran(run.env("XDG_STATE_HOME", user(&stage)).output().unwrap()).exits(3);
    let message = receiver.recorded_requests().remove(0).json();
    let links = message["links"].as_array().unwrap();
    assert_eq!(links.len(), 1 + message["options"].as_array().unwrap().len(), "{message}");
    let server = Server::start(&stage, &[]);
    let follow = |link: &serde_json::Value| {
        let url = link["url"].as_str().unwrap();
        let path = url.strip_prefix("https://inbox.example.org").unwrap();
        server.raw(&format!("GET {path} HTTP/1.1\r\nHost: inbox.example.org\r\n"), "")
    };
    for option in &links[1..] {
        let (status, page) = follow(option);
        assert_eq!(status, 200, "{page}");
        assert!(page.contains(option["label"].as_str().unwrap()), "{page}");
    }
    let (status, _) = follow(&links[0]);
    assert_eq!(status, 303);
    let asked = server.get("/api/v1/questions?status=pending");
    assert_eq!(asked["items"].as_array().unwrap().len(), 1, "{asked}");
    assert_eq!(server.end(), Some(143));
}
