//! What an agent is told about its task beside the goal: its fence, the checks, and the person's own
//! words.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use unstuck_core::plan::TaskSpec;
use unstuck_runner::build::Worker;

use crate::settings::Settings;

/// What the people of a project tell agents. Agent programs read these by themselves.
const HOUSE_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// The most that a model is told of such a file.
const HOUSE_BYTES_MAX: usize = 32 * 1024;

/// Everything about the task that is not its goal.
pub(super) fn brief(
    settings: &Settings,
    spec: &TaskSpec,
    allowed: &[String],
    root: &Path,
    worker: &Worker,
) -> String {
    let mut parts = Vec::new();
    if !spec.brief.trim().is_empty() && spec.brief.trim() != spec.goal.trim() {
        parts.push(spec.brief.trim().to_owned());
    }
    let forbidden: Vec<String> =
        settings.scope.forbidden.iter().chain(&spec.scope.forbidden).cloned().collect();
    parts.extend(list("You may change only these paths", allowed));
    parts.extend(list("You must not change these paths", &forbidden));
    let checks = spec.validate.as_ref().unwrap_or(&settings.validate.pre_commit);
    parts.extend(list("These checks are run by us when you are done", checks));
    if let Worker::Model(_) = worker {
        parts.extend(HOUSE_FILES.iter().find_map(|name| house_file(root, name)));
    }
    parts.join("\n\n")
}

fn list(title: &str, items: &[String]) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let mut text = format!("{title}:");
    for item in items {
        // Writing into a text cannot fail.
        let _ = write!(text, "\n- `{item}`");
    }
    Some(text)
}

fn house_file(root: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(root.join(name)).ok()?;
    let mut end = text.len().min(HOUSE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Some(format!("What {name} of this project says:\n\n{}", text[..end].trim_end()))
}
