//! Models of `OpenAI`, and of compatible services: gateways, vLLM, Ollama, llama.cpp.

mod chat;
mod error;
mod responses;
mod wire;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::Fault;
use unstuck_core::plan::GateKey;

use super::http::{self, Service, Vendor};
use super::{Settings, gate};
use crate::model::{Failure, Model, Request, Turn};

/// The name of this provider.
pub const NAME: &str = "openai-api";

/// The protocol to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// The protocol Responses.
    #[default]
    Responses,
    /// The protocol Chat Completions.
    Chat,
}

impl Dialect {
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
    dialect: Dialect,
    effort: Option<String>,
    vendors_own: bool,
    gate: GateKey,
    service: Service,
}

impl OpenAiApi {
    /// Creates a client. [`Model::check`] tells whether it can be called. `effort` is the reasoning
    /// effort, in the vendor's own words, for models that reason.
    pub fn new(settings: Settings, dialect: Dialect, effort: Option<String>) -> Self {
        let vendor = dialect.vendor();
        let base_url = settings.base_url.as_deref().unwrap_or(vendor.base_url);
        Self {
            model: settings.model.clone(),
            dialect,
            effort,
            vendors_own: settings.base_url.is_none(),
            gate: gate(NAME, base_url, settings.credential.as_ref()),
            service: Service::new(settings, &vendor),
        }
    }

    /// Returns the key of the gate for its account.
    pub const fn gate(&self) -> GateKey {
        self.gate
    }
}

#[async_trait]
impl Model for OpenAiApi {
    fn check(&self) -> Result<(), Fault> {
        self.service.check()
    }

    async fn turn(
        &self,
        request: Request<'_>,
        stop: &CancellationToken,
    ) -> Option<Result<Turn, Failure>> {
        let model = &self.model;
        let effort = self.effort.as_deref();
        match self.dialect {
            Dialect::Responses => {
                let body = http::body(&responses::wire::Ask::new(model, request, effort));
                self.service.turn(body, responses::parse::Reader::default(), stop).await
            }
            Dialect::Chat => {
                let ask = chat::wire::Ask::new(model, request, effort, self.vendors_own);
                self.service.turn(http::body(&ask), chat::parse::Reader::default(), stop).await
            }
        }
    }
}

/// Parses a recorded stream, without a service.
pub fn read_stream(dialect: Dialect, bytes: &[u8]) -> Result<Turn, Failure> {
    match dialect {
        Dialect::Responses => http::replay(NAME, bytes, responses::parse::Reader::default()),
        Dialect::Chat => http::replay(NAME, bytes, chat::parse::Reader::default()),
    }
}
