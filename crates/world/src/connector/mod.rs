//! Irreversible actions outside of git: an HTTP request, a pull request, a command; each is
//! performed once and looked up if its response was lost.
//!
//! The call is data that is stored with the intent ([`unstuck_core::plan::Call`]); it names secrets
//! by their variable, and they are resolved here from the caller's credentials. No action is
//! retried here. The design is in `docs/design/build.md`.

pub mod command;
mod exchange;
mod github;

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_core::engine::EffectOutcome;
use unstuck_core::fault::{Auth, Fault};
use unstuck_core::plan::{HttpCall, PullRequest, SecretHeader};

use crate::provider::Credential;
use exchange::{ConnectorClient, ConnectorRequest};

const HTTP_SOURCE: &str = "http";

/// The secrets that actions refer to, by the name of their variable.
pub type Credentials = BTreeMap<String, Credential>;

/// Performs and looks up actions over HTTP.
#[derive(Debug)]
pub struct Connector {
    web: ConnectorClient,
    credentials: Credentials,
}

#[derive(Debug)]
enum CallFailure {
    /// The action certainly did not happen.
    Refused(Fault),
    /// The action may have happened.
    Lost(Fault),
}

impl Connector {
    /// Creates a connector with these secrets.
    pub fn new(credentials: Credentials) -> Result<Self, Fault> {
        Ok(Self { web: ConnectorClient::new()?, credentials })
    }

    /// Sends a request, with an idempotency key by which the service can recognize a repeated one.
    pub async fn perform_request(&self, call: &HttpCall, idempotency_key: &str) -> EffectOutcome {
        performed_outcome(self.send_request(call, idempotency_key).await)
    }

    /// Looks up whether a request got through, at the lookup URL of the call.
    pub async fn probe_request(&self, call: &HttpCall) -> EffectOutcome {
        lookup_outcome(self.find_request(call).await)
    }

    /// Opens a pull request from the branch `head`.
    pub async fn perform_pull_request(&self, wanted: &PullRequest, head: &str) -> EffectOutcome {
        performed_outcome(self.create_pull_request(wanted, head).await)
    }

    /// Looks up whether there is a pull request from the branch `head`.
    pub async fn probe_pull_request(&self, wanted: &PullRequest, head: &str) -> EffectOutcome {
        lookup_outcome(self.find_pull_request(wanted, head).await.map(ActionLookup::from))
    }

    async fn send_request(
        &self,
        call: &HttpCall,
        idempotency_key: &str,
    ) -> Result<String, CallFailure> {
        let mut request =
            ConnectorRequest::new(HTTP_SOURCE, &call.method, &call.url, call.timeout_ms.into())?;
        for (name, value) in &call.headers {
            request.add_header(name, value)?;
        }
        request.add_header("idempotency-key", idempotency_key)?;
        self.add_secrets(&mut request, &call.secrets)?;
        request.body.clone_from(&call.body);
        self.web.fetch_response(request).await?.into_result()
    }

    /// Looks the action up: it happened if the URL answers with a success, and did not if it
    /// answers 404 or 410.
    async fn find_request(&self, call: &HttpCall) -> Result<ActionLookup, CallFailure> {
        let Some(url) = &call.look_up_url else { return Ok(ActionLookup::CannotTell) };
        let mut request = ConnectorRequest::new(HTTP_SOURCE, "GET", url, call.timeout_ms.into())?;
        self.add_secrets(&mut request, &call.secrets)?;
        let answer = self.web.fetch_response(request).await?;
        match answer.status() {
            200..=299 => Ok(ActionLookup::There(answer.body_text())),
            404 | 410 => Ok(ActionLookup::Absent),
            408 | 425 | 429 | 500..=599 => answer.into_result().map(ActionLookup::There),
            _ => Ok(ActionLookup::CannotTell),
        }
    }

    fn add_secrets(
        &self,
        request: &mut ConnectorRequest,
        secrets: &[SecretHeader],
    ) -> Result<(), CallFailure> {
        for SecretHeader { name, before, variable } in secrets {
            let account = request.url.host_str().unwrap_or_default().to_owned();
            let secret = self.find_credential(variable, &account)?.expose();
            request.add_secret_header(name, &format!("{before}{secret}"))?;
        }
        Ok(())
    }

    /// Returns the secret of a variable; a missing one is a fault.
    fn find_credential(&self, variable: &str, account: &str) -> Result<&Credential, CallFailure> {
        self.credentials.get(variable).ok_or_else(|| {
            let message = format!("{variable} is not set");
            let variable = Some(variable.to_owned());
            let auth = Auth { account: account.to_owned(), variable, ..Auth::default() };
            CallFailure::Refused(Fault::auth_missing("connector", message, auth))
        })
    }
}

enum ActionLookup {
    /// The action happened, with this result.
    There(String),
    /// The action did not happen.
    Absent,
    /// The lookup cannot tell.
    CannotTell,
}

impl From<Option<String>> for ActionLookup {
    fn from(found: Option<String>) -> Self {
        found.map_or(Self::Absent, Self::There)
    }
}

fn performed_outcome(done: Result<String, CallFailure>) -> EffectOutcome {
    match done {
        Ok(result) => EffectOutcome::Applied { result: result.into() },
        Err(CallFailure::Refused(fault)) => failed_outcome(fault),
        Err(CallFailure::Lost(fault)) => EffectOutcome::Unknown { fault: Arc::new(fault) },
    }
}

fn lookup_outcome(found: Result<ActionLookup, CallFailure>) -> EffectOutcome {
    match found {
        Ok(ActionLookup::There(result)) => EffectOutcome::Applied { result: result.into() },
        Ok(ActionLookup::Absent) => EffectOutcome::NotApplied,
        Ok(ActionLookup::CannotTell) => EffectOutcome::CannotTell { said: None },
        // The lookup itself failed, so it can be retried.
        Err(CallFailure::Refused(fault) | CallFailure::Lost(fault)) => failed_outcome(fault),
    }
}

fn failed_outcome(fault: Fault) -> EffectOutcome {
    EffectOutcome::Failed { fault: Arc::new(fault), approach: None }
}
