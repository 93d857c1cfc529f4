//! Opens and ends sessions. The pages themselves are in `pages`.

use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use super::caller::{Caller, Role};
use super::cookie;
use super::door::{Door, not_let_in, see_other, unusable};
use super::error::AccessError;
use super::link::{AnswererLink, ChoiceLink, EntryLink, Link, LinkError};
use super::local_path::LocalPath;
use super::session::{Opened, Session};
use super::token::{Token, TokenId};
use super::visit::Visit;
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
pub enum Login {
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
pub struct Entered {
    /// The session cookie; `None` if the client was already logged in with at least the same
    /// permissions.
    cookie: Option<HeaderValue>,
}

/// The target of a link.
#[derive(Debug)]
#[must_use]
pub enum Followed {
    /// The questions of a project.
    Questions(AnswererLink, Entered),
    /// A page that asks for confirmation of an answer.
    Confirm(ChoiceLink),
}

impl Entered {
    /// Redirects to a page of this server, and sets the session cookie.
    pub fn to(self, path: &LocalPath) -> Response {
        let mut response = see_other(path.as_str());
        if let Some(cookie) = self.cookie {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }
}

impl Door {
    /// Handles `GET /login`: the page, or a redirect for a client that is logged in.
    pub fn login_page(&self, caller: Option<&Caller>, next: Option<&str>) -> Login {
        let next = LocalPath::or_first(next);
        match caller {
            Some(_) => Login::In(see_other(next.as_str())),
            None => Login::Page(LoginPage { next, problem: None }),
        }
    }

    /// Handles `POST /login`: a session, or the page again with the error.
    pub fn log_in(&self, visit: &Visit, form: &LoginForm) -> Login {
        let next = LocalPath::or_first(form.next.as_deref());
        let opened = Token::read(&form.token).map(|token| self.open_for(visit, &token)).transpose();
        let problem = match opened {
            Ok(Some(Some(entered))) => return Login::In(entered.to(&next)),
            Ok(_) => self.failed(visit, not_let_in()),
            Err(error) => unusable(&error),
        };
        Login::Page(LoginPage { next, problem: Some(problem) })
    }

    /// Handles `POST /logout`: ends the session, also for other holders of its cookie.
    pub fn log_out(&self, visit: &Visit) -> Result<Response, Problem> {
        if let Some(session) = &visit.session {
            let now = self.now();
            let spent = self.spent().spend(session.id(), Session::over_at_last(now), now);
            spent.map_err(|error| unusable(&error))?;
        }
        let mut response = see_other(&LocalPath::first().login());
        if let Some(cookie) = cookie::clear(visit.secure) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        Ok(response)
    }

    /// Returns the path of a link that opens a session of the locally stored token, once and within
    /// minutes; `None` if that token was revoked.
    pub fn entry_path(&self) -> Result<Option<String>, AccessError> {
        let now = self.now();
        let Some(id) = self.tokens.here_id(now)? else { return Ok(None) };
        Ok(Some(format!("/enter/{}", Link::entry(id, now)?.seal(&self.key))))
    }

    /// Handles `GET /enter/{code}`: opens a session with such a link.
    pub fn enter(&self, visit: &Visit, code: &str) -> Result<Response, Problem> {
        let Link::Entry(link) = self.link(visit, code)? else {
            return Err(LinkError::Unreadable.into());
        };
        if visit.looks_ahead {
            let detail = "this link works once, and it has not been used yet";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
        }
        let EntryLink { token, id, expires_at } = link;
        let now = self.now();
        let spent = self.spent().spend(&id, expires_at, now).map_err(|error| unusable(&error))?;
        if !spent {
            return Err(LinkError::Used.into());
        }
        let entered = self.open_of(visit, token).map_err(|error| unusable(&error))?;
        Ok(entered.ok_or_else(not_let_in)?.to(&LocalPath::first()))
    }

    /// Handles `GET /link/{code}`: resolves a link of a message. Following it answers nothing,
    /// because programs that scan messages follow links too.
    pub fn follow(
        &self,
        visit: &Visit,
        caller: Option<&Caller>,
        code: &str,
    ) -> Result<Followed, Problem> {
        match self.link(visit, code)? {
            Link::Entry(_) => Err(LinkError::Unreadable.into()),
            Link::Choice(link) => Ok(Followed::Confirm(link)),
            Link::Answerer(link) => {
                let enough =
                    |caller: &Caller| caller.may(Role::Answerer) && caller.sees(&link.project);
                let entered = if caller.is_some_and(enough) {
                    Entered { cookie: None }
                } else {
                    let AnswererLink { name, project, expires_at: ends_at } = link.clone();
                    self.entered(visit, Opened::Link { name, project, ends_at })
                        .map_err(|error| unusable(&error))?
                };
                Ok(Followed::Questions(link, entered))
            }
        }
    }

    /// Parses a link of this server, and counts an unreadable one as a failed attempt.
    fn link(&self, visit: &Visit, code: &str) -> Result<Link, Problem> {
        Link::read(&self.key, code, self.now()).map_err(|error| match error {
            LinkError::Unreadable => self.failed(visit, error.into()),
            LinkError::Expired | LinkError::Used => error.into(),
        })
    }

    fn open_for(&self, visit: &Visit, token: &Token) -> Result<Option<Entered>, AccessError> {
        match self.tokens.shown(token, self.now())? {
            Some(entry) => self.open_of(visit, entry.id),
            None => Ok(None),
        }
    }

    fn open_of(&self, visit: &Visit, id: TokenId) -> Result<Option<Entered>, AccessError> {
        let Some(print) = self.tokens.print(id, self.now())? else { return Ok(None) };
        self.entered(visit, Opened::Token { id, print }).map(Some)
    }

    fn entered(&self, visit: &Visit, opened: Opened) -> Result<Entered, AccessError> {
        let now = self.now();
        let session = Session::open(opened, now)?;
        let sealed = session.seal(&self.key);
        Ok(Entered { cookie: cookie::set(&sealed, session.until(), now, visit.secure) })
    }
}

#[cfg(test)]
mod tests;
