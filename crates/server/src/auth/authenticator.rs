//! The access check that every request passes.
//!
//! It is put before each group of routes by name, so that no route is open by accident: [`guard_api`]
//! for programs, [`guard_pages`] for people, [`guard_public`] for public routes.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE, WWW_AUTHENTICATE};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, future};
use tokio::time::Instant;
use unstuck_core::time::Time;
use unstuck_runner::Clock;

use super::allowed_hosts::AllowedHosts;
use super::caller::Caller;
use super::error::AccessError;
use super::failures::AuthFailureLimiter;
use super::key::ServerSigningKey;
use super::link;
use super::local_path::LocalPath;
use super::request_context::{
    AuthRequestContext, CsrfToken, accepts_html, bearer_token, read_csrf_field,
};
use super::session::{LoginSession, LoginSessionOrigin, read_session_cookies, set_session_cookie};
use super::token::AccessToken;
use super::token_store::AccessTokenStore;
use super::used_ids::UsedIds;
use crate::html;
use crate::problem::Problem;

/// The access check of a server, with its tokens, key and names.
pub struct Authenticator {
    pub(super) tokens: AccessTokenStore,
    pub(super) key: ServerSigningKey,
    allowed_hosts: AllowedHosts,
    behind_proxy: bool,
    clock: Arc<dyn Clock>,
    failures: Mutex<AuthFailureLimiter>,
    used_ids: Mutex<UsedIds>,
}

/// The audience of a group of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RouteAccess {
    Public,
    People,
    Programs,
}

/// An authenticated caller, and its session, if it came with one.
type AuthenticatedCaller = (Caller, Option<LoginSession>);

impl Authenticator {
    /// Makes the access check of a server that is known under these names.
    pub fn new(
        tokens: AccessTokenStore,
        key: ServerSigningKey,
        allowed_hosts: AllowedHosts,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let failures = Mutex::default();
        let used_ids = Mutex::new(UsedIds::in_folder(tokens.folder()));
        Self { tokens, key, allowed_hosts, behind_proxy: false, clock, failures, used_ids }
    }

    /// Trusts the headers of a proxy that all requests come through.
    #[must_use]
    pub fn behind_proxy(self) -> Self {
        Self { behind_proxy: true, ..self }
    }

    /// Returns the key that signs links.
    pub const fn key(&self) -> &ServerSigningKey {
        &self.key
    }

    /// Returns the access tokens.
    pub const fn tokens(&self) -> &AccessTokenStore {
        &self.tokens
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(super) fn lock_used_ids(&self) -> MutexGuard<'_, UsedIds> {
        self.used_ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a failed attempt, and returns `problem`, or 429 after too many.
    pub(super) fn record_failure(&self, visit: &AuthRequestContext, problem: Problem) -> Problem {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(wait) = failures.record_failure(visit.from, Instant::now()) else {
            return problem;
        };
        let detail = "too many tries from this address were not let in";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, detail)
            .with_hint("wait a minute; a good token is let in all the same")
            .with_retry_after(wait.as_secs().max(1))
    }

    /// Authenticates a request. A request without credentials has no caller; an invalid token is a
    /// failure; an invalid cookie is ignored, because it may belong to another server.
    fn identify_caller(
        &self,
        headers: &HeaderMap,
        visit: &AuthRequestContext,
    ) -> Result<Option<AuthenticatedCaller>, Problem> {
        match bearer_token(headers) {
            Some(shown) => match self.find_token_caller(shown)? {
                Some(caller) => Ok(Some((caller, None))),
                None => Err(self.record_failure(visit, unknown_token_error())),
            },
            None => self.find_session_caller(headers),
        }
    }

    /// Returns the caller that a token authenticates, if it is valid.
    fn find_token_caller(&self, text: &str) -> Result<Option<Caller>, Problem> {
        let Some(token) = AccessToken::parse(text) else { return Ok(None) };
        let entry = self.tokens.find_by_token(&token, self.now())?;
        Ok(entry.map(|entry| entry.to_caller()))
    }

