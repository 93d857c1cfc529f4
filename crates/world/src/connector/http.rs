//! An action that is an HTTP request, and the lookup that finds out whether it happened.

use unstuck_core::plan::{HttpCall, SecretHeader};

use super::exchange::ConnectorRequest;
use super::{ActionLookup, CallFailure, Connector};

const SOURCE: &str = "http";

impl Connector {
    pub(super) async fn send_request(
        &self,
        call: &HttpCall,
        idempotency_key: &str,
    ) -> Result<String, CallFailure> {
        let mut request =
            ConnectorRequest::new(SOURCE, &call.method, &call.url, call.timeout_ms.into())?;
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
    pub(super) async fn find_request(&self, call: &HttpCall) -> Result<ActionLookup, CallFailure> {
        let Some(url) = &call.look_up_url else { return Ok(ActionLookup::CannotTell) };
        let mut request = ConnectorRequest::new(SOURCE, "GET", url, call.timeout_ms.into())?;
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
}
