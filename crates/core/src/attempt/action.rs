//! An action of an agent and its observation, as the adapter reports them.
//!
//! Both are compared by the hash of their folded text: the input by what it asks for, the observation by what
//! it shows. Texts are redacted before they reach this module; a label may be shown to a person.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hasher::{Digest, PieceHasher};
use super::mask::{self, ToolTextKind, one_line};
use super::shell;

/// Maximum length of an action's label, in characters.
pub const ACTION_CHARS_MAX: usize = 120;
/// Maximum length of an input parsed as JSON; only a file's whole content is longer, and it is compared as
/// plain text.
const INPUT_JSON_BYTES_MAX: usize = 1024 * 1024;
/// Names of the command field in the tools of different agents.
const COMMAND_KEYS: &[&str] = &["command", "cmd"];

/// The purpose of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads a file or a page.
    Read,
    /// Searches in files or the web.
    Search,
    /// Lists files or other items.
    List,
    /// Writes a whole file.
    Write,
    /// Changes a part of a file.
    Edit,
    /// Runs a command.
    Command,
    /// Writes a message to people and has no effect.
    Narrate,
    /// Any other tool; it may have any effect.
    Other,
}

/// The result of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionOutcome {
    /// The action succeeded.
    Succeeded,
    /// The tool reported an error, or the command exited with a code other than 0.
    Failed,
    /// The action only waited for a process that is still running: a state, not a symptom.
    Waiting,
}

/// The result and output of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Observation {
    /// The result.
    pub outcome: ActionOutcome,
    /// The digest of the output, equal for equal observations.
    pub output: Digest,
}

impl Observation {
    /// Creates an observation from the shown output. Time stamps, durations, process ids and random names do
    /// not distinguish observations; any other number does, because a counter that advances is progress.
    pub fn from_output(outcome: ActionOutcome, output: &str, worktree: &str) -> Self {
        let mut hasher = PieceHasher::for_purpose("output");
        mask::mask_volatile_parts(
            output.as_bytes(),
            ToolTextKind::Output,
            worktree,
            &mut |piece| hasher.push_piece(piece),
        );
        Self { outcome, output: hasher.take_digest() }
    }
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentAction {
    /// The purpose of the tool.
    pub tool: ToolKind,
    /// The input: JSON, or a command verbatim.
    pub input: String,
    /// The observation.
    pub observation: Observation,
}

impl AgentAction {
    /// Returns a digest that is equal for the same tool with the same input. JSON keys have no order; a
    /// command is the same with and without a shell around it and a `cd` to its start folder; its description
    /// is prose and does not count.
    pub fn digest(&self, worktree: &str) -> Digest {
        let mut hasher = PieceHasher::for_purpose("action");
        hasher.push_text(tool_name(self.tool).as_bytes());
        let value = self.parse_input();
        let Some(command) = self.command_line() else {
            match value {
                Some(value) => hash_value(&value, worktree, &mut hasher),
                None => hash_text(&self.input, worktree, &mut hasher),
            }
            return hasher.take_digest();
        };
        hash_text(shell::strip_shell_and_cd(&command, worktree), worktree, &mut hasher);
        if let Some(Value::Object(mut fields)) = value {
            fields.retain(|key, _| !COMMAND_KEYS.contains(&key.as_str()) && key != "description");
            if !fields.is_empty() {
                hash_value(&Value::Object(fields), worktree, &mut hasher);
            }
        }
        hasher.take_digest()
    }

    /// Returns whether the action cannot have changed anything: the tool only reads, or the command consists
    /// of programs that do.
    pub fn is_read_only(&self) -> bool {
        match self.tool {
            ToolKind::Read | ToolKind::Search | ToolKind::List | ToolKind::Narrate => true,
            ToolKind::Write | ToolKind::Edit | ToolKind::Other => false,
            ToolKind::Command => {
                self.command_line().is_some_and(|command| shell::is_read_only(&command))
            }
        }
    }

    /// Returns the command line, if the tool runs one.
    pub fn command_line(&self) -> Option<String> {
        if self.tool != ToolKind::Command {
            return None;
        }
        match self.parse_input() {
            Some(Value::Object(fields)) => command_field(&fields),
            Some(Value::String(text)) => Some(text),
            _ => Some(self.input.clone()),
        }
    }

