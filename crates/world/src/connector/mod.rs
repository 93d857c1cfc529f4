//! Irreversible actions outside of git: an HTTP request, a pull request, a command; each is
//! performed once and looked up if its response was lost.
//!
//! The call is data that is stored with the intent ([`unstuck_core::plan::Call`]); it names secrets
//! by their variable, and they are resolved here from the caller's credentials. No action is
//! retried here. The design is in `docs/design/build.md`.

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

/// The secrets that actions refer to, by the name of their variable.
pub type Credentials = BTreeMap<String, Credential>;

/// Performs and looks up actions over HTTP.
#[derive(Debug)]
pub struct Connector {
    web: Web,
    credentials: Credentials,
}

/// The failure of a call.
#[derive(Debug)]
enum Unsuccessful {
    /// The action certainly did not happen.
    Refused(Fault),
    /// The action may have happened.
    Lost(Fault),
}

impl Connector {
    /// Creates a connector with these secrets.
    pub fn new(credentials: Credentials) -> Result<Self, Fault> {
        Ok(Self { web: Web::new()?, credentials })
    }

    /// Sends a request, with an idempotency key by which the service can recognize a repeated one.
    pub async fn request(&self, call: &HttpCall, idempotency_key: &str) -> Outcome {
        performed(self.send_request(call, idempotency_key).await)
    }

    /// Looks up whether a request got through, at the lookup URL of the call.
    pub async fn look_up_request(&self, call: &HttpCall) -> Outcome {
        looked_up(self.find_request(call).await)
    }

    /// Opens a pull request from the branch `head`.
    pub async fn open_pull_request(&self, wanted: &PullRequest, head: &str) -> Outcome {
        performed(self.create_pull_request(wanted, head).await)
    }

    /// Looks up whether there is a pull request from the branch `head`.
    pub async fn look_up_pull_request(&self, wanted: &PullRequest, head: &str) -> Outcome {
        looked_up(self.find_pull_request(wanted, head).await.map(Found::from))
    }

    /// Returns the secret of a variable; a missing one is a fault.
    fn credential(&self, variable: &str, account: &str) -> Result<&Credential, Unsuccessful> {
        self.credentials.get(variable).ok_or_else(|| {
            let message = format!("{variable} is not set");
            let variable = Some(variable.to_owned());
            let auth = Auth { account: account.to_owned(), variable, ..Auth::default() };
            Unsuccessful::Refused(Fault::auth_missing("connector", message, auth))
        })
    }
}

/// The result of a lookup.
enum Found {
    /// The action happened, with this result.
    There(String),
    /// The action did not happen.
    Absent,
    /// The lookup cannot tell.
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
        // The lookup itself failed, so it can be retried.
        Err(Unsuccessful::Refused(fault) | Unsuccessful::Lost(fault)) => failed(fault),
    }
}

fn failed(fault: Fault) -> Outcome {
    Outcome::Failed { fault: Arc::new(fault), approach: None }
}
