//! Calls of a model's tools, parsed into types.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use unstuck_core::attempt::ToolKind;
use unstuck_core::fault::{Fault, Input};
use unstuck_core::plan::SecretHeader;

use super::output::bad_input_fault;

/// A parsed call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolCall {
    /// An action in the worktree.
    Act(WorktreeAction),
    /// A statement to the worker.
    Speak(ModelStatement),
}

/// An action in the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreeAction {
    /// Reads a file.
    Read(ReadFile),
    /// Lists a folder.
    List(ListFiles),
    /// Searches text.
    Search(SearchText),
    /// Writes a file.
    Write(WriteFile),
    /// Changes a part of a file.
    Edit(EditFile),
    /// Runs a command.
    Run(RunCommand),
}

/// A statement of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelStatement {
    /// A sentence for the people who watch.
    Narrate(Narrate),
    /// A question to the operator; the work cannot go on without the answer.
    AskHuman(AskHuman),
    /// The declaration of an irreversible action for later.
    Mutate(Box<Declaration>),
    /// The task is done.
    Done(Done),
    /// The task cannot be done.
    Blocked(Blocked),
}

/// Defines the inputs of tools: one struct each, which rejects unknown fields.
macro_rules! inputs {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty,)* }
    )+};
}

inputs! {
    /// A request to read a file.
    ReadFile {
        /// The path of the file.
        path: PathBuf,
        /// The first line to show, counted from 1.
        #[serde(default)]
        offset: Option<usize>,
        /// Maximum number of lines.
        #[serde(default)]
        limit: Option<usize>,
    }

    /// A request to list a folder.
    ListFiles {
        /// The path of the folder; the whole worktree by default.
        #[serde(default)]
        path: Option<PathBuf>,
        /// Maximum depth in folders.
        #[serde(default)]
        depth: Option<usize>,
    }

    /// A request to search text in files.
    SearchText {
        /// A regular expression.
        pattern: String,
        /// The file or folder to search.
        #[serde(default)]
        path: Option<PathBuf>,
        /// The files to search, as a `.gitignore` pattern: `*.rs`.
        #[serde(default)]
        files: Option<String>,
    }

    /// A request to write a whole file.
    WriteFile {
        /// The path of the file.
        path: PathBuf,
        /// The whole content.
        content: String,
    }

    /// A request to change a part of a file.
    EditFile {
        /// The path of the file.
        path: PathBuf,
        /// The text to replace.
        old: String,
        /// The replacement.
        new: String,
        /// `true` to replace every occurrence; otherwise there has to be exactly one.
        #[serde(default)]
        all: bool,
    }

    /// A request to run a shell line.
    RunCommand {
        /// The shell line.
        command: String,
        /// Maximum duration in seconds.
        #[serde(default)]
        timeout_seconds: Option<u64>,
    }

    /// A sentence for the people who watch.
    Narrate {
        /// The sentence.
        text: String,
    }

    /// A question to the operator.
    AskHuman {
        /// The question.
        question: String,
        /// The options that the model suggests.
        #[serde(default)]
        options: Vec<String>,
    }

    /// An irreversible action, to be performed after the checks.
    Declaration {
        /// The idempotency key; the same key is never performed twice.
        key: String,
        /// The action to perform.
        action: IrreversibleAction,
        /// A shell line that finds out whether the action happened: exit code 0 if it did, 1 if it
        /// did not.
        #[serde(default)]
        probe: Option<String>,
        /// The key of another action; this one is skipped unless that one was applied.
        #[serde(default)]
        after: Option<String>,
    }

    /// The model's statement that the task is done.
    Done {
        /// A summary of the work, in a sentence or two.
        summary: String,
    }

    /// The model's statement that it cannot go on by itself.
    Blocked {
        /// The reason, and the help that the model would need.
        reason: String,
    }
}

/// An irreversible action, as a model declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields)]
pub enum IrreversibleAction {
    /// A shell line.
    #[serde(rename = "command")]
    Command {
        /// The shell line.
        command: String,
        /// The variables of secrets that the command gets.
        #[serde(default)]
        secrets: Vec<String>,
        /// Timeout in seconds.
        #[serde(default)]
        timeout_seconds: Option<u64>,
    },
    /// An HTTP request.
    #[serde(rename = "http")]
    Http {
        /// The URL.
        url: String,
        /// The method; `POST` by default.
        #[serde(default)]
        method: Option<String>,
        /// The headers without secrets.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The headers that contain a secret.
        #[serde(default)]
        secrets: Vec<SecretHeader>,
        /// The body.
        #[serde(default)]
        body: Option<String>,
        /// The URL of the lookup that finds out whether the request got through.
        #[serde(default)]
        look_up_url: Option<String>,
        /// Timeout in seconds.
        #[serde(default)]
        timeout_seconds: Option<u64>,
    },
    /// A push of the build's branch to the project's remote.
    #[serde(rename = "git.push")]
    Push {},
    /// A pull request from the build's branch.
    #[serde(rename = "github.pr")]
    PullRequest {
        /// The title.
        title: String,
        /// The description.
        #[serde(default)]
        body: String,
        /// The target branch; the project's own by default.
        #[serde(default)]
        base: Option<String>,
        /// `true` for a draft.
        #[serde(default)]
        draft: bool,
    },
}

