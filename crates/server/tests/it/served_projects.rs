//! A server of one or two projects whose engine really decides, without a performer.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Command, Effect, EffectKind, EffectOutcome, Event, RecordedEvent};
use unstuck_core::fault::{Auth, Fault, Internal};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_core::policy::Amount;
use unstuck_core::time::Time;
use unstuck_runner::{Runner, RunnerHandle, SystemClock};
use unstuck_server::auth::{
    AccessTokenStore, AllowedHosts, Authenticator, NewToken, ServerSigningKey,
};
use unstuck_server::{
    AccessRole, ProjectRegistration, ProjectVisibility, QuestionAudience, ServerState, build_app,
};
use unstuck_store::{SqliteStore, Store};
use unstuck_testkit::stage::{make_runner_setup, succeed_effect};

use super::desk::LoopDesk;

/// One project.
pub(crate) struct Project {
    pub(crate) name: Arc<str>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) handle: RunnerHandle,
}

/// A server.
pub(crate) struct Stage {
    pub(crate) projects: Vec<Project>,
    pub(crate) app: Router,
    pub(crate) stop: CancellationToken,
    pub(crate) tokens: AccessTokenStore,
    _folder: TempDir,
}

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answered {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::of(&["shop"]).await
    }

    pub(crate) async fn of(names: &[&str]) -> Self {
        Self::for_audience(names, QuestionAudience::Developer).await
    }

    /// A server of projects whose questions are for these readers.
    pub(crate) async fn for_audience(names: &[&str], audience: QuestionAudience) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stop = CancellationToken::new();
        let (mut projects, mut hosted) = (Vec::new(), Vec::new());
        for name in names {
            let store: Arc<dyn Store> =
                Arc::new(SqliteStore::open(folder.path().join(format!("{name}.db"))).unwrap());
            let name: Arc<str> = Arc::from(*name);
            let setup = make_runner_setup(Arc::clone(&store), &name);
            let runner = Runner::open(setup).await.unwrap();
            let handle = runner.handle();
            tokio::spawn(runner.run());
            hosted.push(ProjectRegistration {
                name: Arc::clone(&name),
                store: Arc::clone(&store),
                host: Arc::new(LoopDesk(handle.clone())),
                audience,
            });
            projects.push(Project { name, store, handle });
        }
        let site = ServerState::open(hosted, Arc::new(SystemClock), stop.clone()).await.unwrap();
        let tokens = AccessTokenStore::in_folder(folder.path().join("server"));
        tokens.ensure_first_token("ann", Time::from_millis(1)).unwrap();
        let names = AllowedHosts::new("127.0.0.1:7424".parse().unwrap(), []).unwrap();
        let key = ServerSigningKey::open(&folder.path().join("server")).unwrap();
        let door = Authenticator::new(
            AccessTokenStore::in_folder(folder.path().join("server")),
            key,
            names,
            Arc::new(SystemClock),
        );
        let app = build_app(site, &Arc::new(door));
        Self { projects, app, stop, tokens, _folder: folder }
    }

    /// A server with a question about a build, the question's number, and an operator's token.
    pub(crate) async fn with_question() -> (Self, u32, String) {
        let stage = Self::new().await;
        stage.project().build(&["Put it online"]).await;
        let id = stage.project().asks().await;
        let token = stage.operator();
        (stage, id, token)
    }

    pub(crate) fn project(&self) -> &Project {
        &self.projects[0]
    }

    /// Makes a token with this name.
    pub(crate) fn token(&self, name: &str, role: AccessRole, reach: ProjectVisibility) -> String {
        let wish = NewToken { name: name.into(), role, reach, expires_at: None };
        let (_, token) = self.tokens.create_token(wish, Time::from_millis(1)).unwrap();
        token.as_str().to_owned()
    }

    /// A token for everything.
    pub(crate) fn operator(&self) -> String {
        self.token("olga", AccessRole::Operator, ProjectVisibility::All)
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answered {
        let (parts, body) = self.begin(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answered { status: parts.status, headers: parts.headers, body }
    }

    /// The same, without waiting for the end of what comes back.
    pub(crate) async fn begin(&self, request: Request<Body>) -> Response<Body> {
        self.app.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Answered {
        self.send(asked(Method::GET, token, path, Body::empty())).await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: &Value) -> Answered {
        self.send(asked(Method::POST, token, path, Body::from(body.to_string()))).await
    }
}

/// A request with a token.
pub(crate) fn asked(method: Method, token: &str, path: &str, body: Body) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1:7424")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(body)
        .unwrap()
}

impl Project {
    pub(crate) async fn command(&self, command: Command) -> Vec<RecordedEvent> {
        let decided = self.handle.submit_command(command).await.unwrap();
        decided.events.iter().map(|recorded| (**recorded).clone()).collect()
    }

    /// A build with tasks of these titles, all of which may run at once.
    pub(crate) async fn build(&self, titles: &[&str]) {
        let spec = |(at, title): (usize, &&str)| TaskSpec {
            name: format!("task-{at}"),
            title: (*title).to_owned(),
            ..TaskSpec::default()
        };
        let plan = Plan::new(titles.iter().enumerate().map(spec).collect()).unwrap();
        let slots = u32::try_from(titles.len()).unwrap();
        self.command(Command::StartBuild { plan: Arc::new(plan), slots, in_place: false }).await;
    }

    /// The effects that are owed to the engine.
    pub(crate) async fn outstanding(&self) -> Vec<Effect> {
        self.handle.read_state(unstuck_core::engine::State::outstanding_effects).await.unwrap()
    }

    /// The first effect that is owed ends with a fault.
    pub(crate) async fn fails(&self, fault: Fault) -> Vec<RecordedEvent> {
        let effect = self.outstanding().await[0].id;
        let outcome = EffectOutcome::Failed { fault: Arc::new(fault), approach: None };
        self.command(Command::Settle { effect, outcome, spent: Amount::ZERO }).await
    }

    /// Does what is owed until a build has nothing more to do: the agents change nothing, and say so in
    /// these words, but for the tasks whose number is in `changing`.
    pub(crate) async fn works(&self, says: &str, changing: &[u32]) {
        while let Some(effect) = self.outstanding().await.into_iter().next() {
            let outcome = match effect.what {
                EffectKind::Attempt { .. } => {
                    let changed = changing.contains(&effect.task.0);
                    let summary = says.to_owned();
                    let files_changed = u32::from(changed);
                    let approach = Approach { files_changed, summary, ..Approach::default() };
                    EffectOutcome::Attempted { approach: Arc::new(approach) }
                }
                kind => succeed_effect(kind),
            };
            self.command(Command::Settle { effect: effect.id, outcome, spent: Amount::ZERO }).await;
        }
    }

    /// A question of a person whose key was refused; its number.
    pub(crate) async fn asks(&self) -> u32 {
        let events =
            self.fails(Fault::auth_invalid("deploy", "403 refused", Auth::default())).await;
        asked_of(&events)
    }

    /// A question about a fault of ours, with this text in it.
    pub(crate) async fn asks_about(&self, message: &str) -> u32 {
        let fault = Fault::internal_error("test", message, Internal::default());
        asked_of(&self.fails(fault).await)
    }
}

fn asked_of(events: &[RecordedEvent]) -> u32 {
    let asked = events.iter().find_map(|recorded| match &recorded.event {
        Event::QuestionAsked { question } => Some(question.id.0),
        _ => None,
    });
    asked.unwrap_or_else(|| panic!("no question was asked: {events:?}"))
}

/// The body of an answer.
pub(crate) fn choice(decision: &str) -> Value {
    json!({ "decision": decision })
}
