//! The definitions of the tools that are sent to a model.

use serde_json::{Value, json};

use crate::model::ToolSpec;

/// Returns all tools, in the order in which they are sent.
pub fn tool_specs() -> Vec<ToolSpec> {
    let mut all = action_tools();
    all.extend(statement_tools());
    all
}

fn action_tools() -> Vec<ToolSpec> {
    vec![
        build_tool_spec(
            "read_file",
            "Shows a file of the worktree. Long files are cut in the middle: use offset and limit.",
            &json!({
                "path": text_schema("The file, relative to the worktree."),
                "offset": number_schema("The first line wanted, counted from 1."),
                "limit": number_schema("How many lines."),
            }),
            &["path"],
        ),
        build_tool_spec(
            "list",
            "Shows the files and folders of the worktree that git does not ignore.",
            &json!({
                "path": text_schema("The folder; the whole worktree without it."),
                "depth": number_schema("How many folders deep; 2 without it."),
            }),
            &[],
        ),
        build_tool_spec(
            "search",
            "Finds lines that match a regular expression, in files that git does not ignore.",
            &json!({
                "pattern": text_schema("The regular expression; no look-around, no back-references."),
                "path": text_schema("A file or folder to look in."),
                "files": text_schema("Which files, as in a .gitignore: *.rs, src/**."),
            }),
            &["pattern"],
        ),
        build_tool_spec(
            "write_file",
            "Writes a whole file, new or in place of the old one. To change a part, use edit_file.",
            &json!({
                "path": text_schema("The file, relative to the worktree."),
                "content": text_schema("All of its content."),
            }),
            &["path", "content"],
        ),
        build_tool_spec(
            "edit_file",
            "Replaces text in a file. The old text has to be there exactly, and once unless all is set.",
            &json!({
                "path": text_schema("The file, relative to the worktree."),
                "old": text_schema("The text that is there, exactly, with its white space."),
                "new": text_schema("The text that is to be there."),
                "all": { "type": "boolean", "description": "Replace it wherever it occurs." },
            }),
            &["path", "old", "new"],
        ),
        build_tool_spec(
            "run_command",
            "Runs a line of shell (sh) in the worktree and shows what it writes. Nothing it starts \
             lives on after it. It cannot ask anything.",
            &json!({
                "command": text_schema("The line."),
                "timeout_seconds": number_schema("How long it may take at most."),
            }),
            &["command"],
        ),
    ]
}

/// Returns the tools that only say something and touch no file.
pub fn statement_tools() -> Vec<ToolSpec> {
    vec![
        build_tool_spec(
            "narrate",
            "Tells the people who watch, in one plain sentence, what you are about to do or found.",
            &json!({ "text": text_schema("The sentence.") }),
            &["text"],
        ),
        build_tool_spec(
            "ask_human",
            "Asks a person what only a person can decide. Your work rests until they answer.",
            &json!({
                "question": text_schema("The question, in plain words."),
                "options": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "The choices you see, each in a few plain words.",
                },
            }),
            &["question"],
        ),
        build_tool_spec(
            "mutate",
            "Declares an action that reaches outside and cannot be taken back (push, publish, send). \
             It is not run now: it runs once, after the checks of your work have passed and it is \
             merged. The answer says whether it is declared, or was done before and with what result.",
            &json!({
                "key": text_schema("Names this very action for good, such as charge-order-7 or release-1.4.2: the same \
                             key is never performed twice in this project, by this task or a later one."),
                "action": { "description": "What is to be done.", "anyOf": action_schemas() },
                "probe": text_schema("A line of shell that finds out whether it happened: status 0 it did, \
                               1 it did not. Without it a person is asked when the answer is lost."),
                "after": text_schema("The key of another action; this one is left out without that one."),
            }),
            &["key", "action"],
        ),
        build_tool_spec(
            "task_done",
            "Says that the task is done. Your work is then checked.",
            &json!({ "summary": text_schema("What you did, in a sentence or two.") }),
            &["summary"],
        ),
        build_tool_spec(
            "task_blocked",
            "Says that the task cannot be done as things are. A person is asked.",
            &json!({ "reason": text_schema("Why, and what you would need.") }),
            &["reason"],
        ),
    ]
}

/// Returns one schema for each kind of action that can be declared.
fn action_schemas() -> Vec<Value> {
    let secrets = |items: &Value| json!({ "type": "array", "items": items });
    let header = object_schema(
        &json!({
            "name": text_schema("The header."),
            "before": text_schema("What stands before the secret, such as `Bearer ` with its space."),
            "variable": text_schema("The variable that holds the secret."),
        }),
        &["name", "variable"],
    );
    let timeout = number_schema("How long it may take at most.");
    vec![
        action_schema(
            "command",
            &json!({
                "command": text_schema("The line of shell."),
                "secrets": secrets(&text_schema("A variable that the line gets, if it may be named.")),
                "timeout_seconds": timeout,
            }),
            &["command"],
        ),
        action_schema(
            "http",
            &json!({
                "url": text_schema("Where the request goes."),
                "method": text_schema("POST without it."),
                "headers": { "type": "object", "additionalProperties": { "type": "string" } },
                "secrets": secrets(&header),
                "body": text_schema("What it says."),
                "look_up_url": text_schema("Something is there if it happened, and nothing (404) if not."),
                "timeout_seconds": timeout,
            }),
            &["url"],
        ),
        action_schema("git.push", &json!({}), &[]),
        action_schema(
            "github.pr",
            &json!({
                "title": text_schema("Its title."),
                "body": text_schema("What it says."),
                "base": text_schema("The branch it goes to; the project's own without it."),
                "draft": { "type": "boolean" },
            }),
            &["title"],
        ),
    ]
}

fn action_schema(kind: &str, properties: &Value, required: &[&str]) -> Value {
    let mut properties = properties.clone();
    properties["kind"] = json!({ "type": "string", "enum": [kind] });
    object_schema(&properties, &[&["kind"], required].concat())
}

/// Builds a tool whose input is an object.
pub(crate) fn build_tool_spec(
    name: &'static str,
    description: &'static str,
    properties: &Value,
    required: &[&str],
) -> ToolSpec {
    ToolSpec { name, description, input: object_schema(properties, required) }
}

fn object_schema(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

pub(crate) fn text_schema(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// Returns the schema of a positive integer.
pub(crate) fn number_schema(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 1, "description": description })
}
