//! Models of `OpenAI`, and of compatible services: gateways, vLLM, Ollama, llama.cpp.

mod chat;
mod responses;
mod shared;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::Fault;
use unstuck_core::plan::GateKey;

use super::http::{self, ModelService, Vendor};
use super::{ModelSettings, derive_gate_key};
use crate::model::{Model, ModelFailure, ModelRequest, ModelTurn};

/// The name of this provider.
pub const NAME: &str = "openai-api";

/// The protocol to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpenAiDialect {
    /// The protocol Responses.
    #[default]
    Responses,
    /// The protocol Chat Completions.
    Chat,
}

impl OpenAiDialect {
    const fn vendor(self) -> Vendor {
        Vendor {
            name: NAME,
            base_url: "https://api.openai.com/v1",
            path: match self {
                Self::Responses => "/responses",
                Self::Chat => "/chat/completions",
            },
            key: ("authorization", "Bearer "),
            headers: &[],
        }
    }
}

/// A model of `OpenAI`, or of a compatible service.
#[derive(Debug)]
pub struct OpenAiApi {
    model: String,
    dialect: OpenAiDialect,
    effort: Option<String>,
    vendors_own: bool,
    gate: GateKey,
    service: ModelService,
}

impl OpenAiApi {
    /// Creates a client. [`Model::check_ready`] tells whether it can be called. `effort` is the
    /// reasoning effort, in the vendor's own words, for models that reason.
    pub fn new(settings: ModelSettings, dialect: OpenAiDialect, effort: Option<String>) -> Self {
        let vendor = dialect.vendor();
        let base_url = settings.base_url.as_deref().unwrap_or(vendor.base_url);
        Self {
            model: settings.model.clone(),
            dialect,
            effort,
            vendors_own: settings.base_url.is_none(),
            gate: derive_gate_key(NAME, base_url, settings.credential.as_ref()),
            service: ModelService::new(settings, &vendor),
        }
    }

    /// Returns the key of the gate for its account.
    pub const fn gate_key(&self) -> GateKey {
        self.gate
    }
}

#[async_trait]
impl Model for OpenAiApi {
    fn check_ready(&self) -> Result<(), Fault> {
        self.service.check_ready()
    }

    async fn request_turn(
        &self,
        request: ModelRequest<'_>,
        stop: &CancellationToken,
    ) -> Option<Result<ModelTurn, ModelFailure>> {
        let model = &self.model;
        let effort = self.effort.as_deref();
        match self.dialect {
            OpenAiDialect::Responses => {
                let body =
                    http::serialize_body(&responses::ResponsesRequest::new(model, request, effort));
                self.service.request_turn(body, responses::ResponsesParser::default(), stop).await
            }
            OpenAiDialect::Chat => {
                let ask = chat::ChatRequest::new(model, request, effort, self.vendors_own);
                self.service
                    .request_turn(http::serialize_body(&ask), chat::ChatParser::default(), stop)
                    .await
            }
        }
    }
}

/// Parses a recorded stream, without a service.
pub fn parse_stream(dialect: OpenAiDialect, bytes: &[u8]) -> Result<ModelTurn, ModelFailure> {
    match dialect {
        OpenAiDialect::Responses => {
            http::replay_stream(NAME, bytes, responses::ResponsesParser::default())
        }
        OpenAiDialect::Chat => http::replay_stream(NAME, bytes, chat::ChatParser::default()),
    }
}
