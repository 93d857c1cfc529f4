//! The wire format: JSON-RPC 2.0, one message per line.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// JSON-RPC error: the line is not JSON.
pub(super) const PARSE_ERROR: i32 = -32_700;
/// JSON-RPC error: the JSON is not a valid message.
pub(super) const INVALID_REQUEST: i32 = -32_600;
/// JSON-RPC error: the method does not exist.
pub(super) const METHOD_NOT_FOUND: i32 = -32_601;
/// JSON-RPC error: the parameters do not fit the method.
pub(super) const INVALID_PARAMS: i32 = -32_602;

/// The id of a request, in the type that the client chose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum JsonRpcId {
    Number(i64),
    Text(String),
}

/// A message of the client: a request, a notification, or a response.
#[derive(Debug, Deserialize)]
pub(super) struct McpMessage<'a> {
    #[serde(default)]
    pub(super) jsonrpc: Option<String>,
    #[serde(default, borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) method: Option<String>,
    #[serde(default, borrow)]
    pub(super) params: Option<&'a RawValue>,
}

/// The parameters of `initialize` that are read.
#[derive(Debug, Default, Deserialize)]
pub(super) struct McpInitialize {
    #[serde(default, rename = "protocolVersion")]
    pub(super) protocol_version: String,
}

/// The parameters of `tools/call`.
#[derive(Debug, Deserialize)]
pub(super) struct CallTool {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Option<Value>,
}

/// A response of the server.
#[derive(Serialize)]
pub(super) struct McpReply<'a> {
    pub(super) jsonrpc: &'static str,
    pub(super) id: Option<&'a JsonRpcId>,
    #[serde(flatten)]
    pub(super) outcome: McpOutcome<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum McpOutcome<'a> {
    Result(Value),
    Error { code: i32, message: &'a str },
}

impl McpReply<'_> {
    /// Serializes the response as one line.
    pub(super) fn to_line(&self) -> Vec<u8> {
        // Serializing these types cannot fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}
