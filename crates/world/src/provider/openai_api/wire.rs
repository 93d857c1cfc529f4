//! The parts of the wire format that both dialects share.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::Usage;
use crate::model::ToolSpec;

/// The definition of a tool.
#[derive(Serialize)]
pub(super) struct OpenAiFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> OpenAiFunction<'a> {
    pub(super) const fn new(spec: &'a ToolSpec) -> Self {
        Self { name: spec.name, description: spec.description, parameters: &spec.input }
    }
}

/// Marks the output of a failed call, because the format has no field for that.
pub(super) fn mark_failed(output: &str, failed: bool) -> Cow<'_, str> {
    if failed { Cow::Owned(format!("[failed]\n{output}")) } else { Cow::Borrowed(output) }
}

/// The usage of a turn, under the names of either dialect.
#[derive(Deserialize)]
pub(super) struct OpenAiUsage {
    #[serde(default, alias = "prompt_tokens")]
    input_tokens: u64,
    #[serde(default, alias = "completion_tokens")]
    output_tokens: u64,
    #[serde(alias = "prompt_tokens_details")]
    input_tokens_details: Option<OpenAiTokenDetails>,
}

#[derive(Deserialize)]
struct OpenAiTokenDetails {
    cached_tokens: Option<u64>,
}

impl OpenAiUsage {
    pub(super) fn to_usage(&self) -> Usage {
        let details = self.input_tokens_details.as_ref();
        let cached_tokens = details.and_then(|details| details.cached_tokens).unwrap_or(0);
        Usage {
            input_tokens: self.input_tokens.saturating_sub(cached_tokens),
            output_tokens: self.output_tokens,
            cached_tokens,
            ..Usage::default()
        }
    }
}
