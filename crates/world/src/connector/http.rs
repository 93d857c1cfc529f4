//! An action that is an HTTP request, and the lookup that finds out whether it happened.

use unstuck_core::plan::{HttpCall, SecretHeader};

use super::exchange::Request;
use super::{Connector, Found, Unsuccessful};

const SOURCE: &str = "http";

impl Connector {
    pub(super) async fn send_request(
        &self,
        call: &HttpCall,
        idempotency_key: &str,
    ) -> Result<String, Unsuccessful> {
        let mut request = Request::new(SOURCE, &call.method, &call.url, call.timeout_ms.into())?;
        for (name, value) in &call.headers {
            request.header(name, value)?;
        }
        request.header("idempotency-key", idempotency_key)?;
        self.sign(&mut request, &call.secrets)?;
        request.body.clone_from(&call.body);
        self.web.exchange(request).await?.success()
    }

    /// Looks the action up: it happened if the URL answers with a success, and did not if it
    /// answers 404 or 410.
    pub(super) async fn find_request(&self, call: &HttpCall) -> Result<Found, Unsuccessful> {
        let Some(url) = &call.look_up_url else { return Ok(Found::CannotTell) };
        let mut request = Request::new(SOURCE, "GET", url, call.timeout_ms.into())?;
        self.sign(&mut request, &call.secrets)?;
        let answer = self.web.exchange(request).await?;
        match answer.status() {
            200..=299 => Ok(Found::There(answer.text())),
            404 | 410 => Ok(Found::Absent),
            408 | 425 | 429 | 500..=599 => answer.success().map(Found::There),
            _ => Ok(Found::CannotTell),
        }
    }

    fn sign(&self, request: &mut Request, secrets: &[SecretHeader]) -> Result<(), Unsuccessful> {
        for SecretHeader { name, before, variable } in secrets {
            let account = request.url.host_str().unwrap_or_default().to_owned();
            let secret = self.credential(variable, &account)?.expose();
            request.secret(name, &format!("{before}{secret}"))?;
        }
        Ok(())
    }
}
