//! Composes the part of an agent's prompt beside the goal: its scope, the checks and the operator's own
//! instructions.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use unstuck_core::plan::TaskSpec;
use unstuck_runner::build::TaskWorker;

use crate::settings::Settings;

/// Instructions of a project for agents. Agent programs read these files themselves, so only models are
/// given them.
const HOUSE_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Maximum number of bytes of such a file in the prompt.
const HOUSE_BYTES_MAX: usize = 32 * 1024;

/// Returns the part of the prompt beside the goal.
pub(super) fn compose_brief(
    settings: &Settings,
    spec: &TaskSpec,
    allowed: &[String],
    root: &Path,
    worker: &TaskWorker,
) -> String {
    let mut parts = Vec::new();
    if !spec.brief.trim().is_empty() && spec.brief.trim() != spec.goal.trim() {
        parts.push(spec.brief.trim().to_owned());
    }
    let forbidden: Vec<String> =
        settings.scope.forbidden.iter().chain(&spec.scope.forbidden).cloned().collect();
    parts.extend(render_list("You may change only these paths", allowed));
    parts.extend(render_list("You must not change these paths", &forbidden));
    let checks = spec.validate.as_ref().unwrap_or(&settings.validate.pre_commit);
    parts.extend(render_list("These checks are run by us when you are done", checks));
    if let TaskWorker::Model(_) = worker {
        parts.extend(HOUSE_FILES.iter().find_map(|name| read_house_file(root, name)));
    }
    parts.join("\n\n")
}

fn render_list(title: &str, items: &[String]) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let mut text = format!("{title}:");
    for item in items {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- `{item}`");
    }
    Some(text)
}

fn read_house_file(root: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(root.join(name)).ok()?;
    let mut end = text.len().min(HOUSE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Some(format!("What {name} of this project says:\n\n{}", text[..end].trim_end()))
}
