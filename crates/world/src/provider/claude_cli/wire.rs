//! The format of `--output-format stream-json`, limited to the fields that are read.
//!
//! All kinds of lines share one flat type that borrows the long parts of the line: a tagged enum
//! would first copy every line into a tree, and most of a line is skipped. Fields and kinds that are
//! not listed here are ignored; a field of another shape makes the line unreadable.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

#[derive(Debug, Deserialize)]
pub(super) struct ClaudeLine<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) subtype: Option<String>,
    pub(super) session_id: Option<String>,
    /// Set on lines of a subagent.
    pub(super) parent_tool_use_id: Option<String>,
    #[serde(borrow)]
    pub(super) message: Option<ClaudeMessage<'a>>,
    /// The type of an API error, in a message that the program generated itself, or in a retry.
    pub(super) error: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) rate_limit_info: Option<ClaudeRateLimitInfo>,

    /// In the announcement of a retry: the status of the response, and the delay.
    pub(super) error_status: Option<u16>,
    pub(super) retry_delay_ms: Option<f64>,

    pub(super) is_error: Option<bool>,
    pub(super) api_error_status: Option<u16>,
    pub(super) num_turns: Option<u32>,
    pub(super) result: Option<String>,
    pub(super) stop_reason: Option<String>,
    pub(super) terminal_reason: Option<String>,
    pub(super) total_cost_usd: Option<f64>,
    pub(super) usage: Option<ClaudeTokens>,
    #[serde(rename = "modelUsage")]
    pub(super) model_usage: Option<HashMap<String, ClaudeTokens>>,
    #[serde(borrow, default)]
    pub(super) permission_denials: Vec<PermissionDenial<'a>>,
    #[serde(default)]
    pub(super) errors: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ClaudeMessage<'a> {
    pub(super) id: Option<String>,
    #[serde(borrow)]
    pub(super) content: Option<ClaudeContent<'a>>,
    pub(super) usage: Option<ClaudeTokens>,
}

/// A text or a list of blocks: the program writes both.
#[derive(Debug)]
pub(super) enum ClaudeContent<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<ClaudeBlock<'a>>),
}

#[derive(Debug, Deserialize)]
pub(super) struct ClaudeBlock<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    pub(super) tool_use_id: Option<String>,
    #[serde(borrow)]
    pub(super) content: Option<ClaudeContent<'a>>,
    pub(super) is_error: Option<bool>,
}

/// Token counts, under the API's names or, per model, under the program's.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClaudeTokens {
    #[serde(rename = "input_tokens", alias = "inputTokens")]
    pub(super) input: u64,
    #[serde(rename = "output_tokens", alias = "outputTokens")]
    pub(super) output: u64,
    #[serde(rename = "cache_creation_input_tokens", alias = "cacheCreationInputTokens")]
    pub(super) cache_written: u64,
    #[serde(rename = "cache_read_input_tokens", alias = "cacheReadInputTokens")]
    pub(super) cached: u64,
}

/// The state of a plan's window.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClaudeRateLimitInfo {
    pub(super) status: Option<String>,
    /// Reset time in seconds since the Unix epoch.
    pub(super) resets_at: Option<f64>,
    pub(super) rate_limit_type: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PermissionDenial<'a> {
    #[serde(borrow)]
    pub(super) tool_name: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) tool_input: Option<&'a RawValue>,
}

impl ClaudeContent<'_> {
    /// Returns the text, with blocks joined by newlines.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            Self::Blocks(blocks) => {
                let texts: Vec<&str> =
                    blocks.iter().filter_map(|block| block.text.as_deref()).collect();
                texts.join("\n")
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ClaudeContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ClaudeContentVisitor)
    }
}

/// Visitor for [`ClaudeContent`]; an untagged enum would first copy its input.
struct ClaudeContentVisitor;

impl<'de> Visitor<'de> for ClaudeContentVisitor {
    type Value = ClaudeContent<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of blocks")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(ClaudeContent::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(ClaudeContent::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(block) = blocks.next_element()? {
            found.push(block);
        }
        Ok(ClaudeContent::Blocks(found))
    }
}
