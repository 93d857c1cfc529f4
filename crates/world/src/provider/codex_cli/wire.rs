//! The format of `codex app-server`: JSON-RPC, one message per line. Fields, methods and items that
//! are not listed here are ignored.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A message: a response (`id` and `result` or `error`), a request (`id` and `method`), or a
/// notification (`method`).
#[derive(Debug, Deserialize)]
pub(super) struct CodexMessage<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    pub(super) method: Option<String>,
    /// The parameters, parsed only for methods of interest, because most messages are skipped.
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    pub(super) error: Option<CodexRpcError>,
    /// The time of writing, by Codex's own clock.
    #[serde(rename = "emittedAtMs")]
    pub(super) emitted_at_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CodexRpcError {
    #[serde(default)]
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct CodexThreadResult {
    pub(super) thread: CodexId,
}

#[derive(Debug, Deserialize)]
pub(super) struct CodexTurnResult {
    pub(super) turn: CodexId,
}

#[derive(Debug, Deserialize)]
pub(super) struct CodexId {
    pub(super) id: String,
}

/// The parameters of all notifications and requests that are read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexParams<'a> {
    pub(super) thread_id: Option<String>,
    pub(super) turn_id: Option<String>,
    pub(super) turn: Option<CodexTurn>,
    #[serde(borrow)]
    pub(super) item: Option<CodexItem<'a>>,
    pub(super) token_usage: Option<CodexTokenUsage>,
    pub(super) rate_limits: Option<CodexRateLimits>,
    pub(super) error: Option<CodexTurnError>,
    pub(super) will_retry: Option<bool>,
    pub(super) item_id: Option<String>,
    pub(super) command: Option<String>,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CodexTurn {
    pub(super) id: String,
    pub(super) status: Option<String>,
    pub(super) error: Option<CodexTurnError>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CodexTurnError {
    pub(super) message: String,
    /// The name of the error, or an object whose only key is the name.
    pub(super) codex_error_info: Value,
    pub(super) additional_details: Option<String>,
}

impl CodexTurnError {
    /// Returns whether the message or the details contain these words.
    pub(super) fn contains_text(&self, words: &str) -> bool {
        let details = self.additional_details.as_deref().unwrap_or_default();
        self.message.contains(words) || details.contains(words)
    }
}

/// An item of a conversation, of any kind.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexItem<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) id: Cow<'a, str>,
    pub(super) text: Option<String>,
    pub(super) command: Option<String>,
    pub(super) aggregated_output: Option<String>,
    pub(super) exit_code: Option<i32>,
    pub(super) status: Option<String>,
    #[serde(borrow, default)]
    pub(super) changes: Vec<CodexFileChange<'a>>,
    pub(super) server: Option<String>,
    pub(super) tool: Option<String>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    pub(super) query: Option<String>,
    pub(super) path: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct CodexFileChange<'a> {
    #[serde(borrow)]
    pub(super) path: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) diff: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CodexTokenUsage {
    pub(super) total: CodexTokens,
    pub(super) last: CodexTokens,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CodexTokens {
    /// Input tokens, including those read from and written to a cache.
    #[serde(rename = "inputTokens")]
    pub(super) input: u64,
    #[serde(rename = "cachedInputTokens")]
    pub(super) cached: u64,
    #[serde(rename = "cacheWriteInputTokens")]
    pub(super) cache_written: u64,
    #[serde(rename = "outputTokens")]
    pub(super) output: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CodexRateLimits {
    pub(super) primary: Option<CodexLimitWindow>,
    pub(super) secondary: Option<CodexLimitWindow>,
    pub(super) individual_limit: Option<CodexSpendLimit>,
    pub(super) credits: Option<CodexCredits>,
    pub(super) rate_limit_reached_type: Option<String>,
    pub(super) spend_control_reached: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CodexLimitWindow {
    pub(super) used_percent: i64,
    /// Reset time in seconds since the Unix epoch.
    pub(super) resets_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CodexSpendLimit {
    pub(super) resets_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CodexCredits {
    pub(super) has_credits: bool,
    pub(super) unlimited: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct CodexRequest<P> {
    pub(super) id: u64,
    pub(super) method: &'static str,
    pub(super) params: P,
}

#[derive(Debug, Serialize)]
pub(super) struct CodexNotification {
    pub(super) method: &'static str,
}

/// A response to a request of Codex.
#[derive(Debug, Serialize)]
pub(super) struct CodexResponse<'a> {
    pub(super) id: &'a RawValue,
    #[serde(flatten)]
    pub(super) outcome: CodexOutcome,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CodexOutcome {
    Result(Value),
    Error { code: i32, message: &'static str },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexInitialize {
    pub(super) client_info: ClientInfo,
}

#[derive(Debug, Serialize)]
pub(super) struct ClientInfo {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

/// The parameters for starting or resuming a conversation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenThread<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thread_id: Option<&'a str>,
    /// `true` when resuming, because the earlier turns are not needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exclude_turns: Option<bool>,
    pub(super) cwd: &'a Path,
    pub(super) approval_policy: &'static str,
    pub(super) sandbox: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StartTurn<'a> {
    pub(super) thread_id: &'a str,
    pub(super) input: [TextInput<'a>; 1],
}

#[derive(Debug, Serialize)]
pub(super) struct TextInput<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) text: &'a str,
}