    /// Returns the file named in the input, if any; inside the worktree as a relative path.
    pub fn file_path(&self, worktree: &str) -> Option<String> {
        let Some(Value::Object(fields)) = self.parse_input() else { return None };
        let path = ["file_path", "path", "notebook_path", "filename", "file"]
            .iter()
            .find_map(|key| fields.get(*key)?.as_str())?;
        let within = path.strip_prefix(worktree.trim_end_matches('/'));
        let within = within.filter(|rest| !worktree.is_empty() && rest.starts_with('/'));
        let within = within.map_or(path, |rest| rest.trim_start_matches('/'));
        Some(within.trim_start_matches("./").to_owned())
    }

    /// Returns the action as a short line: a command, a path, or the input.
    pub fn label(&self, worktree: &str) -> String {
        self.label_as(tool_name(self.tool), worktree)
    }

    /// Returns the label with the tool's own name if its kind says nothing: `task_done Added the page.`
    pub fn label_with_name(&self, name: &str, worktree: &str) -> String {
        match self.tool {
            ToolKind::Other | ToolKind::Narrate => self.label_as(name, worktree),
            _ => self.label(worktree),
        }
    }

    fn label_as(&self, name: &str, worktree: &str) -> String {
        let said = self
            .command_line()
            .map(|command| shell::strip_shell_and_cd(&command, worktree).to_owned());
        let said = said.or_else(|| self.file_path(worktree)).or_else(|| self.single_text_field());
        let said = said.unwrap_or_else(|| self.input.clone());
        match self.tool {
            ToolKind::Command => one_line(&said, ACTION_CHARS_MAX),
            _ => one_line(&format!("{name} {said}"), ACTION_CHARS_MAX),
        }
    }

    /// Returns the text of an input with a single field.
    fn single_text_field(&self) -> Option<String> {
        let Some(Value::Object(fields)) = self.parse_input() else { return None };
        match fields.values().collect::<Vec<_>>().as_slice() {
            [Value::String(text)] => Some(text.clone()),
            _ => None,
        }
    }

    fn parse_input(&self) -> Option<Value> {
        let starts = self.input.trim_start().starts_with(['{', '[', '"']);
        (starts && self.input.len() <= INPUT_JSON_BYTES_MAX)
            .then(|| serde_json::from_str(&self.input).ok())?
    }
}

/// Returns the command in a tool's input: a text, or a list of words.
fn command_field(fields: &serde_json::Map<String, Value>) -> Option<String> {
    match COMMAND_KEYS.iter().find_map(|key| fields.get(*key))? {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            Some(words?.join(" "))
        }
        _ => None,
    }
}

const fn tool_name(tool: ToolKind) -> &'static str {
    match tool {
        ToolKind::Read => "read",
        ToolKind::Search => "search",
        ToolKind::List => "list",
        ToolKind::Write => "write",
        ToolKind::Edit => "edit",
        ToolKind::Command => "command",
        ToolKind::Narrate => "narrate",
        ToolKind::Other => "use",
    }
}

/// Hashes a JSON value independently of the order of keys and of white space. The parser bounds the depth.
fn hash_value(value: &Value, worktree: &str, hasher: &mut PieceHasher) {
    match value {
        Value::Null => hasher.push_piece(b"n"),
        Value::Bool(yes) => hasher.push_piece(if *yes { b"t" } else { b"f" }),
        Value::Number(number) => hasher.push_text(number.to_string().as_bytes()),
        Value::String(text) => hash_text(text, worktree, hasher),
        Value::Array(values) => {
            hasher.push_piece(b"[");
            for value in values {
                hash_value(value, worktree, hasher);
            }
            hasher.push_piece(b"]");
        }
        Value::Object(fields) => {
            hasher.push_piece(b"{");
            // The parser's map type decides the order of keys, so sort them.
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in sorted {
                hasher.push_text(key.as_bytes());
                hash_value(value, worktree, hasher);
            }
            hasher.push_piece(b"}");
        }
    }
}