impl ToolCall {
    /// Parses a call of a tool. An unknown tool, or input that does not match the tool's schema, is
    /// a fault whose message goes to the model.
    pub fn parse(tool: &str, input: &Value) -> Result<Self, Box<Fault>> {
        Ok(match tool {
            "read_file" => Self::Act(WorktreeAction::Read(parse_input(tool, input)?)),
            "list" => Self::Act(WorktreeAction::List(parse_input(tool, input)?)),
            "search" => Self::Act(WorktreeAction::Search(parse_input(tool, input)?)),
            "write_file" => Self::Act(WorktreeAction::Write(parse_input(tool, input)?)),
            "edit_file" => Self::Act(WorktreeAction::Edit(parse_input(tool, input)?)),
            "run_command" => Self::Act(WorktreeAction::Run(parse_input(tool, input)?)),
            "narrate" => Self::Speak(ModelStatement::Narrate(parse_input(tool, input)?)),
            "ask_human" => {
                let ask: AskHuman = parse_input(tool, input)?;
                require_text(tool, "question", &ask.question)?;
                Self::Speak(ModelStatement::AskHuman(ask))
            }
            "mutate" => Self::Speak(ModelStatement::Mutate(Box::new(parse_input(tool, input)?))),
            "task_done" => Self::Speak(ModelStatement::Done(parse_input(tool, input)?)),
            "task_blocked" => {
                let blocked: Blocked = parse_input(tool, input)?;
                require_text(tool, "reason", &blocked.reason)?;
                Self::Speak(ModelStatement::Blocked(blocked))
            }
            _ => return Err(bad_input_fault("tool", "there is no such tool")),
        })
    }

    /// Returns the kind of the tool with this name.
    pub fn tool_kind(tool: &str) -> ToolKind {
        match tool {
            "read_file" => ToolKind::Read,
            "list" => ToolKind::List,
            "search" => ToolKind::Search,
            "write_file" => ToolKind::Write,
            "edit_file" => ToolKind::Edit,
            "run_command" => ToolKind::Command,
            "narrate" => ToolKind::Narrate,
            _ => ToolKind::Other,
        }
    }
}

impl AskHuman {
    /// Returns the question and its options, each passed through `clean`.
    pub fn to_input(&self, clean: impl Fn(&str) -> String) -> Input {
        let options = self.options.iter().filter(|option| !option.trim().is_empty());
        Input {
            asked: clean(&self.question),
            options: options.map(|option| clean(option)).collect(),
        }
    }
}

/// Rejects an empty text, which the operator could not answer.
fn require_text(tool: &str, field: &str, words: &str) -> Result<(), Box<Fault>> {
    if words.trim().is_empty() {
        return Err(bad_input_fault(
            tool,
            &format!("`{field}` is empty, and a person has to read it"),
        ));
    }
    Ok(())
}

pub(crate) fn parse_input<T: DeserializeOwned>(tool: &str, input: &Value) -> Result<T, Box<Fault>> {
    T::deserialize(input).map_err(|error| bad_input_fault(tool, &error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use unstuck_core::fault::Code;

    use super::super::spec::tool_specs;
    use super::*;

    #[test]
    fn every_tool_that_is_described_can_be_called_and_no_other() {
        for spec in tool_specs() {
            for input in examples(&spec.input) {
                ToolCall::parse(spec.name, &input).unwrap();
            }
        }
        let fault = ToolCall::parse("format_disk", &json!({})).unwrap_err();
        assert_eq!(fault.code(), Code::LogicBadInput);
    }

    /// Returns values with all required fields of a schema; one for each of its choices.
    fn examples(schema: &Value) -> Vec<Value> {
        if let Some(choices) = schema["anyOf"].as_array() {
            return choices.iter().flat_map(examples).collect();
        }
        if let Some(only) = schema["enum"].as_array() {
            return only.clone();
        }
        let Some(required) = schema["required"].as_array() else { return vec![json!("x")] };
        let mut all = vec![serde_json::Map::new()];
        for name in required.iter().map(|name| name.as_str().unwrap()) {
            let values = examples(&schema["properties"][name]);
            let with = |value: &Value| {
                let with = |one: &serde_json::Map<String, Value>| {
                    let mut one = one.clone();
                    one.insert(name.to_owned(), value.clone());
                    one
                };
                all.iter().map(with).collect::<Vec<_>>()
            };
            all = values.iter().flat_map(with).collect();
        }
        all.into_iter().map(Value::Object).collect()
    }

    // T3.9: any input of a model becomes a typed value or a typed fault.
    #[test]
    fn bad_arguments_are_a_fault_that_says_which() {
        for (tool, input, said) in [
            ("read_file", json!({}), "missing field `path`"),
            ("read_file", json!({"path": "a", "lines": 3}), "unknown field `lines`"),
            ("read_file", json!({"path": 3}), "invalid type"),
            ("edit_file", json!("x"), "invalid type"),
            ("run_command", json!({"command": "a", "timeout_seconds": -1}), "invalid value"),
            ("ask_human", json!({"question": ""}), "`question` is empty"),
            ("ask_human", json!({"question": " \n", "options": ["a"]}), "`question` is empty"),
            ("task_blocked", json!({"reason": "\t"}), "`reason` is empty"),
        ] {
            let fault = ToolCall::parse(tool, &input).unwrap_err();
            assert_eq!(fault.code(), Code::LogicBadInput, "{tool} {input}");
            assert!(fault.message.contains(said), "{}", fault.message);
        }
    }

    proptest! {
        #[test]
        fn any_input_is_a_wish_or_a_fault(
            tool in prop::sample::select(vec!["read_file", "list", "search", "write_file", "edit_file",
                "run_command", "narrate", "ask_human", "mutate", "task_done", "task_blocked", "x"]),
            keys in prop::collection::vec(("[a-z]{1,6}|path|content|command", "\\PC{0,9}"), 0..4),
        ) {
            let input: serde_json::Map<String, Value> =
                keys.into_iter().map(|(key, value)| (key, json!(value))).collect();
            if let Err(fault) = ToolCall::parse(tool, &Value::Object(input)) {
                prop_assert_eq!(fault.code(), Code::LogicBadInput);
            }
        }
    }
}
