//! Every provider there is, and a conversation to ask with.

use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use unstuck_world::model::{
    MessagePart, MessageRole, Model, ModelFailure, ModelMessage, ModelRequest, ModelTurn, ToolSpec,
};
use unstuck_world::provider::anthropic_api::AnthropicApi;
use unstuck_world::provider::openai_api::{OpenAiApi, OpenAiDialect};
use unstuck_world::provider::prices::{Price, Prices};
use unstuck_world::provider::{Credential, ModelSettings, TurnDeadlines};

/// The key that must not turn up anywhere.
pub(crate) const CANARY: &str = "canary-5a1e-0123456789";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    Anthropic,
    Responses,
    Chat,
}

pub(crate) const ALL: [Provider; 3] = [Provider::Anthropic, Provider::Responses, Provider::Chat];

impl Provider {
    pub(crate) fn model(self, settings: ModelSettings) -> Box<dyn Model> {
        match self {
            Self::Anthropic => Box::new(AnthropicApi::new(settings)),
            Self::Responses => Box::new(OpenAiApi::new(settings, OpenAiDialect::Responses, None)),
            Self::Chat => Box::new(OpenAiApi::new(settings, OpenAiDialect::Chat, None)),
        }
    }

    /// The address, as it is set for this one.
    pub(crate) fn base_url(self, server: &str) -> String {
        match self {
            Self::Anthropic => server.to_owned(),
            Self::Responses | Self::Chat => format!("{server}/v1/"),
        }
    }
}

pub(crate) fn settings(base_url: Option<String>) -> ModelSettings {
    let each = Price { input: 1_000_000, output: 1_000_000, cached: 0, cache_written: 0 };
    ModelSettings {
        model: "model-1".to_owned(),
        base_url,
        proxies: unstuck_world::provider::Proxies::default(),
        credential: Credential::new(CANARY),
        variable: Some("MODEL_KEY".to_owned()),
        deadlines: TurnDeadlines::default(),
        prices: Prices::default().with_price("model-1", each),
    }
}

/// Deadlines that pass while one waits for them.
pub(crate) fn soon() -> TurnDeadlines {
    let long = Duration::from_mins(1);
    TurnDeadlines { connect: long, first_byte: long, idle: long, total: long }
}

pub(crate) fn tools() -> Vec<ToolSpec> {
    let input = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    vec![ToolSpec { name: "run", description: "Runs a command.", input }]
}

pub(crate) fn user(text: &str) -> ModelMessage {
    ModelMessage {
        role: MessageRole::User,
        parts: vec![MessagePart::Text { text: text.to_owned() }],
    }
}

pub(crate) async fn ask(
    model: &dyn Model,
    messages: &[ModelMessage],
) -> Result<ModelTurn, ModelFailure> {
    let tools = tools();
    let request =
        ModelRequest { system: "Be brief.", messages, tools: &tools, output_tokens_max: 1_000 };
    model.request_turn(request, &CancellationToken::new()).await.unwrap()
}
