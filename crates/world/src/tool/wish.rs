//! What a model asks for, typed at the door.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use unstuck_core::attempt::ToolKind;
use unstuck_core::fault::{Fault, Input};

use super::declare::Irreversible;
use super::fail::bad_input;

/// What a model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Something is to be done in the worktree.
    Act(Act),
    /// Something is said to whoever lets it work.
    Speak(Speak),
}

/// Something to be done in the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A file is to be shown.
    Read(ReadFile),
    /// A folder is to be shown.
    List(ListFiles),
    /// Text is to be found.
    Search(SearchText),
    /// A file is to be written.
    Write(WriteFile),
    /// A part of a file is to be changed.
    Edit(EditFile),
    /// A command is to be run.
    Run(RunCommand),
}

/// Something that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speak {
    /// A word to whoever watches.
    Narrate(Narrate),
    /// A question to a person, without whose answer it cannot go on.
    AskHuman(AskHuman),
    /// An irreversible action for later.
    Mutate(Box<Declaration>),
    /// The task is done.
    Done(Done),
    /// The task cannot be done.
    Blocked(Blocked),
}

/// Inputs of tools: one struct each, with nothing in it that is not known.
macro_rules! inputs {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty,)* }
    )+};
}

inputs! {
    /// Shows a file.
    ReadFile {
        /// Which one.
        path: PathBuf,
        /// The first line wanted, counted from 1.
        #[serde(default)]
        offset: Option<usize>,
        /// How many lines.
        #[serde(default)]
        limit: Option<usize>,
    }

    /// Shows what is in a folder.
    ListFiles {
        /// Which one; the worktree itself without it.
        #[serde(default)]
        path: Option<PathBuf>,
        /// How many folders deep.
        #[serde(default)]
        depth: Option<usize>,
    }

    /// Finds text in files.
    SearchText {
        /// A regular expression.
        pattern: String,
        /// A file or folder to look in.
        #[serde(default)]
        path: Option<PathBuf>,
        /// Which files, as in a `.gitignore`: `*.rs`.
        #[serde(default)]
        files: Option<String>,
    }

    /// Writes a whole file.
    WriteFile {
        /// Which one.
        path: PathBuf,
        /// All of it.
        content: String,
    }

    /// Changes a part of a file.
    EditFile {
        /// Which one.
        path: PathBuf,
        /// What is there.
        old: String,
        /// What is to be there.
        new: String,
        /// Wherever it occurs; otherwise it has to occur once.
        #[serde(default)]
        all: bool,
    }

    /// Runs a line of shell.
    RunCommand {
        /// The line.
        command: String,
        /// How long it may take at most.
        #[serde(default)]
        timeout_seconds: Option<u64>,
    }

    /// A word to whoever watches.
    Narrate {
        /// It.
        text: String,
    }

    /// A question to a person.
    AskHuman {
        /// It.
        question: String,
        /// The choices that the model sees.
        #[serde(default)]
        options: Vec<String>,
    }

    /// An irreversible action, to be performed after the checks.
    Declaration {
        /// Names it; the same key is never performed twice.
        key: String,
        /// What is to be done.
        action: Irreversible,
        /// A command that finds out whether it happened: 0 it did, 1 it did not.
        #[serde(default)]
        probe: Option<String>,
        /// The key of another action; without that one this one is left out.
        #[serde(default)]
        after: Option<String>,
    }

    /// The end, from the model's own point of view.
    Done {
        /// What it did, in a sentence or two.
        summary: String,
    }

    /// The end of what it can do by itself.
    Blocked {
        /// Why, and what it would need.
        reason: String,
    }
}

impl Wish {
    /// Reads a call of a tool. A tool that is not there, and input that is not as its description
    /// says, is a fault that the model is to hear of.
    pub fn read(tool: &str, input: &Value) -> Result<Self, Box<Fault>> {
        Ok(match tool {
            "read_file" => Self::Act(Act::Read(typed(tool, input)?)),
            "list" => Self::Act(Act::List(typed(tool, input)?)),
            "search" => Self::Act(Act::Search(typed(tool, input)?)),
            "write_file" => Self::Act(Act::Write(typed(tool, input)?)),
            "edit_file" => Self::Act(Act::Edit(typed(tool, input)?)),
            "run_command" => Self::Act(Act::Run(typed(tool, input)?)),
            "narrate" => Self::Speak(Speak::Narrate(typed(tool, input)?)),
            "ask_human" => {
                let ask: AskHuman = typed(tool, input)?;
                require_words(tool, "question", &ask.question)?;
                Self::Speak(Speak::AskHuman(ask))
            }
            "mutate" => Self::Speak(Speak::Mutate(Box::new(typed(tool, input)?))),
            "task_done" => Self::Speak(Speak::Done(typed(tool, input)?)),
            "task_blocked" => {
                let blocked: Blocked = typed(tool, input)?;
                require_words(tool, "reason", &blocked.reason)?;
                Self::Speak(Speak::Blocked(blocked))
            }
            _ => return Err(bad_input("tool", "there is no such tool")),
        })
    }

    /// What a tool of this name is for.
    pub fn kind(tool: &str) -> ToolKind {
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
    /// The question and its choices, each passed through `clean`.
    pub fn input(&self, clean: impl Fn(&str) -> String) -> Input {
        let options = self.options.iter().filter(|option| !option.trim().is_empty());
        Input {
            asked: clean(&self.question),
            options: options.map(|option| clean(option)).collect(),
        }
    }
}

/// A person cannot answer a question without words.
fn require_words(tool: &str, field: &str, words: &str) -> Result<(), Box<Fault>> {
    if words.trim().is_empty() {
        return Err(bad_input(tool, &format!("`{field}` is empty, and a person has to read it")));
    }
    Ok(())
}

/// The input of a tool, as its type.
pub(crate) fn typed<T: DeserializeOwned>(tool: &str, input: &Value) -> Result<T, Box<Fault>> {
    T::deserialize(input).map_err(|error| bad_input(tool, &error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use unstuck_core::fault::Code;

    use super::super::spec::specs;
    use super::*;

    #[test]
    fn every_tool_that_is_described_can_be_called_and_no_other() {
        for spec in specs() {
            for input in examples(&spec.input) {
                Wish::read(spec.name, &input).unwrap();
            }
        }
        let fault = Wish::read("format_disk", &json!({})).unwrap_err();
        assert_eq!(fault.code(), Code::LogicBadInput);
    }

    /// Values with everything that a schema requires; one for each of its choices.
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

    // T3.9: whatever a model hands in, it is a typed value or a typed fault.
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
            let fault = Wish::read(tool, &input).unwrap_err();
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
            if let Err(fault) = Wish::read(tool, &Value::Object(input)) {
                prop_assert_eq!(fault.code(), Code::LogicBadInput);
            }
        }
    }
}
