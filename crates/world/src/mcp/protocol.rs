//! The protocol of the server, from a line of the client to its response: JSON-RPC 2.0, one message
//! per line.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use unstuck_core::fault::Code;

use super::NAME;
use crate::model::ToolSpec;

/// The supported protocol versions, newest first. The parts that tools need are the same in all of
/// them.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The protocol of a server that offers tools and no other feature. It is stateless: every request
/// is answered, in any order.
#[derive(Clone, Debug)]
pub struct McpProtocol {
    tools: Vec<ToolSpec>,
    instructions: String,
    version: &'static str,
}

/// The reaction to a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpReaction {
    /// No response.
    Nothing,
    /// A response to write.
    Reply(Vec<u8>),
    /// A call of a tool; its result is written as [`McpCall::format_response`] formats it.
    Call(McpCall),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpCall {
    id: JsonRpcId,
    /// The name of the tool.
    pub tool: String,
    /// The arguments of the call.
    pub input: Value,
}

impl McpProtocol {
    /// Creates a server with these tools; `version` is Unstuck's own. Clients show the instructions
    /// to their models.
    pub fn new(
        tools: Vec<ToolSpec>,
        instructions: impl Into<String>,
        version: &'static str,
    ) -> Self {
        Self { tools, instructions: instructions.into(), version }
    }

    /// Handles a line.
    pub fn handle_line(&self, line: &[u8]) -> McpReaction {
        if line.trim_ascii().is_empty() {
            return McpReaction::Nothing;
        }
        match serde_json::from_slice::<McpMessage<'_>>(line) {
            Ok(message) => self.handle_message(&message),
            Err(error) if error.is_data() => {
                reply_with_error(None, INVALID_REQUEST, "this is no message")
            }
            Err(_) => reply_with_error(None, PARSE_ERROR, "this is no JSON"),
        }
    }

    /// Returns the response to a line that exceeded [`super::LINE_BYTES_MAX`].
    pub fn reject_long_line(&self) -> McpReaction {
        reply_with_error(None, INVALID_REQUEST, "the message is too long")
    }

    fn handle_message(&self, message: &McpMessage<'_>) -> McpReaction {
        let id = match message.id.map(parse_raw::<JsonRpcId>) {
            None => None,
            Some(Some(id)) => Some(id),
            Some(None) => {
                return reply_with_error(None, INVALID_REQUEST, "the id is no number and no text");
            }
        };
        match (&message.method, id) {
            // A response or a notification: neither is answered.
            (None, Some(_)) | (Some(_), None) => McpReaction::Nothing,
            (None, None) => reply_with_error(None, INVALID_REQUEST, "this is no message"),
            (Some(_), Some(id)) if message.jsonrpc.as_deref() != Some("2.0") => {
                reply_with_error(Some(&id), INVALID_REQUEST, "only JSON-RPC 2.0 is spoken here")
            }
            (Some(method), Some(id)) => self.handle_request(id, method, message.params),
        }
    }

    fn handle_request(
        &self,
        id: JsonRpcId,
        method: &str,
        params: Option<&RawValue>,
    ) -> McpReaction {
        match method {
            "initialize" => {
                let asked = params.and_then(parse_raw::<McpInitialize>).unwrap_or_default();
                reply_with_result(&id, self.build_introduction(&asked.protocol_version))
            }
            "ping" => reply_with_result(&id, json!({})),
            "tools/list" => reply_with_result(&id, json!({ "tools": self.list_tools() })),
            "tools/call" => match params.and_then(parse_raw::<CallTool>) {
                Some(CallTool { name, arguments }) => McpReaction::Call(McpCall {
                    id,
                    tool: name,
                    input: arguments.unwrap_or(json!({})),
                }),
                None => reply_with_error(Some(&id), INVALID_PARAMS, "a call names its tool"),
            },
            _ => reply_with_error(Some(&id), METHOD_NOT_FOUND, "this is not offered here"),
        }
    }

    /// Returns the response to `initialize`. An unsupported version is answered with the newest
    /// supported one; the client decides whether to go on with that.
    fn build_introduction(&self, asked: &str) -> Value {
        let version = VERSIONS.iter().find(|known| **known == asked).unwrap_or(&VERSIONS[0]);
        json!({
            "protocolVersion": version,
            "capabilities": { "tools": {} },
            "serverInfo": { "name": NAME, "version": self.version },
            "instructions": self.instructions,
        })
    }

    /// Returns the list of tools. None of them destroys data or reaches outside by itself, and the
    /// annotations say so: clients that ask people about such tools need not ask about these.
    fn list_tools(&self) -> Vec<Value> {
        let told = |tool: &ToolSpec| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input,
                "annotations": { "destructiveHint": false, "openWorldHint": false },
            })
        };
        self.tools.iter().map(told).collect()
    }
}

