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
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) method: Option<Cow<'a, str>>,
    /// The parameters, parsed only for methods of interest, because most messages are skipped.
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<RpcError<'a>>,
    /// The time of writing, by Codex's own clock.
    #[serde(rename = "emittedAtMs")]
    pub(super) emitted_at_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RpcError<'a> {
    #[serde(borrow, default)]
    pub(super) message: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ThreadResult {
    pub(super) thread: Named,
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnResult {
    pub(super) turn: Named,
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub(super) id: String,
}

/// The parameters of all notifications and requests that are read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params<'a> {
    #[serde(borrow)]
    pub(super) thread_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) turn_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) turn: Option<Turn<'a>>,
    #[serde(borrow)]
    pub(super) item: Option<Item<'a>>,
    pub(super) token_usage: Option<TokenUsage>,
    pub(super) rate_limits: Option<RateLimits>,
    pub(super) error: Option<TurnError>,
    pub(super) will_retry: Option<bool>,
    #[serde(borrow)]
    pub(super) item_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) command: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) reason: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Turn<'a> {
    #[serde(borrow)]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) status: Option<Cow<'a, str>>,
    pub(super) error: Option<TurnError>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TurnError {
    pub(super) message: String,
    /// The name of the error, or an object whose only key is the name.
    pub(super) codex_error_info: Value,
    pub(super) additional_details: Option<String>,
}

impl TurnError {
    /// Returns whether the message or the details contain these words.
    pub(super) fn says(&self, words: &str) -> bool {
        let details = self.additional_details.as_deref().unwrap_or_default();
        self.message.contains(words) || details.contains(words)
    }
}

/// An item of a conversation, of any kind.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Item<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) command: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) aggregated_output: Option<Cow<'a, str>>,
    pub(super) exit_code: Option<i32>,
    #[serde(borrow)]
    pub(super) status: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) changes: Vec<Change<'a>>,
    #[serde(borrow)]
    pub(super) server: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) tool: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) query: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) path: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Change<'a> {
    #[serde(borrow)]
    pub(super) path: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) diff: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TokenUsage {
    pub(super) total: Tokens,
    pub(super) last: Tokens,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
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

/// The rate limits of the account.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RateLimits {
    pub(super) primary: Option<Window>,
    pub(super) secondary: Option<Window>,
    pub(super) individual_limit: Option<SpendLimit>,
    pub(super) credits: Option<Credits>,
    pub(super) rate_limit_reached_type: Option<String>,
    pub(super) spend_control_reached: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Window {
    pub(super) used_percent: i64,
    /// Reset time in seconds since the Unix epoch.
    pub(super) resets_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SpendLimit {
    pub(super) resets_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Credits {
    pub(super) has_credits: bool,
    pub(super) unlimited: bool,
}

/// A request to Codex.
#[derive(Debug, Serialize)]
pub(super) struct Request<P> {
    pub(super) id: u64,
    pub(super) method: &'static str,
    pub(super) params: P,
}

/// A notification to Codex.
#[derive(Debug, Serialize)]
pub(super) struct Notice {
    pub(super) method: &'static str,
}

/// A response to a request of Codex.
#[derive(Debug, Serialize)]
pub(super) struct Answer<'a> {
    pub(super) id: &'a RawValue,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    Result(Value),
    Error { code: i32, message: &'static str },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialize {
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