/// Hashes a text, terminated by a byte that no folded text contains.
fn hash_text(text: &str, worktree: &str, hasher: &mut PieceHasher) {
    mask::mask_volatile_parts(text.as_bytes(), ToolTextKind::Input, worktree, &mut |piece| {
        hasher.push_piece(piece);
    });
    hasher.push_piece(b"\0");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TREE: &str = "/work/tree";

    fn action(tool: ToolKind, input: &str) -> AgentAction {
        let observation = Observation::from_output(ActionOutcome::Succeeded, "", TREE);
        AgentAction { tool, input: input.to_owned(), observation }
    }

    fn digest(tool: ToolKind, input: &str) -> Digest {
        action(tool, input).digest(TREE)
    }

    #[test]
    fn the_same_request_in_other_dress_is_the_same_action() {
        use ToolKind::{Command, Edit, Other};
        let cases = [
            (Command, "cargo  test\n", " cargo test"),
            (Command, r#"{"command":"ls"}"#, r#"{ "command" : "ls", "description": "Look" }"#),
            (Command, "cat /work/tree/a", "cat a"),
            (Command, "cd /work/tree && make", r#"{"command":"make"}"#),
            (Command, "/bin/bash -lc 'cd /work/tree; make'", "make"),
            (Command, "sh /tmp/tmp.a81kQz/x", "sh /tmp/tmp.kk9Xw1/x"),
            (Other, r#"{"a":1,"b":[true,null]}"#, r#"{"b":[true,null],"a":1}"#),
            (
                Edit,
                r#"{"file_path":"/work/tree/a","new":"x  y"}"#,
                r#"{"file_path":"a","new":"x y"}"#,
            ),
        ];
        for (tool, one, other) in cases {
            assert_eq!(digest(tool, one), digest(tool, other), "{one} {other}");
        }
    }

    #[test]
    fn another_request_is_another_action() {
        use ToolKind::{Command, Other, Read};
        let cases = [
            ((Command, "cargo test"), (Command, "cargo test --all")),
            ((Command, "sleep 5s"), (Command, "sleep 6s")),
            ((Command, "cd /work/tree/a && make"), (Command, "make")),
            ((Command, r#"{"command":"make"}"#), (Command, r#"{"command":"make","timeout":9}"#)),
            ((Read, r#"{"path":"a","offset":1}"#), (Read, r#"{"path":"a","offset":2}"#)),
            ((Read, "a"), (Other, "a")),
            ((Other, r#"{"description":"a"}"#), (Other, r#"{"description":"b"}"#)),
            ((Other, r#"["a","b"]"#), (Other, r#"["a b"]"#)),
        ];
        for ((tool, one), (other_tool, other)) in cases {
            assert_ne!(digest(tool, one), digest(other_tool, other), "{one} {other}");
        }
    }

    #[test]
    fn a_time_stamp_is_no_news_and_a_counter_is() {
        let shown = |text| Observation::from_output(ActionOutcome::Failed, text, TREE);
        assert_eq!(shown("12:00:01 1 failed in 0.2s"), shown("12:00:09 1 failed in 0.3s"));
        assert_ne!(shown("12:00:01 2 failed in 0.2s"), shown("12:00:01 1 failed in 0.2s"));
        assert_ne!(shown("x"), Observation::from_output(ActionOutcome::Succeeded, "x", TREE));
    }

    #[test]
    fn labels_say_what_it_was() {
        use ToolKind::{Command, Edit, Other};
        let cases = [
            (Command, r#"{"command":"cargo test","description":"Test"}"#, "cargo test"),
            (Command, "/bin/bash -lc 'cargo test'", "cargo test"),
            (Command, r#"{"command":["bash","-lc","ls"]}"#, "ls"),
            (Edit, r#"{"file_path":"/work/tree/src/a.rs","old":"x"}"#, "edit src/a.rs"),
            (Other, "a\nb", "use a b"),
        ];
        for (tool, input, expected) in cases {
            assert_eq!(action(tool, input).label(TREE), expected);
        }
        let done = action(Other, r#"{"summary":"Added the page."}"#);
        assert_eq!(done.label_with_name("task_done", TREE), "task_done Added the page.");
        let edit = action(Edit, r#"{"file_path":"a.rs","old":"x"}"#);
        assert_eq!(edit.label_with_name("edit_file", TREE), "edit a.rs");
        assert_eq!(action(Other, &"x".repeat(999)).label(TREE).chars().count(), ACTION_CHARS_MAX);
    }

    proptest! {
        #[test]
        fn any_input_has_a_digest_and_a_short_label(input in any::<String>()) {
            for tool in [ToolKind::Command, ToolKind::Edit] {
                let action = action(tool, &input);
                prop_assert_eq!(action.digest(TREE), action.clone().digest(TREE));
                prop_assert!(action.label(TREE).chars().count() <= ACTION_CHARS_MAX);
                let _ = action.is_read_only();
            }
        }
    }
}
