//! Models of `OpenAI`, and of compatible services: gateways, vLLM, Ollama, llama.cpp.

mod chat;
mod responses;
mod shared;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::Fault;

use super::ModelSettings;
use super::http::{self, ModelService, Vendor};
use crate::model::{Model, ModelFailure, ModelRequest, ModelTurn};
use chat::{ChatParser, ChatRequest};
use responses::{ResponsesParser, ResponsesRequest};

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
    dialect: OpenAiDialect,
    effort: Option<String>,
    vendors_own: bool,
    service: ModelService,
}

impl OpenAiApi {
    /// Creates a client. [`Model::check_ready`] tells whether it can be called. `effort` is the
    /// reasoning effort, in the vendor's own words, for models that reason.
    pub fn new(settings: ModelSettings, dialect: OpenAiDialect, effort: Option<String>) -> Self {
        let vendors_own = settings.base_url.is_none();
        let service = ModelService::new(settings, &dialect.vendor());
        Self { dialect, effort, vendors_own, service }
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
        let service = &self.service;
        let model = service.model();
        let effort = self.effort.as_deref();
        match self.dialect {
            OpenAiDialect::Responses => {
                let request = ResponsesRequest::new(model, request, effort);
                service.request_turn::<ResponsesParser>(&request, stop).await
            }
            OpenAiDialect::Chat => {
                let request = ChatRequest::new(model, request, effort, self.vendors_own);
                service.request_turn::<ChatParser>(&request, stop).await
            }
        }
    }
}

/// Parses a recorded stream, without a service.
pub fn parse_stream(dialect: OpenAiDialect, bytes: &[u8]) -> Result<ModelTurn, ModelFailure> {
    match dialect {
        OpenAiDialect::Responses => http::replay_stream::<ResponsesParser>(NAME, bytes),
        OpenAiDialect::Chat => http::replay_stream::<ChatParser>(NAME, bytes),
    }
}
