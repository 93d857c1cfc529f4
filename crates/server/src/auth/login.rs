//! Opens and ends sessions. The pages themselves are in `pages`.

use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use super::authenticator::{Authenticator, see_other, unknown_token_error};
use super::caller::{AccessRole, Caller, TokenId};
use super::error::AccessError;
use super::link::{AnswererLink, ChoiceLink, EntryLink, LinkError, SignedLink};
use super::local_path::LocalPath;
use super::request_context::AuthRequestContext;
use super::session::{LoginSession, LoginSessionOrigin, clear_session_cookie, set_session_cookie};
use super::token::AccessToken;
use crate::problem::Problem;

/// The fields of the login form.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct LoginForm {
    /// The token in plain text.
    #[serde(default)]
    token: String,
    /// The path to continue at.
    next: Option<String>,
}

/// The outcome of a login.
#[derive(Debug)]
#[must_use]
pub enum LoginOutcome {
    /// The client is logged in and redirected.
    In(Response),
    /// The login page is to be shown, with the status of its problem if it has one.
    Page(LoginPage),
}

/// The data of the login page.
#[derive(Clone, Debug)]
pub struct LoginPage {
    /// The path to continue at, as the field `next` of the form.
    pub next: LocalPath,
    /// The reason why a login failed.
    pub problem: Option<Problem>,
}

/// A session that was opened.
#[derive(Debug)]
#[must_use]
pub struct OpenedLoginSession {
    /// The session cookie; `None` if the client was already logged in with at least the same
    /// permissions.
    cookie: Option<HeaderValue>,
}

/// The target of a link.
#[derive(Debug)]
#[must_use]
pub enum SignedLinkTarget {
    /// The questions of a project.
    Questions(AnswererLink, OpenedLoginSession),
    /// A page that asks for confirmation of an answer.
    Confirm(ChoiceLink),
}

impl OpenedLoginSession {
    /// Redirects to a page of this server, and sets the session cookie.
    pub fn redirect_to(self, path: &LocalPath) -> Response {
        let mut response = see_other(path.as_str());
        if let Some(cookie) = self.cookie {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }
}

impl Authenticator {
    /// Handles `GET /login`: the page, or a redirect for a client that is logged in.
    pub fn login_page(&self, caller: Option<&Caller>, next: Option<&str>) -> LoginOutcome {
        let next = LocalPath::parse_or_home(next);
        match caller {
            Some(_) => LoginOutcome::In(see_other(next.as_str())),
            None => LoginOutcome::Page(LoginPage { next, problem: None }),
        }
    }

    /// Handles `POST /login`: a session, or the page again with the error.
    pub fn log_in(&self, visit: &AuthRequestContext, form: &LoginForm) -> LoginOutcome {
        let next = LocalPath::parse_or_home(form.next.as_deref());
        let opened = AccessToken::parse(&form.token)
            .map(|token| self.open_session_by_token(visit, &token))
            .transpose();
        let problem = match opened {
            Ok(Some(Some(entered))) => return LoginOutcome::In(entered.redirect_to(&next)),
            Ok(_) => self.record_failure(visit, unknown_token_error()),
            Err(error) => error.into(),
        };
        LoginOutcome::Page(LoginPage { next, problem: Some(problem) })
    }

    /// Handles `POST /logout`: ends the session, also for other holders of its cookie.
    pub fn log_out(&self, visit: &AuthRequestContext) -> Result<Response, Problem> {
        if let Some(session) = &visit.session {
            let now = self.now();
            let expiry = LoginSession::latest_expiry(now);
            self.lock_used_ids().use_once(session.id(), expiry, now)?;
        }
        let mut response = see_other(&LocalPath::home_page().login_url());
        if let Some(cookie) = clear_session_cookie(visit.secure) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        Ok(response)
    }

    /// Returns the path of a link that opens a session of the locally stored token, once and within
    /// minutes; `None` if that token was revoked.
    pub fn entry_path(&self) -> Result<Option<String>, AccessError> {
        let now = self.now();
        let Some(id) = self.tokens.local_token_id(now)? else { return Ok(None) };
        Ok(Some(format!("/enter/{}", SignedLink::for_entry(id, now)?.seal(&self.key))))
    }

