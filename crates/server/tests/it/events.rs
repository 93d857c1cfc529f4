//! Live events: in order, without a gap, and without memory for those who do not read.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Method;
use futures_util::StreamExt as _;
use serde_json::Value;
use unstuck_core::engine::{BuildId, Command};
use unstuck_server::{AccessRole, ProjectVisibility};

use super::served_projects::{Stage, asked};

/// A reader of events.
struct Reader {
    body: BodyDataStream,
    rest: String,
}

/// One event: its id, its name where it has one, its data.
#[derive(Debug)]
struct Read {
    id: String,
    name: String,
    data: Value,
}

impl Reader {
    async fn open(stage: &Stage, token: &str, path: &str, last: Option<&str>) -> Self {
        let mut request = asked(Method::GET, token, path, Body::empty());
        if let Some(last) = last {
            request.headers_mut().insert("last-event-id", last.parse().unwrap());
        }
        let response = stage.begin(request).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body().into_data_stream(), rest: String::new() }
    }

    /// The next event; none at the end.
    async fn next(&mut self) -> Option<Read> {
        loop {
            while let Some((frame, rest)) = self.rest.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.rest = rest;
                let field = |name: &str| {
                    let line = frame.lines().find_map(|line| line.strip_prefix(name));
                    line.unwrap_or_default().to_owned()
                };
                let data = field("data: ");
                if !data.is_empty() {
                    let data = serde_json::from_str(&data).unwrap();
                    return Some(Read { id: field("id: "), name: field("event: "), data });
                }
            }
            let more = tokio::time::timeout(Duration::from_secs(30), self.body.next()).await;
            let chunk = more.unwrap()?.unwrap();
            self.rest += std::str::from_utf8(&chunk).unwrap();
        }
    }

    async fn seq(&mut self) -> u64 {
        self.next().await.unwrap().data["seq"].as_u64().unwrap()
    }
}

// T1.12: everything that happens comes once, in order, and again from any position
#[tokio::test]
async fn a_reader_that_comes_back_misses_nothing_and_reads_nothing_twice() {
    let stage = Stage::new().await;
    let token = stage.operator();
    stage.project().build(&["One", "Two"]).await;
    let path = "/api/v1/projects/shop/events";
    let mut reader = Reader::open(&stage, &token, path, Some("0")).await;
    let newest = stage.project().store.load_newest_seq("shop").await.unwrap();
    for wanted in 1..=newest {
        assert_eq!(reader.seq().await, wanted);
    }
    stage.project().asks().await;
    let newest_then = stage.project().store.load_newest_seq("shop").await.unwrap();
    for wanted in newest + 1..=newest_then {
        let read = reader.next().await.unwrap();
        assert_eq!(read.id, wanted.to_string());
        assert_eq!(read.data["seq"], wanted);
        assert_eq!(read.data["build"], 0, "{read:?}");
    }
    drop(reader);
    stage.project().command(Command::Pause { build: BuildId(0) }).await;
    let mut back = Reader::open(&stage, &token, path, Some(&newest_then.to_string())).await;
    assert_eq!(back.seq().await, newest_then + 1);
}

#[tokio::test]
async fn a_build_and_all_projects_have_streams_of_their_own() {
    let stage = Stage::of(&["bank", "shop"]).await;
    let token = stage.operator();
    let mut all = Reader::open(&stage, &token, "/api/v1/events", None).await;
    for project in &stage.projects {
        project.build(&["One"]).await;
        project.build(&["Other"]).await;
    }
    let mut seen = std::collections::BTreeMap::<String, u64>::new();
    let mut last = String::new();
    let total: u64 = {
        let mut total = 0;
        for project in &stage.projects {
            total += project.store.load_newest_seq(&project.name).await.unwrap();
        }
        total
    };
    for _ in 0..total {
        let read = all.next().await.unwrap();
        let project = read.data["project"].as_str().unwrap().to_owned();
        let seq = read.data["seq"].as_u64().unwrap();
        assert_eq!(seq, seen.get(&project).copied().unwrap_or_default() + 1, "{project}");
        seen.insert(project, seq);
        last = read.id;
    }
    drop(all);
    stage.projects[0].command(Command::Pause { build: BuildId(1) }).await;
    let mut back = Reader::open(&stage, &token, "/api/v1/events", Some(&last)).await;
    let read = back.next().await.unwrap();
    assert_eq!(
        (&read.data["project"], &read.data["type"]),
        (&"bank".into(), &"agent.build_paused".into())
    );
    let path = "/api/v1/builds/b1/events?project=bank&after=0";
    let mut one = Reader::open(&stage, &token, path, None).await;
    let first = one.next().await.unwrap();
    assert_eq!((&first.data["type"], &first.data["build"]), (&"build.started".into(), &1.into()));
    let next = one.next().await.unwrap();
    assert_eq!(next.data["build"], 1, "{next:?}");
}