    /// Returns whether the credentials of a request still authenticate the same caller.
    fn is_still_allowed(&self, shown: &HeaderMap, caller: &Caller) -> bool {
        let found = match bearer_token(shown) {
            Some(text) => self.find_token_caller(text),
            None => self.find_session_caller(shown).map(|known| known.map(|(caller, _)| caller)),
        };
        found.is_ok_and(|found| found.as_ref() == Some(caller))
    }

    fn find_session_caller(
        &self,
        headers: &HeaderMap,
    ) -> Result<Option<AuthenticatedCaller>, Problem> {
        let now = self.now();
        for cookie in read_session_cookies(headers) {
            let Some(session) = LoginSession::unseal(&self.key, cookie, now) else { continue };
            if self.lock_used_ids().is_used(session.id())? {
                continue;
            }
            if let Some(caller) = self.resolve_session_origin(&session.opened, now)? {
                return Ok(Some((caller, Some(session))));
            }
        }
        Ok(None)
    }

    /// Returns the caller of a session, as long as the token or link that opened it is valid.
    fn resolve_session_origin(
        &self,
        opened: &LoginSessionOrigin,
        now: Time,
    ) -> Result<Option<Caller>, Problem> {
        match opened {
            LoginSessionOrigin::Token { id, print } => {
                let entry = self.tokens.find_unchanged(*id, print, now)?;
                Ok(entry.map(|entry| entry.to_caller()))
            }
            LoginSessionOrigin::Link { name, project, .. } => {
                Ok(Some(link::make_answerer(name, project)))
            }
        }
    }

    async fn admit_request(
        &self,
        request: Request,
        to: RouteAccess,
    ) -> Result<(Request, AuthRequestContext), Response> {
        let (mut parts, body) = request.into_parts();
        let reads_pages = to != RouteAccess::Programs && accepts_html(&parts.headers);
        let told = |problem| refusal_response(problem, reads_pages);
        let changes = !parts.method.is_safe();
        let mut visit = AuthRequestContext::from_parts(&parts, self.behind_proxy);
        self.allowed_hosts.check_host(&parts).map_err(told)?;
        if changes {
            self.allowed_hosts.check_origin(&parts, visit.secure).map_err(told)?;
        }
        let known = match self.identify_caller(&parts.headers, &visit) {
            // A client that wants to log in may still send an invalid credential.
            Err(_) if to == RouteAccess::Public => None,
            known => known.map_err(told)?,
        };
        let mut request = match (known, to) {
            (None, RouteAccess::Public) => Request::from_parts(parts, body),
            (None, RouteAccess::Programs) => return Err(told(missing_token_error())),
            (None, RouteAccess::People) => return Err(redirect_to_login(&parts.uri, changes)),
            (Some((caller, session)), _) => {
                parts.extensions.insert(caller);
                visit.session = session;
                let mut request = Request::from_parts(parts, body);
                if let Some(session) = &visit.session {
                    request.extensions_mut().insert(CsrfToken(session.csrf_token(&self.key)));
                    if changes && to != RouteAccess::Public {
                        request = self.require_own_form(request, session).await.map_err(told)?;
                    }
                }
                request
            }
        };
        request.extensions_mut().insert(visit.clone());
        Ok((request, visit))
    }

    /// Checks that a request which changes state comes from a form of this session: another site
    /// cannot know the CSRF token.
    async fn require_own_form(
        &self,
        request: Request,
        session: &LoginSession,
    ) -> Result<Request, Problem> {
        let (request, csrf) = match request.headers().get("x-csrf") {
            Some(value) => {
                let csrf = value.to_str().ok().map(str::to_owned);
                (request, csrf)
            }
            None => read_csrf_field(request).await?,
        };
        if csrf.is_some_and(|csrf| session.matches_csrf(&self.key, &csrf)) {
            return Ok(request);
        }
        let detail = "this form belongs to a session that is over";
        let hint = "go back, load the page again and send it once more";
        Err(Problem::new(StatusCode::FORBIDDEN, detail).with_hint(hint))
    }