    /// Handles `GET /enter/{code}`: opens a session with such a link.
    pub fn enter_by_link(
        &self,
        visit: &AuthRequestContext,
        code: &str,
    ) -> Result<Response, Problem> {
        let SignedLink::Entry(link) = self.unseal_link(visit, code)? else {
            return Err(LinkError::Unreadable.into());
        };
        if visit.is_prefetch {
            let detail = "this link works once, and it has not been used yet";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
        }
        let EntryLink { token, id, expires_at } = link;
        let now = self.now();
        if !self.lock_used_ids().use_once(&id, expires_at, now)? {
            return Err(LinkError::Used.into());
        }
        let entered = self.open_session_by_id(visit, token)?;
        Ok(entered.ok_or_else(unknown_token_error)?.redirect_to(&LocalPath::home_page()))
    }

    /// Handles `GET /link/{code}`: resolves a link of a message. Following it answers nothing,
    /// because programs that scan messages follow links too.
    pub fn follow_link(
        &self,
        visit: &AuthRequestContext,
        caller: Option<&Caller>,
        code: &str,
    ) -> Result<SignedLinkTarget, Problem> {
        match self.unseal_link(visit, code)? {
            SignedLink::Entry(_) => Err(LinkError::Unreadable.into()),
            SignedLink::Choice(link) => Ok(SignedLinkTarget::Confirm(link)),
            SignedLink::Answerer(link) => {
                let enough = |caller: &Caller| {
                    caller.has_role(AccessRole::Answerer) && caller.can_see(&link.project)
                };
                let entered = if caller.is_some_and(enough) {
                    OpenedLoginSession { cookie: None }
                } else {
                    let AnswererLink { name, project, expires_at: ends_at } = link.clone();
                    self.open_session(visit, LoginSessionOrigin::Link { name, project, ends_at })?
                };
                Ok(SignedLinkTarget::Questions(link, entered))
            }
        }
    }

    /// Parses a link of this server, and counts an unreadable one as a failed attempt.
    fn unseal_link(&self, visit: &AuthRequestContext, code: &str) -> Result<SignedLink, Problem> {
        SignedLink::unseal(&self.key, code, self.now()).map_err(|error| match error {
            LinkError::Unreadable => self.record_failure(visit, error.into()),
            LinkError::Expired | LinkError::Used => error.into(),
        })
    }

    fn open_session_by_token(
        &self,
        visit: &AuthRequestContext,
        token: &AccessToken,
    ) -> Result<Option<OpenedLoginSession>, AccessError> {
        match self.tokens.find_by_token(token, self.now())? {
            Some(entry) => self.open_session_by_id(visit, entry.id),
            None => Ok(None),
        }
    }

    fn open_session_by_id(
        &self,
        visit: &AuthRequestContext,
        id: TokenId,
    ) -> Result<Option<OpenedLoginSession>, AccessError> {
        let Some(print) = self.tokens.find_fingerprint(id, self.now())? else { return Ok(None) };
        self.open_session(visit, LoginSessionOrigin::Token { id, print }).map(Some)
    }

