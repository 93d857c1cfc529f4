//! What goes over the wire: JSON-RPC 2.0, one message per line.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// What cannot be read at all.
pub(super) const PARSE_ERROR: i32 = -32_700;
/// What is no message.
pub(super) const INVALID_REQUEST: i32 = -32_600;
/// A method that is not there.
pub(super) const METHOD_NOT_FOUND: i32 = -32_601;
/// Parameters that do not fit the method.
pub(super) const INVALID_PARAMS: i32 = -32_602;

/// What names a request, in the client's own form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Id {
    Number(i64),
    Text(String),
}

/// A message of the client's: a request, a notice, or its answer to something.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(default)]
    pub(super) jsonrpc: Option<String>,
    #[serde(default, borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) method: Option<String>,
    #[serde(default, borrow)]
    pub(super) params: Option<&'a RawValue>,
}

/// What a client says about itself.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Initialize {
    #[serde(default, rename = "protocolVersion")]
    pub(super) protocol_version: String,
}

/// Which tool is called, and with what.
#[derive(Debug, Deserialize)]
pub(super) struct CallTool {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Option<Value>,
}

/// Our answer.
#[derive(Serialize)]
pub(super) struct Reply<'a> {
    pub(super) jsonrpc: &'static str,
    pub(super) id: Option<&'a Id>,
    #[serde(flatten)]
    pub(super) outcome: Outcome<'a>,
}

/// How it came out.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome<'a> {
    Result(Value),
    Error { code: i32, message: &'a str },
}

impl Reply<'_> {
    /// On a line of its own.
    pub(super) fn written(&self) -> Vec<u8> {
        // Nothing in it can fail to be written.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}
