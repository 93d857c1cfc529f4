//! The health answers of a server are true, and looking at it costs nothing that lasts.

use std::fs;

use rustix::process::Signal;

use super::server::Server;
use super::{GREEN, RED};
use crate::project::Project;

const JOB: &str = "[[job]]\nname = \"mail\"\nrun = \"echo x\"\nschedule = \"0 3 * * *\"\n";
/// Connections that were closed and not yet let go of.
const SLACK: usize = 8;

// B50: looking at the jobs leaves no descriptor open
#[test]
fn looking_at_the_jobs_leaves_nothing_open() {
    let stage = Project::with_agents();
    stage.agent("mail", &[GREEN]);
    stage.set(JOB);
    let server = Server::start(&stage, &[]);
    server.get("/api/v1/jobs");
    let before = server.descriptors();
    for _ in 0..40 {
        server.get("/api/v1/jobs");
    }
    let after = server.descriptors();
    assert!(after <= before + SLACK, "{before} descriptors became {after}");
    assert_eq!(server.ready(), (200, "ready\n".to_owned()));
    assert_eq!(server.end(), Some(143));
}

// B50: a server that could not take many more connections says so while it still can
#[test]
fn a_server_without_descriptors_is_not_ready() {
    let stage = Project::with_agents();
    let server = Server::start(&stage, &[]);
    assert_eq!(server.ready(), (200, "ready\n".to_owned()));
    server.limit_descriptors(server.descriptors() as u64 + 20);
    let (status, said) = server.ready();
    assert_eq!((status, said.contains("file descriptors")), (503, true), "{said}");
    server.limit_descriptors(1_024);
    assert_eq!(server.ready(), (200, "ready\n".to_owned()));
    assert_eq!(server.end(), Some(143));
}

// B50: what is written after the file was taken away would be lost
#[test]
fn a_server_without_its_store_is_not_ready() {
    let stage = Project::with_agents();
    let server = Server::start(&stage, &[]);
    assert_eq!(server.ready(), (200, "ready\n".to_owned()));
    fs::rename(stage.path(".unstuck/state.db"), stage.path("aside.db")).unwrap();
    let (status, said) = server.ready();
    assert_eq!((status, said.contains("store")), (503, true), "{said}");
    // It names no project: the answer needs no token.
    assert!(!said.contains(".unstuck"), "{said}");
    fs::rename(stage.path("aside.db"), stage.path(".unstuck/state.db")).unwrap();
    assert_eq!(server.ready(), (200, "ready\n".to_owned()));
    assert_eq!(server.end(), Some(143));
}

// B50: another process holds the project and does not answer
#[test]
fn a_server_whose_holder_does_not_answer_is_not_ready() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[RED, RED, GREEN]);
    stage.set("[retry]\nper_signature = 1\n");
    let mut run = stage.start(&["run", "write a", "--json"]);
    run.read_until("\n");
    let server = Server::start(&stage, &[]);
    server.wait_for_question();
    assert_eq!(server.ready(), (200, "ready\n".to_owned()));
    run.signal(Signal::STOP);
    let (status, said) = server.ready();
    assert_eq!((status, said.contains("no process holds a project")), (503, true), "{said}");
    run.signal(Signal::CONT);
    assert_eq!(server.ready(), (200, "ready\n".to_owned()));
    assert_eq!(server.end(), Some(143));
}
