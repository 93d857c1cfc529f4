//! Sessions of other runtimes, over HTTP.

mod acting;
mod asking;
mod failing;
mod refusing;

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};

use super::served_projects::{Answered, Stage, asked};

/// A runtime somewhere else, and its session.
pub(crate) struct Runtime {
    pub(crate) stage: Stage,
    token: String,
    session: String,
    told: u32,
}

impl Runtime {
    pub(crate) async fn new() -> Self {
        let stage = Stage::new().await;
        let token = stage.operator();
        let mut runtime = Self { stage, token, session: String::new(), told: 0 };
        runtime.open("Bring the orders over").await;
        runtime
    }

    /// Opens another session and goes on with that.
    pub(crate) async fn open(&mut self, goal: &str) -> u64 {
        let opened = self.send("/api/v1/sessions", None, &json!({ "goal": goal })).await;
        assert_eq!(opened.status, 201, "{opened:?}");
        let id = opened.json()["id"].as_u64().unwrap();
        self.session = format!("/api/v1/sessions/b{id}");
        id
    }

    pub(crate) async fn send(&self, path: &str, key: Option<&str>, body: &Value) -> Answered {
        let mut request = asked(Method::POST, &self.token, path, Body::from(body.to_string()));
        if let Some(key) = key {
            request.headers_mut().insert("idempotency-key", key.parse().unwrap());
        }
        self.stage.send(request).await
    }

    /// Tells something about the session.
    pub(crate) async fn tell(&self, what: &str, key: Option<&str>, body: &Value) -> Answered {
        self.send(&format!("{}/{what}", self.session), key, body).await
    }

    /// A failure, told for the first time.
    pub(crate) async fn fails(&mut self, failure: &Value) -> Value {
        self.told += 1;
        let key = format!("told-{}", self.told);
        let told = self.tell("failures", Some(&key), failure).await;
        assert_eq!(told.status, 200, "{told:?}");
        told.json()
    }

    pub(crate) async fn wants(&self, key: &str, arguments: &Value) -> Answered {
        self.tell("mutations", None, &json!({ "key": key, "arguments": arguments })).await
    }

    pub(crate) async fn came_of(&self, key: &str, outcome: &Value) -> Answered {
        let path = format!("{}/mutations/{key}", self.session);
        let body = Body::from(outcome.to_string());
        self.stage.send(asked(Method::PATCH, &self.token, &path, body)).await
    }

    pub(crate) async fn session(&self) -> Value {
        self.stage.get(&self.token, &self.session).await.json()
    }

    pub(crate) async fn answer(&self, question: &Value, decision: &str, words: Option<&str>) {
        let path = format!("/api/v1/questions/{}/answer", question["id"]);
        let body = json!({ "decision": decision, "guidance": words });
        let answered = self.stage.post(&self.token, &path, &body).await;
        assert_eq!(answered.status, 200, "{answered:?}");
    }
}

/// An error of the agent's own making.
pub(crate) fn broken(what: &str) -> Value {
    json!({
        "type": "KeyError", "message": format!("there is no column {what:?}"),
        "source": "import_orders", "approach": format!("read {what} by its name"),
    })
}
