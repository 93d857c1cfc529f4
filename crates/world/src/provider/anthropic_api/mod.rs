//! Models of Anthropic, and of other services that speak its Messages API.

mod parse;
mod wire;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::Fault;

use super::ModelSettings;
use super::http::{self, ModelService, Vendor};
use crate::model::{Model, ModelFailure, ModelRequest, ModelTurn};

/// The name of this provider.
pub const NAME: &str = "anthropic-api";

const VENDOR: Vendor = Vendor {
    name: NAME,
    base_url: "https://api.anthropic.com",
    path: "/v1/messages",
    key: ("x-api-key", ""),
    headers: &[("anthropic-version", "2023-06-01")],
};

/// The variable whose value is a token rather than a key.
const TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";

/// A model of Anthropic.
#[derive(Debug)]
pub struct AnthropicApi {
    service: ModelService,
}

impl AnthropicApi {
    /// Creates a client. [`Model::check_ready`] tells whether it can be called.
    pub fn new(settings: ModelSettings) -> Self {
        let is_token = settings.variable.as_deref() == Some(TOKEN);
        let key = if is_token { ("authorization", "Bearer ") } else { VENDOR.key };
        Self { service: ModelService::new(settings, &Vendor { key, ..VENDOR }) }
    }
}

#[async_trait]
impl Model for AnthropicApi {
    fn check_ready(&self) -> Result<(), Fault> {
        self.service.check_ready()
    }

    async fn request_turn(
        &self,
        request: ModelRequest<'_>,
        stop: &CancellationToken,
    ) -> Option<Result<ModelTurn, ModelFailure>> {
        let request = wire::AnthropicRequest::new(self.service.model(), request);
        self.service.request_turn::<parse::AnthropicParser>(&request, stop).await
    }
}

/// Parses a recorded stream, without a service.
pub fn parse_stream(bytes: &[u8]) -> Result<ModelTurn, ModelFailure> {
    http::replay_stream::<parse::AnthropicParser>(NAME, bytes)
}
