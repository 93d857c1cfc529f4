use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::Path;
use axum::http::header::{COOKIE, HOST, RETRY_AFTER};
use axum::http::{Method, Request as HttpRequest};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use axum::{Form, Router};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;
use unstuck_core::time::Span;

use super::super::caller::{Reach, Role};
use super::super::login::{Followed, Login, LoginForm, LoginPage};
use super::super::token::TokenId;
use super::super::tokens::NewToken;
use super::super::visit::Peer;
use super::*;

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub(in super::super) struct Still(AtomicU64);

#[async_trait]
impl Clock for Still {
    fn now(&self) -> Time {
        Time::from_millis(self.0.load(Ordering::Relaxed))
    }

    async fn until(&self, _: Time) {}
}

/// A server with a door, and the first token.
pub(in super::super) struct House {
    pub(in super::super) door: Arc<Door>,
    pub(in super::super) clock: Arc<Still>,
    pub(in super::super) token: Token,
    pub(in super::super) folder: tempfile::TempDir,
}

/// What came back.
#[derive(Debug)]
pub(in super::super) struct Answer {
    pub(in super::super) status: u16,
    pub(in super::super) headers: HeaderMap,
    pub(in super::super) text: String,
}

impl Answer {
    pub(in super::super) fn header(&self, name: impl AsRef<str>) -> &str {
        let value = self.headers.get(name.as_ref());
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// The cookie that was given, as a browser sends it back.
    pub(in super::super) fn cookie(&self) -> Option<String> {
        let cookie = self.headers.get(SET_COOKIE)?.to_str().unwrap();
        cookie.split_once(';').map(|(pair, _)| pair.to_owned())
    }
}

impl House {
    pub(in super::super) fn new() -> Self {
        Self::with(|door| door)
    }

    pub(in super::super) fn with(built: impl FnOnce(Door) -> Door) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(Still(AtomicU64::new(1_000_000_000)));
        let tokens = Tokens::at(folder.path().join("server"));
        let token = tokens.begin("ada", clock.now()).unwrap().unwrap();
        let key = Key::open(tokens.folder()).unwrap();
        let names = Names::new("127.0.0.1:7077".parse().unwrap(), ["inbox.example.org"]).unwrap();
        let door = Door::new(tokens, key, names, Arc::clone(&clock) as Arc<dyn Clock>);
        Self { door: Arc::new(built(door)), clock, token, folder }
    }

    pub(in super::super) fn later(&self, span: Span) {
        self.clock.0.fetch_add(span.as_millis(), Ordering::Relaxed);
    }

    pub(in super::super) fn make(&self, role: Role) -> (TokenId, Token) {
        let wish = NewToken { name: "bob".into(), role, reach: Reach::All, expires_at: None };
        let (entry, token) = self.door.tokens.make(wish, self.clock.now()).unwrap();
        (entry.id, token)
    }

