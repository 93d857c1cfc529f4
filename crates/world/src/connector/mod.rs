//! Irreversible actions outside of git: a request, a pull request, a command; each performed once
//! and looked up when its answer was lost.
//!
//! What is called is data that is kept with the intent ([`unstuck_core::plan::Call`]); secrets are
//! named there and looked up here, in what the caller gives. Nothing is tried a second time here.
//! The design is in `docs/design/build.md`.

mod answer;
pub mod command;
mod exchange;
mod github;
mod http;

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_core::engine::Outcome;
use unstuck_core::fault::{Auth, Fault};
use unstuck_core::plan::{HttpCall, PullRequest};

use crate::provider::Credential;
use exchange::Web;

/// The secrets that actions name, by the variable they are expected in.
pub type Credentials = BTreeMap<String, Credential>;

/// Performs and looks up actions over HTTP.
#[derive(Debug)]
pub struct Connector {
    web: Web,
    credentials: Credentials,
}

/// How a call ended that did not succeed.
#[derive(Debug)]
enum Unsuccessful {
    /// It certainly did not happen.
    Refused(Fault),
    /// It may have happened.
    Lost(Fault),
}

impl Connector {
    /// One that knows these secrets.
    pub fn new(credentials: Credentials) -> Result<Self, Fault> {
        Ok(Self { web: Web::new()?, credentials })
    }

    /// Sends a request, with a key by which the other side can recognise a repeated one.
    pub async fn request(&self, call: &HttpCall, idempotency_key: &str) -> Outcome {
        performed(self.send_request(call, idempotency_key).await)
    }

    /// Finds out whether a request got through, by the request that was given for it.
    pub async fn look_up_request(&self, call: &HttpCall) -> Outcome {
        looked_up(self.find_request(call).await)
    }

    /// Opens a pull request from the branch `head`.
    pub async fn open_pull_request(&self, wanted: &PullRequest, head: &str) -> Outcome {
        performed(self.create_pull_request(wanted, head).await)
    }

    /// Finds out whether there is a pull request from the branch `head`.
    pub async fn look_up_pull_request(&self, wanted: &PullRequest, head: &str) -> Outcome {
        looked_up(self.find_pull_request(wanted, head).await.map(Found::from))
    }

    /// The secret that is expected in a variable.
    fn credential(&self, variable: &str, account: &str) -> Result<&Credential, Unsuccessful> {
        self.credentials.get(variable).ok_or_else(|| {
            let message = format!("{variable} is not set");
            let variable = Some(variable.to_owned());
            let auth = Auth { account: account.to_owned(), variable, ..Auth::default() };
            Unsuccessful::Refused(Fault::auth_missing("connector", message, auth))
        })
    }
}

/// What a look-up found.
enum Found {
    /// It happened, with this result.
    There(String),
    /// It did not.
    Absent,
    /// It cannot be found out.
    CannotTell,
}

impl From<Option<String>> for Found {
    fn from(found: Option<String>) -> Self {
        found.map_or(Self::Absent, Self::There)
    }
}

fn performed(done: Result<String, Unsuccessful>) -> Outcome {
    match done {
        Ok(result) => Outcome::Applied { result: result.into() },
        Err(Unsuccessful::Refused(fault)) => failed(fault),
        Err(Unsuccessful::Lost(fault)) => Outcome::Unknown { fault: Arc::new(fault) },
    }
}

fn looked_up(found: Result<Found, Unsuccessful>) -> Outcome {
    match found {
        Ok(Found::There(result)) => Outcome::Applied { result: result.into() },
        Ok(Found::Absent) => Outcome::NotApplied,
        Ok(Found::CannotTell) => Outcome::CannotTell { said: None },
        // It was not looked up at all: that can be tried again.
        Err(Unsuccessful::Refused(fault) | Unsuccessful::Lost(fault)) => failed(fault),
    }
}

fn failed(fault: Fault) -> Outcome {
    Outcome::Failed { fault: Arc::new(fault), approach: None }
}