impl McpCall {
    /// Formats the response to the call as a line. A failure is a result as well, for the model to
    /// read. If the result is about a fault, its code and category are added as structured content.
    pub fn format_response(&self, text: &str, failed: bool, about: Option<Code>) -> Vec<u8> {
        let content = json!([{ "type": "text", "text": text }]);
        let mut result = json!({ "content": content, "isError": failed });
        if let Some(code) = about {
            let category = code.row().category;
            result["structuredContent"] = json!({ "code": code, "category": category });
        }
        format_reply(Some(&self.id), McpOutcome::Result(result))
    }
}

fn reply_with_result(id: &JsonRpcId, result: Value) -> McpReaction {
    McpReaction::Reply(format_reply(Some(id), McpOutcome::Result(result)))
}

fn reply_with_error(id: Option<&JsonRpcId>, code: i32, message: &str) -> McpReaction {
    McpReaction::Reply(format_reply(id, McpOutcome::Error { code, message }))
}

fn format_reply(id: Option<&JsonRpcId>, outcome: McpOutcome<'_>) -> Vec<u8> {
    // Serializing these types cannot fail.
    let mut line =
        serde_json::to_vec(&McpReply { jsonrpc: "2.0", id, outcome }).unwrap_or_default();
    line.push(b'\n');
    line
}

fn parse_raw<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

// The error codes of JSON-RPC.
const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const METHOD_NOT_FOUND: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;

/// The id of a request, in the type that the client chose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum JsonRpcId {
    Number(i64),
    Text(String),
}

/// A message of the client: a request, a notification, or a response.
#[derive(Debug, Deserialize)]
struct McpMessage<'a> {
    #[serde(default)]
    jsonrpc: Option<String>,
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
struct McpInitialize {
    #[serde(default, rename = "protocolVersion")]
    protocol_version: String,
}

#[derive(Debug, Deserialize)]
struct CallTool {
    name: String,
    #[serde(default)]
    arguments: Option<Value>,
}