// TX3: that a question was answered is heard by those who follow its build
#[tokio::test]
async fn a_build_hears_of_its_answers() {
    let stage = Stage::new().await;
    let token = stage.operator();
    stage.project().build(&["One"]).await;
    let id = stage.project().asks().await;
    let mut reader = Reader::open(&stage, &token, "/api/v1/builds/b0/events", None).await;
    let path = format!("/api/v1/questions/{id}/answer");
    let body = serde_json::json!({ "decision": "provide_credentials" });
    assert_eq!(stage.post(&token, &path, &body).await.status, 200);
    let mut read = reader.next().await.unwrap();
    while read.data["type"] != "agent.escalation_resolved" {
        read = reader.next().await.unwrap();
    }
    assert_eq!(read.data["build"], 0, "{read:?}");
}

#[tokio::test]
async fn an_answerer_hears_that_something_happened_and_not_what() {
    let stage = Stage::new().await;
    let anna = stage.token("anna", AccessRole::Answerer, ProjectVisibility::All);
    assert_eq!(stage.get(&anna, "/api/v1/projects/shop/events").await.status, 403);
    let mut reader = Reader::open(&stage, &anna, "/api/v1/news", None).await;
    stage.project().build(&["One"]).await;
    let read = reader.next().await.unwrap();
    assert_eq!((read.name.as_str(), &read.data), ("news", &serde_json::json!({})));
}

// A client whose token was taken back learns nothing more
#[tokio::test]
async fn a_stream_ends_with_the_token_it_was_opened_by() {
    let stage = Stage::new().await;
    let anna = stage.token("anna", AccessRole::Viewer, ProjectVisibility::All);
    let mut reader = Reader::open(&stage, &anna, "/api/v1/projects/shop/events", None).await;
    stage.project().build(&["Put it online"]).await;
    assert_eq!(reader.next().await.unwrap().data["type"], "build.started");
    let entries = stage.tokens.list_entries().unwrap();
    let id = entries.iter().find(|entry| entry.name == "anna").unwrap().id;
    stage.tokens.revoke_token(id).unwrap();
    stage.project().command(Command::Pause { build: BuildId(0) }).await;
    while let Some(read) = reader.next().await {
        assert_ne!(read.data["type"], "agent.build_paused", "{read:?}");
    }
}

#[tokio::test]
async fn streams_are_told_that_the_server_ends() {
    let stage = Stage::new().await;
    let token = stage.operator();
    let mut reader = Reader::open(&stage, &token, "/api/v1/events", None).await;
    stage.stop.cancel();
    assert_eq!(reader.next().await.unwrap().name, "restart");
    assert!(reader.next().await.is_none());
    assert_eq!(stage.get(&token, "/readyz").await.status, 503);
}

// A reader that does not read gets a gap and costs no memory: what is kept is kept for all
#[tokio::test]
async fn a_reader_that_is_too_slow_is_told_where_to_go_on() {
    let stage = Stage::new().await;
    let token = stage.operator();
    let path = "/api/v1/projects/shop/events";
    let mut slow = Reader::open(&stage, &token, path, None).await;
    let mut quick = Reader::open(&stage, &token, path, None).await;
    stage.project().build(&["One"]).await;
    let first = slow.seq().await;
    // More than what is kept for those who follow.
    let mut newest = first;
    while newest < first + 5_000 {
        stage.project().command(Command::Pause { build: BuildId(0) }).await;
        stage.project().command(Command::Resume { build: BuildId(0) }).await;
        newest = stage.project().store.load_newest_seq("shop").await.unwrap();
    }
    while quick.seq().await < newest {}
    let mut gap = slow.next().await.unwrap();
    // What was on its way already still comes.
    let mut last = first.to_string();
    while gap.name.is_empty() {
        last.clone_from(&gap.id);
        gap = slow.next().await.unwrap();
    }
    assert_eq!((gap.name.as_str(), &gap.data["after"]), ("gap", &last.as_str().into()));
    assert!(slow.next().await.is_none());
    let mut back = Reader::open(&stage, &token, path, Some(&last)).await;
    assert_eq!(back.seq().await, last.parse::<u64>().unwrap() + 1);
}