    pub(in super::super) async fn send(&self, request: HttpRequest<Body>) -> Answer {
        let response = self.router().oneshot(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        Answer { status, headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    pub(in super::super) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(request(Method::GET, path, headers, "")).await
    }

    pub(in super::super) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        form: &str,
    ) -> Answer {
        let kind = [("content-type", "application/x-www-form-urlencoded")];
        let headers: Vec<_> = headers.iter().copied().chain(kind).collect();
        self.send(request(Method::POST, path, &headers, form)).await
    }

    /// The cookie of a session of the first token.
    pub(in super::super) async fn session(&self) -> String {
        let form = format!("token={}", self.token.as_str());
        self.post("/login", &[], &form).await.cookie().unwrap()
    }

    /// Three groups of routes that tell who is there.
    fn router(&self) -> Router {
        let door = || Arc::clone(&self.door);
        let programs = Router::new()
            .route("/api/it", get(who).post(who))
            .layer(from_fn_with_state(door(), api));
        let pages = Router::new()
            .route("/it", get(who).post(who))
            .route("/logout", get(logout).post(logout))
            .layer(from_fn_with_state(door(), page));
        let everybody = Router::new()
            .route("/login", get(login_page).post(login))
            .route("/enter/{code}", get(enter))
            .route("/link/{code}", get(follow))
            .route("/health", get(who).post(who))
            .layer(from_fn_with_state(door(), open));
        programs.merge(pages).merge(everybody).with_state(door())
    }
}

type Shared = State<Arc<Door>>;

async fn who(caller: Option<Caller>, csrf: Csrf, body: String) -> String {
    let name =
        caller.map_or("nobody".to_owned(), |caller| format!("{} {}", caller.name, caller.role));
    format!("{name}|{}|{body}", csrf.as_str())
}

async fn logout(State(door): Shared, visit: Visit) -> Response {
    door.log_out(&visit)
}

async fn login_page(State(door): Shared, caller: Option<Caller>) -> Response {
    match door.login_page(caller.as_ref(), Some("/it")) {
        Login::Page(LoginPage { next, .. }) => next.to_string().into_response(),
        Login::In(response) => response,
    }
}

async fn login(State(door): Shared, visit: Visit, Form(form): Form<LoginForm>) -> Response {
    match door.log_in(&visit, &form) {
        Login::In(response) => response,
        Login::Page(LoginPage { problem, .. }) => problem.unwrap().into_response(),
    }
}

async fn enter(State(door): Shared, visit: Visit, Path(code): Path<String>) -> Response {
    door.enter(&visit, &code).unwrap_or_else(told)
}

async fn follow(
    State(door): Shared,
    visit: Visit,
    caller: Option<Caller>,
    Path(code): Path<String>,
) -> Response {
    match door.follow(&visit, caller.as_ref(), &code) {
        Ok(Followed::Questions(link, entered)) => {
            entered.to(&LocalPath::or_first(Some(&format!("/p/{}", link.project))))
        }
        Ok(Followed::Confirm(link)) => {
            format!("{} {:?}", link.question, link.decision).into_response()
        }
        Err(problem) => told(problem),
    }
}

fn request(method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> HttpRequest<Body> {
    let mut request = HttpRequest::builder().method(method).uri(path);
    request = request.extension(Peer([10, 0, 0, 1].into()));
    if !headers.iter().any(|(name, _)| *name == HOST.as_str()) {
        request = request.header(HOST, "localhost:7077");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_owned())).unwrap()
}

fn bearer_of(token: &Token) -> String {
    format!("Bearer {}", token.as_str())
}

#[tokio::test]
async fn a_program_is_let_in_by_its_token() {
    let house = House::new();
    let (_, token) = house.make(Role::Viewer);
    for (token, who) in [(&house.token, "ada operator||"), (&token, "bob viewer||")] {
        for path in ["/api/it", "/it", "/health"] {
            let answer = house.get(path, &[("authorization", &bearer_of(token))]).await;
            assert_eq!((answer.status, answer.text.as_str()), (200, who), "{path}");
        }
        // It needs no form to change something.
        let answer = house.post("/api/it", &[("authorization", &bearer_of(token))], "a=b").await;
        assert_eq!((answer.status, answer.text), (200, format!("{who}a=b")));
    }
}

#[tokio::test]
async fn who_shows_nothing_is_told_or_sent_to_log_in() {
    let house = House::new();
    let answer = house.get("/api/it", &[]).await;
    assert_eq!((answer.status, answer.header(WWW_AUTHENTICATE)), (401, "Bearer realm=\"unstuck\""));
    assert_eq!(answer.header(CONTENT_TYPE), "application/problem+json");
    assert!(answer.text.contains("this takes a token"), "{}", answer.text);

    let answer = house.get("/it?a=1&b=2", &[]).await;
    assert_eq!((answer.status, answer.header(LOCATION)), (303, "/login?next=/it%3Fa%3D1%26b%3D2"));
    let answer = house.post("/it", &[], "a=b").await;
    assert_eq!((answer.status, answer.header(LOCATION)), (303, "/login"));

    let answer = house.get("/health", &[]).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, "nobody||"));
}