    /// Renews the session of a returning client.
    fn renew_session(&self, visit: &AuthRequestContext, response: &mut Response) {
        let now = self.now();
        let renewed = visit.session.as_ref().and_then(|session| session.renew_if_due(now));
        let Some(renewed) = renewed else { return };
        // A session that was ended or opened meanwhile is not brought back.
        if response.headers().contains_key(SET_COOKIE) {
            return;
        }
        let sealed = renewed.seal(&self.key);
        if let Some(cookie) = set_session_cookie(&sealed, renewed.expires_at(), now, visit.secure) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }
}

/// Checks requests to public routes: login, links, health.
pub async fn guard_public(
    State(authenticator): State<Arc<Authenticator>>,
    request: Request,
    next: Next,
) -> Response {
    guard_request(&authenticator, request, next, RouteAccess::Public).await
}

/// Checks requests to pages: unauthenticated ones are redirected to the login.
pub async fn guard_pages(
    State(authenticator): State<Arc<Authenticator>>,
    request: Request,
    next: Next,
) -> Response {
    guard_request(&authenticator, request, next, RouteAccess::People).await
}

/// Checks requests of programs: unauthenticated ones get an error.
pub async fn guard_api(
    State(authenticator): State<Arc<Authenticator>>,
    request: Request,
    next: Next,
) -> Response {
    guard_request(&authenticator, request, next, RouteAccess::Programs).await
}

async fn guard_request(
    authenticator: &Arc<Authenticator>,
    request: Request,
    next: Next,
    to: RouteAccess,
) -> Response {
    match authenticator.admit_request(request, to).await {
        Ok((request, visit)) => {
            let shown = request.headers().clone();
            let caller = request.extensions().get::<Caller>().cloned();
            let mut response = next.run(request).await;
            authenticator.renew_session(&visit, &mut response);
            match caller {
                Some(caller) if is_stream(&response) => {
                    end_stream_on_revocation(Arc::clone(authenticator), shown, caller, response)
                }
                _ => response,
            }
        }
        Err(refused) => refused,
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Ends a stream before its next chunk if the caller has lost access.
fn end_stream_on_revocation(
    authenticator: Arc<Authenticator>,
    shown: HeaderMap,
    caller: Caller,
    response: Response,
) -> Response {
    response.map(|body| {
        let pieces = body.into_data_stream();
        Body::from_stream(
            pieces.take_while(move |_| {
                future::ready(authenticator.is_still_allowed(&shown, &caller))
            }),
        )
    })
}

pub(super) fn unknown_token_error() -> Problem {
    let detail = "this token is not known here: it is mistyped, has expired or was taken back";
    Problem::new(StatusCode::UNAUTHORIZED, detail)
        .with_hint("the operator of this server can make one: `unstuck token make --name NAME`")
}

fn missing_token_error() -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "this takes a token")
        .with_hint("send the header `Authorization: Bearer TOKEN`; `unstuck token make` makes one")
}

/// Access files that cannot be used: all requests are refused, and the log has the cause for the
/// operator.
impl From<AccessError> for Problem {
    fn from(error: AccessError) -> Self {
        tracing::error!(%error, hint = error.hint(), "all requests are refused");
        let detail = "it cannot be told just now who is let in here";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
            .with_hint("the operator of this server finds out more with `unstuck token list`")
            .with_retry_after(30)
    }
}

/// Formats a refusal: as a page for a browser, else as a problem for a program.
fn refusal_response(problem: Problem, reads_pages: bool) -> Response {
    let asks = problem.status() == StatusCode::UNAUTHORIZED.as_u16();
    let mut response =
        if reads_pages { html::render_error(&problem) } else { problem.into_response() };
    if asks {
        let scheme = HeaderValue::from_static("Bearer realm=\"unstuck\"");
        response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    }
    response
}

/// Redirects to the login, and back to the requested page afterwards. A form is not sent again.
fn redirect_to_login(uri: &Uri, changes: bool) -> Response {
    let wanted = uri.path_and_query().filter(|_| !changes).map(PathAndQuery::as_str);
    see_other(&LocalPath::parse_or_home(wanted).login_url())
}

/// Redirects to another page of this server.
pub(super) fn see_other(path: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let path = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, path);
    response
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator")
            .field("allowed_hosts", &self.allowed_hosts)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
