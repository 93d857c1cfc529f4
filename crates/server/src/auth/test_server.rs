//! A server with access checks, for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{HOST, SET_COOKIE};
use axum::http::{HeaderMap, Method, Request};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Form, Router};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;
use unstuck_core::time::{Span, Time};
use unstuck_runner::Clock;

use super::allowed_hosts::AllowedHosts;
use super::authenticator::{Authenticator, guard_api, guard_pages, guard_public};
use super::caller::{AccessRole, Caller, ProjectVisibility, TokenId};
use super::key::ServerSigningKey;
use super::local_path::LocalPath;
use super::login::{LoginForm, LoginOutcome, LoginPage, SignedLinkTarget};
use super::request_context::{AuthRequestContext, CsrfToken, RequestPeer};
use super::token::AccessToken;
use super::token_store::{AccessTokenStore, NewToken};
use crate::problem::Problem;

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub(super) struct Still(AtomicU64);

#[async_trait]
impl Clock for Still {
    fn now(&self) -> Time {
        Time::from_millis(self.0.load(Ordering::Relaxed))
    }

    async fn wait_until(&self, _: Time) {}
}

/// A server with access checks, and the first token.
pub(super) struct TestServer {
    pub(super) authenticator: Arc<Authenticator>,
    pub(super) clock: Arc<Still>,
    pub(super) token: AccessToken,
    pub(super) folder: tempfile::TempDir,
}

#[derive(Debug)]
pub(super) struct TestResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl TestResponse {
    pub(super) fn header(&self, name: impl AsRef<str>) -> &str {
        let value = self.headers.get(name.as_ref());
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the cookie of the response, as a browser sends it back.
    pub(super) fn cookie(&self) -> Option<String> {
        let cookie = self.headers.get(SET_COOKIE)?.to_str().unwrap();
        cookie.split_once(';').map(|(pair, _)| pair.to_owned())
    }
}

impl TestServer {
    pub(super) fn new() -> Self {
        Self::with(|authenticator| authenticator)
    }

    pub(super) fn with(built: impl FnOnce(Authenticator) -> Authenticator) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(Still(AtomicU64::new(1_000_000_000)));
        let tokens = AccessTokenStore::in_folder(folder.path().join("server"));
        let token = tokens.ensure_first_token("ada", clock.now()).unwrap().unwrap();
        let key = ServerSigningKey::open(tokens.folder()).unwrap();
        let names =
            AllowedHosts::new("127.0.0.1:7077".parse().unwrap(), ["inbox.example.org"]).unwrap();
        let authenticator =
            Authenticator::new(tokens, key, names, Arc::clone(&clock) as Arc<dyn Clock>);
        Self { authenticator: Arc::new(built(authenticator)), clock, token, folder }
    }

    pub(super) fn later(&self, span: Span) {
        self.clock.0.fetch_add(span.as_millis(), Ordering::Relaxed);
    }

    pub(super) fn make(&self, role: AccessRole) -> (TokenId, AccessToken) {
        let wish =
            NewToken { name: "bob".into(), role, reach: ProjectVisibility::All, expires_at: None };
        let (entry, token) =
            self.authenticator.tokens.create_token(wish, self.clock.now()).unwrap();
        (entry.id, token)
    }

    pub(super) async fn send(&self, request: Request<Body>) -> TestResponse {
        let response = self.router().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        TestResponse { status, headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    pub(super) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> TestResponse {
        self.send(request(Method::GET, path, headers, "")).await
    }

    pub(super) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        form: &str,
    ) -> TestResponse {
        let kind = [("content-type", "application/x-www-form-urlencoded")];
        let headers: Vec<_> = headers.iter().copied().chain(kind).collect();
        self.send(request(Method::POST, path, &headers, form)).await
    }

    /// Returns the cookie of a session of the first token.
    pub(super) async fn session(&self) -> String {
        let form = format!("token={}", self.token.as_str());
        self.post("/login", &[], &form).await.cookie().unwrap()
    }

    /// Returns three groups of routes that respond with the caller.
    fn router(&self) -> Router {
        let authenticator = || Arc::clone(&self.authenticator);
        let programs = Router::new()
            .route("/api/it", get(who).post(who))
            .layer(from_fn_with_state(authenticator(), guard_api));
        let pages = Router::new()
            .route("/it", get(who).post(who))
            .route("/logout", get(logout).post(logout))
            .layer(from_fn_with_state(authenticator(), guard_pages));
        let public = Router::new()
            .route("/login", get(login_page).post(login))
            .route("/enter/{code}", get(enter))
            .route("/link/{code}", get(follow))
            .route("/health", get(who).post(who))
            .layer(from_fn_with_state(authenticator(), guard_public));
        programs.merge(pages).merge(public).with_state(authenticator())
    }
}

type Shared = State<Arc<Authenticator>>;

async fn who(caller: Option<Caller>, csrf: CsrfToken, body: String) -> String {
    let name =
        caller.map_or("public".to_owned(), |caller| format!("{} {}", caller.name, caller.role));
    format!("{name}|{}|{body}", csrf.as_str())
}

async fn logout(
    State(authenticator): Shared,
    visit: AuthRequestContext,
) -> Result<Response, Problem> {
    authenticator.log_out(&visit)
}

async fn login_page(State(authenticator): Shared, caller: Option<Caller>) -> Response {
    match authenticator.login_page(caller.as_ref(), Some("/it")) {
        LoginOutcome::Page(LoginPage { next, .. }) => next.to_string().into_response(),
        LoginOutcome::In(response) => response,
    }
}

async fn login(
    State(authenticator): Shared,
    visit: AuthRequestContext,
    Form(form): Form<LoginForm>,
) -> Response {
    match authenticator.log_in(&visit, &form) {
        LoginOutcome::In(response) => response,
        LoginOutcome::Page(LoginPage { problem, .. }) => problem.unwrap().into_response(),
    }
}

async fn enter(
    State(authenticator): Shared,
    visit: AuthRequestContext,
    Path(code): Path<String>,
) -> Response {
    authenticator.enter_by_link(&visit, &code).unwrap_or_else(Problem::into_response)
}

async fn follow(
    State(authenticator): Shared,
    visit: AuthRequestContext,
    caller: Option<Caller>,
    Path(code): Path<String>,
) -> Response {
    match authenticator.follow_link(&visit, caller.as_ref(), &code) {
        Ok(SignedLinkTarget::Questions(link, entered)) => {
            entered.redirect_to(&LocalPath::parse_or_home(Some(&format!("/p/{}", link.project))))
        }
        Ok(SignedLinkTarget::Confirm(link)) => {
            format!("{} {:?}", link.question, link.decision).into_response()
        }
        Err(problem) => problem.into_response(),
    }
}

pub(super) fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    request = request.extension(RequestPeer([10, 0, 0, 1].into()));
    if !headers.iter().any(|(name, _)| *name == HOST.as_str()) {
        request = request.header(HOST, "localhost:7077");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_owned())).unwrap()
}
