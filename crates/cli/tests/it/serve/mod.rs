//! `unstuck serve` as a person and a program meet it: the real program, over real connections.

mod server;
mod sessions;

use std::fs;

use server::Server;

use crate::run::stage::Stage;

const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;
const RED: &str = r#"{write = "work/a.txt", text = "broken\n"}"#;

/// A project whose agent needs a person before its third attempt.
fn stuck() -> Stage {
    let stage = Stage::new();
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
    let question = server
        .wait_for("/api/v1/questions?status=pending", |listed| listed["items"].get(0).cloned());
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
    let ran = stage.run(&["run", "write a", "--max-wait", "0"]);
    assert_eq!(ran.exit, 3, "{ran}");
    let server = Server::start(&stage, &[]);
    let question = server
        .wait_for("/api/v1/questions?status=pending", |listed| listed["items"].get(0).cloned());
    server.kill();
    let id = question["id"].to_string();
    let answered =
        stage.run(&["inbox", "answer", &id, "provide_guidance", "--guidance", "Plainly."]);
    assert!(answered.stdout.contains("taken up at the next start"), "{answered}");
    let server = Server::start(&stage, &[]);
    server.wait_for("/api/v1/builds/b0", |build| (build["state"] == "completed").then_some(()));
    assert_eq!(server.end(), Some(143));
}

// T3.15: the jobs run at their times while it serves, and can be run and paused over HTTP
#[test]
fn jobs_run_while_it_serves() {
    let stage = Stage::new();
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
    let stage = Stage::new();
    let server = Server::start(&stage, &[]);
    let other = Stage::new();
    let second = other.run(&["serve", "--bind", &server.address]);
    assert_eq!(second.exit, 78, "{second}");
    assert!(second.stderr.contains(&server.address), "{second}");
    assert_eq!(server.end(), Some(143));
}

#[test]
fn two_projects_of_one_name_are_not_mixed_up() {
    let stage = Stage::new();
    for folder in ["a/shop", "b/shop"] {
        stage.write(&format!("{folder}/unstuck.toml"), "");
    }
    let refused = stage.run(&["serve", "--bind", "127.0.0.1:0", "a/shop", "b/shop"]);
    assert_eq!(refused.exit, 2, "{refused}");
    assert!(refused.stderr.contains("two projects are called shop"), "{refused}");
}

// Somebody who takes for ever to say what they want is hung up on, and others are served meanwhile
#[test]
fn half_a_request_holds_nobody_up() {
    let stage = Stage::new();
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
