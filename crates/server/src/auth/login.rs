//! Opens and ends sessions. The pages themselves are in `pages`.

use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use super::caller::{AccessRole, Caller};
use super::cookie;
use super::door::{Authenticator, access_unavailable_error, see_other, unknown_token_error};
use super::error::AccessError;
use super::link::{AnswererLink, ChoiceLink, EntryLink, LinkError, SignedLink};
use super::local_path::LocalPath;
use super::session::{LoginSession, LoginSessionOrigin};
use super::token::{AccessToken, TokenId};
use super::visit::AuthRequestContext;
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
            Err(error) => access_unavailable_error(&error),
        };
        LoginOutcome::Page(LoginPage { next, problem: Some(problem) })
    }

    /// Handles `POST /logout`: ends the session, also for other holders of its cookie.
    pub fn log_out(&self, visit: &AuthRequestContext) -> Result<Response, Problem> {
        if let Some(session) = &visit.session {
            let now = self.now();
            let spent =
                self.lock_used_ids().use_once(session.id(), LoginSession::latest_expiry(now), now);
            spent.map_err(|error| access_unavailable_error(&error))?;
        }
        let mut response = see_other(&LocalPath::home_page().login_url());
        if let Some(cookie) = cookie::clear_session_cookie(visit.secure) {
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
        let spent = self
            .lock_used_ids()
            .use_once(&id, expires_at, now)
            .map_err(|error| access_unavailable_error(&error))?;
        if !spent {
            return Err(LinkError::Used.into());
        }
        let entered = self
            .open_session_by_id(visit, token)
            .map_err(|error| access_unavailable_error(&error))?;
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
                    self.open_session(visit, LoginSessionOrigin::Link { name, project, ends_at })
                        .map_err(|error| access_unavailable_error(&error))?
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
            cookie: cookie::set_session_cookie(&sealed, session.expires_at(), now, visit.secure),
        })
    }
}

#[cfg(test)]
mod tests;
