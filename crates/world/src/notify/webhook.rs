//! A channel that sends a signed request to a URL of the operator's, and the JSON in it.
//!
//! `X-Unstuck-Signature` is `sha256=` and the HMAC-SHA256, in hexadecimal digits, of the time in
//! `X-Unstuck-Timestamp`, a full stop, and the body as it came. The receiver compares both, and
//! refuses times that are long past.

use std::fmt::Write as _;

use ring::hmac;
use serde::Serialize;
use unstuck_core::engine::{BuildId, QuestionId};
use unstuck_core::fault::{Category, Code, Fault};
use unstuck_core::question::QuestionOption;
use unstuck_core::tell::{AnswerLink, Notification, NotificationLevel};
use unstuck_core::time::Time;

use super::delivery::{DeliveryError, PostEndpoint};
use super::settings::WebhookSettings;
use crate::provider::Credential;

#[derive(Debug)]
pub(super) struct WebhookChannel {
    endpoint: PostEndpoint,
    secret: Option<Credential>,
}

impl WebhookChannel {
    pub(super) fn new(settings: WebhookSettings) -> Result<Self, Fault> {
        Ok(Self { endpoint: PostEndpoint::new(&settings.url, "url")?, secret: settings.secret })
    }

    pub(super) async fn deliver(
        &self,
        message: &Notification,
        now: Time,
    ) -> Result<(), DeliveryError> {
        let body =
            encode_payload(message).map_err(|error| DeliveryError::never(error.to_string()))?;
        let timestamp = (now.as_millis() / 1_000).to_string();
        let mut headers = Vec::new();
        if let Some(secret) = &self.secret {
            headers.push(("x-unstuck-signature", sign_body(secret, &timestamp, &body)));
        }
        headers.push(("x-unstuck-timestamp", timestamp));
        self.endpoint.post_json(&message.id, headers, body).await
    }
}

fn sign_body(secret: &Credential, timestamp: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let mut context = hmac::Context::with_key(&key);
    for part in [timestamp.as_bytes(), b".", body] {
        context.update(part);
    }
    let mut text = "sha256=".to_owned();
    for byte in context.sign().as_ref() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The JSON that a webhook and a command get. Readers skip fields that they do not know.
#[derive(Debug, Serialize)]
struct NotificationPayload<'a> {
    id: &'a str,
    project: &'a str,
    at: Time,
    level: NotificationLevel,
    build: Option<BuildId>,
    question: Option<QuestionId>,
    category: Option<Category>,
    code: Option<Code>,
    title: &'a str,
    text: &'a str,
    options: &'a [QuestionOption],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    links: &'a [AnswerLink],
}

pub(super) fn encode_payload(message: &Notification) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&NotificationPayload {
        id: &message.id,
        project: &message.project,
        at: message.at,
        level: message.level,
        build: message.build,
        question: message.question,
        category: message.category,
        code: message.code,
        title: &message.title,
        text: &message.body,
        options: &message.options,
        links: &message.links,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Made with `printf '1700000000.{"id":"shop-1"}' | openssl dgst -sha256 -hmac "whsec-test"`.
    #[test]
    fn the_signature_is_what_others_make() {
        let secret = Credential::new("whsec-test").unwrap();
        assert_eq!(
            sign_body(&secret, "1700000000", br#"{"id":"shop-1"}"#),
            "sha256=dbb42f1c7c08cee4a803d27f8617262a9d9ee296bbce29b93fa9f9e33c2d45d4"
        );
    }
}
