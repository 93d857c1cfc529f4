//! The wire format of Chat Completions.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::wire::{Function, Used, failed};
use crate::model::{Message, Part, Request, Role, ToolSpec};

/// The body of a request.
#[derive(Serialize)]
pub(in super::super) struct Ask<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    /// The limit of output tokens, under the vendor's own name; other services use `max_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Said<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Cow<'a, str>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: String,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

impl<'a> Ask<'a> {
    pub(in super::super) fn new(
        model: &'a str,
        request: Request<'a>,
        effort: Option<&'a str>,
        vendors_own: bool,
    ) -> Self {
        let longest = request.output_tokens_max;
        let system = Some(request.system).filter(|text| !text.is_empty());
        let mut messages: Vec<Said<'a>> =
            system.map(|content| Said::System { content }).into_iter().collect();
        for message in request.messages {
            say(message, &mut messages);
        }
        Self {
            model,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            max_completion_tokens: vendors_own.then_some(longest),
            max_tokens: (!vendors_own).then_some(longest),
            reasoning_effort: effort,
            messages,
            tools: request.tools.iter().map(tool).collect(),
        }
    }
}

fn say<'a>(message: &'a Message, into: &mut Vec<Said<'a>>) {
    // Results come first: each has to follow its call directly.
    for part in &message.parts {
        if let Part::Result { id, output, failed: bad } = part {
            into.push(Said::Tool { tool_call_id: id, content: failed(output, *bad) });
        }
    }
    let text = text(message);
    match message.role {
        Role::User => into.extend(text.map(|content| Said::User { content })),
        Role::Assistant => {
            let tool_calls: Vec<Call<'a>> = message.parts.iter().filter_map(call).collect();
            if text.is_some() || !tool_calls.is_empty() {
                into.push(Said::Assistant { content: text, tool_calls });
            }
        }
    }
}

fn text(message: &Message) -> Option<Cow<'_, str>> {
    let mut texts = message.parts.iter().filter_map(|part| match part {
        Part::Text { text } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    let first = Cow::Borrowed(texts.next()?);
    Some(texts.fold(first, |all, more| Cow::Owned(format!("{all}\n{more}"))))
}

fn call(part: &Part) -> Option<Call<'_>> {
    let Part::Call { id, name, input } = part else { return None };
    let function = Called { name, arguments: input.to_string() };
    Some(Call { id, r#type: "function", function })
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool { r#type: "function", function: Function::new(spec) }
}

/// A chunk of the response.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) choices: Vec<Choice<'a>>,
    pub(super) usage: Option<Used>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: u32,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Words<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Words<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
}

/// Text that borrows from the input where possible.
#[derive(Deserialize)]
pub(super) struct Words<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    pub(super) index: Option<usize>,
    pub(super) id: Option<String>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta<'a> {
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) arguments: Option<Words<'a>>,
}