    fn open_session(
        &self,
        visit: &AuthRequestContext,
        opened: LoginSessionOrigin,
    ) -> Result<OpenedLoginSession, AccessError> {
        let now = self.now();
        let session = LoginSession::open(opened, now)?;
        let sealed = session.seal(&self.key);
        Ok(OpenedLoginSession {
            cookie: set_session_cookie(&sealed, session.expires_at(), now, visit.secure),
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use axum::http::header::LOCATION;
    use unstuck_core::engine::QuestionId;
    use unstuck_core::question::Decision;
    use unstuck_core::time::Span;
    use unstuck_runner::Clock as _;

    use super::super::link::SignedLink;
    use super::super::test_server::TestServer;
    use super::*;

    const DAY: Span = Span::from_hours(24);

    #[tokio::test]
    async fn with_a_token_one_is_in_and_goes_on_where_one_wanted_to() {
        let server = TestServer::new();
        for (next, to) in [("", "/"), ("&next=/it?a=1", "/it?a=1"), ("&next=//evil.example", "/")] {
            let form = format!("token={}{next}", server.token.as_str());
            let answer = server.post("/login", &[], &form).await;
            assert_eq!((answer.status, answer.header(LOCATION)), (303, to), "{next}");
            let cookie = answer.header(SET_COOKIE);
            assert!(cookie.contains("; Max-Age=43200; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
            assert!(
                !cookie.contains("Secure") && !cookie.contains(server.token.as_str()),
                "{cookie}"
            );
        }
    }

    #[tokio::test]
    async fn without_a_good_token_one_is_not_in() {
        let server = TestServer::new();
        for form in ["", "token=", "token=ust_x", "next=/it"] {
            let answer = server.post("/login", &[], form).await;
            assert_eq!((answer.status, answer.cookie()), (401, None), "{form}");
        }
    }

    #[tokio::test]
    async fn the_page_is_for_those_who_are_not_in() {
        let server = TestServer::new();
        assert_eq!(server.get("/login", &[]).await.text, "/it");
        let cookie = server.session().await;
        let answer = server.get("/login", &[("cookie", &cookie)]).await;
        assert_eq!((answer.status, answer.header(LOCATION)), (303, "/it"));
        // Another user may log in over it.
        let form = format!("token={}", server.token.as_str());
        assert_eq!(server.post("/login", &[("cookie", &cookie)], &form).await.status, 303);
    }

    #[tokio::test]
    async fn behind_tls_the_cookie_stays_there() {
        let server = TestServer::with(Authenticator::behind_proxy);
        let form = format!("token={}", server.token.as_str());
        for (proto, secure) in [("https", true), ("http", false)] {
            let answer = server.post("/login", &[("x-forwarded-proto", proto)], &form).await;
            assert_eq!(answer.header(SET_COOKIE).ends_with("; Secure"), secure, "{proto}");
        }
        let direct = TestServer::new();
        let form = format!("token={}", direct.token.as_str());
        let answer = direct.post("/login", &[("x-forwarded-proto", "https")], &form).await;
        assert!(!answer.header(SET_COOKIE).contains("Secure"));
    }

    #[tokio::test]
    async fn logging_out_ends_the_session_for_every_copy_of_its_cookie() {
        let server = TestServer::new();
        let cookie = server.session().await;
        let other = server.session().await;
        let csrf = server.get("/it", &[("cookie", &cookie)]).await.text;
        let csrf = csrf.split('|').nth(1).unwrap();
        // Another site cannot log the user out.
        assert_eq!(server.post("/logout", &[("cookie", &cookie)], "").await.status, 403);
        server.later(Span::from_hours(7));
        let renewed = server.get("/it", &[("cookie", &cookie)]).await.cookie().unwrap();
        let answer = server.post("/logout", &[("cookie", &cookie)], &format!("csrf={csrf}")).await;
        assert_eq!((answer.status, answer.header(LOCATION)), (303, "/login"));
        assert_eq!(answer.headers.get_all(SET_COOKIE).iter().count(), 1);
        assert!(answer.header(SET_COOKIE).contains("Max-Age=0"));
        for over in [&cookie, &renewed] {
            assert_eq!(server.get("/it", &[("cookie", over)]).await.status, 303);
        }
        assert_eq!(server.get("/it", &[("cookie", &other)]).await.status, 200);
        server.later(Span::from_hours(11));
        assert_eq!(server.get("/it", &[("cookie", &renewed)]).await.status, 303);
    }

    #[tokio::test]
    async fn the_link_that_is_printed_lets_in_once() {
        let server = TestServer::new();
        let path = server.authenticator.entry_path().unwrap().unwrap();
        // Programs and browsers that prefetch do not use it up.
        let head = Request::head(&path).header("host", "localhost").body(axum::body::Body::empty());
        assert_eq!(server.send(head.unwrap()).await.status, 503);
        assert_eq!(server.get(&path, &[("sec-purpose", "prefetch")]).await.status, 503);

        let answer = server.get(&path, &[]).await;
        assert_eq!((answer.status, answer.header(LOCATION)), (303, "/"));
        let cookie = answer.cookie().unwrap();
        assert!(server.get("/it", &[("cookie", &cookie)]).await.text.starts_with("ada operator|"));
        let again = server.get(&path, &[]).await;
        assert_eq!((again.status, again.cookie()), (410, None));

        let late = server.authenticator.entry_path().unwrap().unwrap();
        server.later(Span::from_mins(5));
        assert_eq!(server.get(&late, &[]).await.status, 410);
    }

    #[tokio::test]
    async fn the_link_that_is_printed_is_worth_nothing_without_its_token() {
        let server = TestServer::new();
        let path = server.authenticator.entry_path().unwrap().unwrap();
        server.authenticator.tokens.revoke_token(TokenId(1)).unwrap();
        assert_eq!(server.get(&path, &[]).await.status, 401);
        assert_eq!(server.authenticator.entry_path().unwrap(), None);
    }

    #[tokio::test]
    async fn a_link_to_questions_opens_a_small_session_until_it_ends() {
        let server = TestServer::new();
        let link = SignedLink::for_answerer("phone", "shop", DAY, server.clock.now())
            .seal(server.authenticator.key());
        let answer = server.get(&format!("/link/{link}"), &[]).await;
        assert_eq!((answer.status, answer.header(LOCATION)), (303, "/p/shop"));
        let cookie = answer.cookie().unwrap();
        let page = server.get("/it", &[("cookie", &cookie)]).await;
        assert!(page.text.starts_with("phone answerer|"), "{}", page.text);
        // It can be followed again, for example after a program that scanned the message.
        assert_eq!(server.get(&format!("/link/{link}"), &[]).await.status, 303);
        server.later(Span::from_hours(11));
        let renewed = server.get("/it", &[("cookie", &cookie)]).await.cookie().unwrap();
        server.later(Span::from_hours(13));
        assert_eq!(server.get("/it", &[("cookie", &renewed)]).await.status, 303);
        assert_eq!(server.get(&format!("/link/{link}"), &[]).await.status, 410);
    }

    #[tokio::test]
    async fn a_link_to_questions_takes_nothing_from_a_session() {
        let server = TestServer::new();
        let cookie = server.session().await;
        let follow = |project: &str| {
            let link = SignedLink::for_answerer("phone", project, DAY, server.clock.now());
            format!("/link/{}", link.seal(server.authenticator.key()))
        };
        let answer = server.get(&follow("shop"), &[("cookie", &cookie)]).await;
        assert_eq!((answer.status, answer.cookie()), (303, None));
        // A session for one project is replaced by one for another.
        let shop = server.get(&follow("shop"), &[]).await.cookie().unwrap();
        assert!(server.get(&follow("bank"), &[("cookie", &shop)]).await.cookie().is_some());
    }

    #[tokio::test]
    async fn a_link_to_an_answer_opens_nothing() {
        let server = TestServer::new();
        let now = server.clock.now();
        let link =
            SignedLink::for_choice("phone", "shop", QuestionId(3), Decision::AllowOnce, DAY, now);
        let answer =
            server.get(&format!("/link/{}", link.seal(server.authenticator.key())), &[]).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, "q3 AllowOnce"));
        assert_eq!(answer.cookie(), None);
    }

    #[tokio::test]
    async fn a_link_of_one_kind_does_not_do_for_another() {
        let server = TestServer::new();
        let entry =
            server.authenticator.entry_path().unwrap().unwrap().replace("/enter/", "/link/");
        assert_eq!(server.get(&entry, &[]).await.status, 404);
        let link = SignedLink::for_answerer("phone", "shop", DAY, server.clock.now())
            .seal(server.authenticator.key());
        assert_eq!(server.get(&format!("/enter/{link}"), &[]).await.status, 404);
        let cookie = server.session().await;
        let (_, value) = cookie.split_once('=').unwrap();
        for path in ["/link/", "/enter/"] {
            assert_eq!(server.get(&format!("{path}{value}"), &[]).await.status, 404);
        }
        let as_cookie = format!("unstuck_session={link}");
        assert_eq!(server.get("/it", &[("cookie", &as_cookie)]).await.status, 303);
        let csrf = server.get("/it", &[("cookie", &cookie)]).await.text;
        let csrf = csrf.split('|').nth(1).unwrap();
        assert_eq!(server.get(&format!("/link/{csrf}"), &[]).await.status, 404);
    }
}
