//! The tools of the server: their definitions, and the calls of a client's model, parsed into
//! types.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use unstuck_core::fault::text_rules::{self, OutputClassification};
use unstuck_core::fault::{Category, Code, Fault, Kind, Origin};
use unstuck_core::signature::Signature;
use unstuck_core::time::Span;

use crate::model::ToolSpec;
use crate::tool::{
    ModelStatement, ToolCall, bad_input_fault, build_tool_spec, number_schema, parse_input,
    statement_tools, text_schema,
};

/// Returns all tools of the server: those that Unstuck's own models use to speak, and two more.
pub fn mcp_tools() -> Vec<ToolSpec> {
    let mut all = statement_tools();
    all.push(build_tool_spec(
        "check_answer",
        "Looks whether a person has answered a question that was asked before, and shows the answer.",
        &json!({ "question": text_schema("The question, as ask_human named it.") }),
        &["question"],
    ));
    all.push(build_tool_spec(
        "report_failure",
        "Reports a failure that you cannot get past by yourself. The answer says what to do: take \
         another way, wait, or stop because a person is asked. Give the code if you know it, \
         otherwise what the failed program wrote.",
        &json!({
            "code": text_schema("The code, such as AUTH_EXPIRED; `unstuck explain` lists them."),
            "message": text_schema("What failed, in the words of whatever failed."),
            "retry_after_seconds": number_schema("How long the other side asked to wait, if it did."),
        }),
        &["message"],
    ));
    all
}

const SOURCE: &str = "agent";
/// Maximum number of bytes of a message in a fault: its end, where programs say what went wrong.
const MESSAGE_BYTES_MAX: usize = 4 * 1_024;

/// A parsed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedMcpCall {
    /// A statement that Unstuck's own models can make as well.
    Speak(ModelStatement),
    /// The report of a failure.
    ReportFailure(ReportFailure),
    /// A query whether a question has been answered.
    CheckAnswer(CheckAnswer),
}

/// A failure, as the agent that met it reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportFailure {
    /// The fault code, if the agent knows it.
    #[serde(default)]
    pub code: Option<Code>,
    /// The message of the failed program.
    pub message: String,
    /// Seconds that the other side asked to wait.
    #[serde(default)]
    pub retry_after_seconds: Option<u64>,
}

/// A query for the answer to an earlier question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckAnswer {
    /// The id of the question: `3` or `q3`.
    pub question: String,
}

impl ParsedMcpCall {
    /// Parses a call. An unknown tool, or input that does not match the tool's schema, is a fault
    /// whose message goes to the model.
    pub fn parse(tool: &str, input: &Value) -> Result<Self, Box<Fault>> {
        match tool {
            "report_failure" => parse_input(tool, input).map(Self::ReportFailure),
            "check_answer" => parse_input(tool, input).map(Self::CheckAnswer),
            _ => match ToolCall::parse(tool, input)? {
                ToolCall::Speak(speak) => Ok(Self::Speak(speak)),
                ToolCall::Act(_) => Err(bad_input_fault("tool", "there is no such tool")),
            },
        }
    }
}

impl ReportFailure {
    /// Returns the fault that is reported. A given code is taken as it is; without one, the message
    /// is classified. Codes of the internal category are rejected, because an agent cannot report a
    /// fault inside Unstuck.
    pub fn to_fault(&self) -> Result<Fault, Box<Fault>> {
        let message = message_tail(&self.message);
        let fault = match self.code {
            Some(code) if code.row().category == Category::Internal => {
                let why = format!("{code} is about Unstuck itself");
                return Err(bad_input_fault("report_failure", &why));
            }
            Some(code) => Fault::new(Kind::bare(code), SOURCE, message),
            None => {
                let OutputClassification { code, rule, .. } =
                    text_rules::classify_output(self.message.as_bytes());
                let signature = Signature::from_output(code, SOURCE, &self.message, None);
                Fault::new(Kind::bare(code), SOURCE, message).with_rule(rule, signature)
            }
        };
        let fault = fault.with_origin(Origin::Agent);
        Ok(match self.retry_after_seconds {
            Some(seconds) => fault.with_retry_after(Span::from_secs(seconds)),
            None => fault,
        })
    }
}

fn message_tail(message: &str) -> &str {
    let from = message.len().saturating_sub(MESSAGE_BYTES_MAX);
    &message[message.ceil_char_boundary(from)..]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_is_offered_can_be_called_and_nothing_else() {
        let inputs = [
            ("narrate", json!({"text": "x"})),
            ("ask_human", json!({"question": "x", "options": ["a", "b"]})),
            ("mutate", json!({"key": "x", "action": {"kind": "git.push"}})),
            ("task_done", json!({"summary": "x"})),
            ("task_blocked", json!({"reason": "x"})),
            ("check_answer", json!({"question": "q3"})),
            ("report_failure", json!({"message": "x"})),
        ];
        let offered: Vec<&str> = mcp_tools().iter().map(|tool| tool.name).collect();
        assert_eq!(offered, inputs.each_ref().map(|(name, _)| *name));
        for (tool, input) in inputs {
            ParsedMcpCall::parse(tool, &input).unwrap();
        }
        for (tool, input) in [
            ("read_file", json!({"path": "a"})),
            ("report_failure", json!({})),
            ("report_failure", json!({"message": "x", "code": "NOPE"})),
            ("report_failure", json!({"message": "x", "status": 1})),
            ("check_answer", json!({"question": 3})),
            ("narrate", json!(null)),
        ] {
            let fault = ParsedMcpCall::parse(tool, &input).unwrap_err();
            assert_eq!(fault.code(), Code::LogicBadInput, "{tool} {input}");
        }
    }

    fn report(code: Option<Code>, message: &str) -> ReportFailure {
        ReportFailure { code, message: message.to_owned(), retry_after_seconds: None }
    }

    #[test]
    fn a_failure_has_the_code_that_was_said_or_that_its_words_have() {
        let said = report(Some(Code::AuthExpired), "log in again").to_fault().unwrap();
        assert_eq!((said.code(), said.origin), (Code::AuthExpired, Origin::Agent));
        let read = report(None, "getaddrinfo ENOTFOUND registry.example").to_fault().unwrap();
        assert_eq!(read.code(), Code::EnvDns);
        let waits = ReportFailure { retry_after_seconds: Some(9), ..report(None, "x") };
        assert_eq!(waits.to_fault().unwrap().retry_after, Some(Span::from_secs(9)));
        let ours = report(Some(Code::InternalStore), "x").to_fault().unwrap_err();
        assert_eq!(ours.code(), Code::LogicBadInput);
        let long = report(Some(Code::LogicError), &"ü".repeat(10_000)).to_fault().unwrap();
        assert!(long.message.len() <= MESSAGE_BYTES_MAX);
    }
}
