//! Opening and ending sessions. What the pages look like is decided elsewhere.

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

/// What somebody fills in to log in.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct LoginForm {
    /// The token.
    #[serde(default)]
    token: String,
    /// Where to go on.
    next: Option<String>,
}

/// What came of logging in.
#[derive(Debug)]
#[must_use]
pub enum Login {
    /// Somebody is in, and is led on.
    In(Response),
    /// They are not: the page is to be shown, with the status of its problem where it has one.
    Page(LoginPage),
}

/// What the page to log in has to show.
#[derive(Clone, Debug)]
pub struct LoginPage {
    /// Where to go on, as the field `next` of the form.
    pub next: LocalPath,
    /// Why it did not work.
    pub problem: Option<Problem>,
}

/// A session that was opened.
#[derive(Debug)]
#[must_use]
pub struct Entered {
    /// None where somebody was in before, with at least as much.
    cookie: Option<HeaderValue>,
}

/// Where a link leads.
#[derive(Debug)]
#[must_use]
pub enum Followed {
    /// To the questions of a project.
    Questions(AnswererLink, Entered),
    /// To a page that asks whether this is to be answered.
    Confirm(ChoiceLink),
}

impl Entered {
    /// On to a page of ours.
    pub fn to(self, path: &LocalPath) -> Response {
        let mut response = see_other(path.as_str());
        if let Some(cookie) = self.cookie {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }
}

impl Door {
    /// `GET /login`: the page, or on for somebody who is in.
    pub fn login_page(&self, caller: Option<&Caller>, next: Option<&str>) -> Login {
        let next = LocalPath::or_first(next);
        match caller {
            Some(_) => Login::In(see_other(next.as_str())),
            None => Login::Page(LoginPage { next, problem: None }),
        }
    }

    /// `POST /login`: in, or the page again with what was wrong.
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

    /// `POST /logout`: the session is over, for whoever else has its cookie too.
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

    /// The path of a link that opens a session of the token that lies here, once and within minutes.
    /// None where that token was taken back.
    pub fn entry_path(&self) -> Result<Option<String>, AccessError> {
        let now = self.now();
        let Some(id) = self.tokens.here_id(now)? else { return Ok(None) };
        Ok(Some(format!("/enter/{}", Link::entry(id, now)?.seal(&self.key))))
    }

    /// `GET /enter/{code}`: in, with such a link.
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

    /// `GET /link/{code}`: where a link of a message leads. Nothing is answered by that: programs
    /// that look at messages follow links too.
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

    /// A link, if it is one of ours.
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