#[tokio::test]
async fn what_has_no_route_of_its_own_is_not_shown() {
    let house = House::new();
    assert_eq!(house.get("/nothing", &[]).await.status, 404);
    assert_eq!(house.send(request(Method::DELETE, "/api/it", &[], "")).await.status, 401);
}

#[tokio::test]
async fn a_token_that_is_worth_nothing_is_a_failure_everywhere_but_where_all_may_look() {
    let house = House::new();
    let (id, taken_back) = house.make(Role::Operator);
    house.door.tokens.revoke(id).unwrap();
    let wrong = ["Bearer", "Bearer ", "bearer x", &bearer_of(&taken_back)];
    for shown in wrong {
        for path in ["/api/it", "/it"] {
            let answer = house.get(path, &[("authorization", shown)]).await;
            assert_eq!(answer.status, 401, "{path} {shown}");
            assert_ne!(answer.header(WWW_AUTHENTICATE), "");
        }
    }
    let answer = house.get("/health", &[("authorization", "Bearer x")]).await;
    assert_eq!(answer.text, "nobody||");
    // A proxy before us may have a login of its own.
    let cookie = house.session().await;
    let headers = [("authorization", "Basic YTpi"), ("cookie", &cookie)];
    assert_eq!(house.get("/it", &headers).await.status, 200);
    // What is shown counts, and not what the browser adds.
    let headers = [("authorization", "Bearer x"), ("cookie", &cookie)];
    assert_eq!(house.get("/it", &headers).await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn after_ten_failures_one_is_told_to_wait_but_a_good_token_is_let_in() {
    let house = House::new();
    let wrong = [("authorization", "Bearer x")];
    for _ in 0..10 {
        assert_eq!(house.get("/api/it", &wrong).await.status, 401);
    }
    let answer = house.get("/api/it", &wrong).await;
    assert_eq!((answer.status, answer.header(RETRY_AFTER)), (429, "60"));
    assert_eq!(house.post("/login", &[], "token=x").await.status, 429);
    assert_eq!(house.get("/enter/x", &[]).await.status, 429);
    let good = bearer_of(&house.token);
    assert_eq!(house.get("/api/it", &[("authorization", &good)]).await.status, 200);
    assert_eq!(house.get("/api/it", &[]).await.status, 401);
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(house.get("/api/it", &wrong).await.status, 401);
}

#[tokio::test]
async fn a_session_is_let_in_and_changes_something_only_by_its_own_forms() {
    let house = House::new();
    let cookie = house.session().await;
    let with = |more: &[(&'static str, &'static str)]| {
        let mut headers = vec![("cookie", cookie.as_str())];
        headers.extend(more);
        headers
    };
    let page = house.get("/it", &with(&[])).await;
    let (who, csrf) = page.text.trim_end_matches('|').split_once('|').unwrap();
    assert_eq!((page.status, who, csrf.len()), (200, "ada operator", 64));

    let form = format!("a=b&csrf={csrf}");
    for path in ["/it", "/api/it"] {
        let answer = house.post(path, &with(&[]), &form).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        // The handler gets the form as it was sent.
        assert!(answer.text.ends_with(&format!("|{form}")), "{}", answer.text);
        for wrong in ["", "a=b", "csrf=", "csrf=00", &format!("csrf={}", "0".repeat(64))] {
            let answer = house.post(path, &with(&[]), wrong).await;
            assert_eq!(answer.status, 403, "{wrong}");
            assert!(answer.text.contains("load the page again"), "{}", answer.text);
        }
    }
    let json = |csrf: Option<&str>| {
        let mut headers = vec![("cookie", cookie.as_str()), ("content-type", "application/json")];
        headers.extend(csrf.map(|csrf| ("x-csrf", csrf)));
        request(Method::POST, "/api/it", &headers, "{}")
    };
    assert_eq!(house.send(json(Some(csrf))).await.status, 200);
    assert_eq!(house.send(json(Some("x"))).await.status, 403);
    assert_eq!(house.send(json(None)).await.status, 403);
}

#[tokio::test]
async fn a_form_without_end_is_refused() {
    let house = House::new();
    let cookie = house.session().await;
    let large = "x".repeat(FORM_BYTES_MAX + 1);
    assert_eq!(house.post("/it", &[("cookie", &cookie)], &large).await.status, 413);
}

#[tokio::test]
async fn other_names_and_other_sites_are_refused_before_anything_is_looked_at() {
    let house = House::new();
    let good = bearer_of(&house.token);
    for path in ["/api/it", "/it", "/health", "/login"] {
        let headers = [("host", "evil.example"), ("authorization", good.as_str())];
        assert_eq!(house.get(path, &headers).await.status, 421, "{path}");
        let headers = [("origin", "https://evil.example"), ("authorization", good.as_str())];
        assert_eq!(house.post(path, &headers, "").await.status, 403, "{path}");
        let headers = [("sec-fetch-site", "cross-site"), ("authorization", good.as_str())];
        assert_eq!(house.post(path, &headers, "").await.status, 403, "{path}");
    }
    // Looking is no change; without leave of ours the other site cannot read it.
    let headers = [("origin", "https://evil.example"), ("authorization", good.as_str())];
    let answer = house.get("/api/it", &headers).await;
    assert_eq!(answer.status, 200);
    assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control")));
}

#[tokio::test]
async fn a_session_is_over_with_its_time_and_with_its_token() {
    let house = House::new();
    let first = house.session().await;
    house.later(Span::from_hours(12));
    assert_eq!(house.get("/it", &[("cookie", &first)]).await.status, 303);

    let second = house.session().await;
    let id = house.door.tokens.here_id(house.clock.now()).unwrap().unwrap();
    house.door.tokens.rotate(id, house.clock.now()).unwrap();
    assert_eq!(house.get("/it", &[("cookie", &second)]).await.status, 303);
    assert_eq!(house.get("/api/it", &[("cookie", &second)]).await.status, 401);
}

#[tokio::test]
async fn a_session_that_is_used_is_renewed_when_half_is_over() {
    let house = House::new();
    let cookie = house.session().await;
    let before = house.get("/it", &[("cookie", &cookie)]).await;
    assert_eq!(before.cookie(), None);
    house.later(Span::from_hours(6));
    let answer = house.get("/it", &[("cookie", &cookie)]).await;
    let renewed = answer.cookie().unwrap();
    assert_eq!(answer.text, before.text);
    house.later(Span::from_hours(11));
    let later = house.get("/it", &[("cookie", &renewed)]).await;
    assert_eq!((later.status, &later.text), (200, &before.text));
    assert_eq!(house.get("/it", &[("cookie", &cookie)]).await.status, 303);
}

#[tokio::test]
async fn while_the_file_of_tokens_cannot_be_read_nobody_is_let_in() {
    let house = House::new();
    let (good, cookie) = (bearer_of(&house.token), house.session().await);
    let file = house.folder.path().join("server").join("tokens.json");
    std::fs::write(&file, "{").unwrap();
    for headers in [("authorization", &good), (COOKIE.as_str(), &cookie)] {
        let answer = house.get("/api/it", &[(headers.0, headers.1)]).await;
        assert_eq!(answer.status, 503, "{headers:?}");
        assert!(!answer.text.contains("tokens.json"), "{}", answer.text);
    }
    assert_eq!(house.get("/health", &[("authorization", &good)]).await.status, 200);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
}

#[tokio::test]
async fn a_cookie_of_another_server_is_no_failure() {
    let (house, other) = (House::new(), House::new());
    let (own, foreign) = (house.session().await, other.session().await);
    for _ in 0..20 {
        assert_eq!(house.get("/it", &[("cookie", &foreign)]).await.status, 303);
    }
    let both = format!("{foreign}; {own}");
    assert_eq!(house.get("/it", &[("cookie", &both)]).await.status, 200);
}