#[derive(Serialize)]
struct McpReply<'a> {
    jsonrpc: &'static str,
    id: Option<&'a JsonRpcId>,
    #[serde(flatten)]
    outcome: McpOutcome<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum McpOutcome<'a> {
    Result(Value),
    Error { code: i32, message: &'a str },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mcp::mcp_tools;

    fn protocol() -> McpProtocol {
        McpProtocol::new(mcp_tools(), "ask", "1.2.3")
    }

    /// Returns the response to a line as a value.
    fn answer(line: &str) -> Value {
        match protocol().handle_line(line.as_bytes()) {
            McpReaction::Nothing => Value::Null,
            McpReaction::Reply(reply) => {
                assert_eq!(memchr::memchr_iter(b'\n', &reply).count(), 1);
                serde_json::from_slice(&reply).unwrap()
            }
            McpReaction::Call(call) => panic!("{call:?}"),
        }
    }

    #[test]
    fn a_version_that_is_known_is_spoken_and_the_newest_otherwise() {
        for (asked, spoken) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-06-18", "2025-06-18"),
            ("1999-01-01", VERSIONS[0]),
            ("", VERSIONS[0]),
        ] {
            let line = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
                "params": {"protocolVersion": asked, "capabilities": {}}});
            let said = answer(&line.to_string());
            assert_eq!(said["result"]["protocolVersion"], spoken);
            assert_eq!(
                said["result"]["serverInfo"],
                json!({"name": "unstuck", "version": "1.2.3"})
            );
            assert_eq!(said["result"]["capabilities"], json!({"tools": {}}));
        }
    }

    #[test]
    fn what_is_no_request_of_ours_gets_the_error_that_says_so() {
        let id = json!("x");
        for (line, id, code) in [
            ("{", Value::Null, PARSE_ERROR),
            ("\u{0}", Value::Null, PARSE_ERROR),
            ("[]", Value::Null, INVALID_REQUEST),
            ("3", Value::Null, INVALID_REQUEST),
            ("{}", Value::Null, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, Value::Null, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null, INVALID_REQUEST),
            (r#"{"id":"x","method":"ping"}"#, id.clone(), INVALID_REQUEST),
            (r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#, id.clone(), INVALID_REQUEST),
            (
                r#"{"jsonrpc":"2.0","id":"x","method":"resources/list"}"#,
                id.clone(),
                METHOD_NOT_FOUND,
            ),
            (r#"{"jsonrpc":"2.0","id":"x","method":"tools/call"}"#, id.clone(), INVALID_PARAMS),
            (r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":[]}"#, id, INVALID_PARAMS),
        ] {
            let said = answer(line);
            assert_eq!((&said["id"], &said["error"]["code"]), (&id, &json!(code)), "{line}");
        }
        let McpReaction::Reply(said) = protocol().reject_long_line() else { panic!("it is said") };
        assert!(said.ends_with(b"\n"));
    }

    #[test]
    fn notices_answers_and_empty_lines_are_not_answered() {
        for line in [
            "",
            "  \r",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            r#"{"jsonrpc":"2.0","id":4,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"x"}}"#,
        ] {
            assert_eq!(answer(line), Value::Null, "{line}");
        }
    }

    #[test]
    fn a_call_keeps_its_id_and_its_answer_says_how_it_came_out() {
        let line = r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"narrate",
            "arguments":{"text":"hi"},"_meta":{"progressToken":1}}}"#;
        let McpReaction::Call(call) = protocol().handle_line(line.as_bytes()) else {
            panic!("a call")
        };
        assert_eq!((call.tool.as_str(), &call.input), ("narrate", &json!({"text": "hi"})));
        let about = Some(Code::ToolMissing);
        let said: Value =
            serde_json::from_slice(&call.format_response("no\nway", true, about)).unwrap();
        assert_eq!(
            said,
            json!({"jsonrpc": "2.0", "id": 9, "result": {
            "content": [{"type": "text", "text": "no\nway"}], "isError": true,
            "structuredContent": {"code": "TOOL_MISSING", "category": "environment"}}})
        );
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)["result"], json!({}));
    }

    #[test]
    fn every_tool_is_listed_with_its_schema() {
        let said = answer(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#);
        insta::assert_json_snapshot!(said["result"]["tools"]);
    }

    proptest! {
        #[test]
        fn any_line_gets_at_most_one_line(line in prop::collection::vec(any::<u8>(), 0..200)) {
            if let McpReaction::Reply(reply) = protocol().handle_line(&line) {
                prop_assert_eq!(memchr::memchr_iter(b'\n', &reply).count(), 1);
                let said: Value = serde_json::from_slice(&reply).unwrap();
                prop_assert_eq!(&said["jsonrpc"], "2.0");
            }
        }

        #[test]
        fn any_message_is_answered_if_it_is_a_request(
            id in prop::option::of(any::<i64>()),
            method in prop::option::of("initialize|ping|tools/list|tools/call|[a-z/]{0,9}"),
            params in prop::option::of("\\{\\}|\\[\\]|null|3|\\{\"name\":\"x\"\\}"),
        ) {
            let mut line = json!({"jsonrpc": "2.0"});
            let fields = line.as_object_mut().unwrap();
            fields.extend(id.map(|id| ("id".to_owned(), json!(id))));
            fields.extend(method.clone().map(|method| ("method".to_owned(), json!(method))));
            let params = params.and_then(|params| serde_json::from_str::<Value>(&params).ok());
            fields.extend(params.map(|params| ("params".to_owned(), params)));
            let heard = protocol().handle_line(line.to_string().as_bytes());
            let silent = id.is_some() != method.is_some();
            prop_assert_eq!(heard == McpReaction::Nothing, silent, "{}", line);
        }
    }
}
