//! Recognizes checks that fail before any work because of the sandbox: it refuses a read or a
//! write, or the worktree lacks a file that git ignores. No agent can fix that, so the operator is
//! asked for a line in the settings before any money is spent.

use std::path::Path;

use unstuck_core::fault::{Fault, KEPT_BASE, Kind, Missing};
use unstuck_core::text::{VALUE_CHARS_MAX, quote_words};

use super::baseline::BaselineMode;
use super::check::CheckFailure;
use crate::workspace::Workspace;

/// The consequence, as the operator reads it.
const NOT_BEGUN: &str = "the work has not begun";

/// The conditions of a task for checks at the base.
#[derive(Clone, Copy, Debug)]
pub struct BaselineRequirement<'a> {
    /// The text of the task: an agent has to provide the files that it names.
    pub words: &'a str,
    /// The consequence of a red check.
    pub mode: BaselineMode,
}

impl BaselineRequirement<'_> {
    fn mentions_path(self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        self.words.match_indices(&*name).any(|(at, _)| {
            !self.words[..at].ends_with(is_part)
                && !self.words[at + name.len()..].starts_with(is_part)
        })
    }
}

/// Returns the fault that asks the operator about a check which is red at the base because of the
/// sandbox; `None` if it is red for another reason.
pub(super) async fn find_fence_fault(
    (command, red): (&str, &CheckFailure),
    wanted: BaselineRequirement<'_>,
    workspace: &Workspace,
) -> Result<Option<Fault>, Fault> {
    // Where failures are compared, existing ones may stay.
    if wanted.mode == BaselineMode::Compare && !red.failures.tests.is_empty() {
        return Ok(None);
    }
    let who = quote_words(command, VALUE_CHARS_MAX).unwrap_or_default();
    let denied = red.denied.as_ref().filter(|denied| !denied.warned);
    if let Some(denied) = denied.filter(|denied| !wanted.mentions_path(&denied.path)) {
        let who = format!("the check {who}");
        return Ok(Some(denied.to_fault(KEPT_BASE, (&who, NOT_BEGUN), &red.output)));
    }
    let Some(path) = workspace.find_unshared(&red.output).await? else { return Ok(None) };
    if wanted.mentions_path(&path) {
        return Ok(None);
    }
    let path = path.display().to_string();
    let what = format!("`share = [\"{path}\"]` below [run] in unstuck.toml (run.share)");
    let file = quote_words(&path, VALUE_CHARS_MAX).unwrap_or_default();
    let cause = format!(
        "The check {who} needs {file}, which only your own tree has because git ignores it, so \
         {NOT_BEGUN}."
    );
    let output = format!(
        "{}\n[{path} is in your own tree and ignored by git, so worktrees do not have it; {what} copies \
         a file and links a folder]",
        red.output.trim_end()
    );
    Ok(Some(Fault::precondition_missing(KEPT_BASE, output, Missing { what }).with_cause(cause)))
}

/// Returns the message about a check or a hook that the sandbox kept from a file, with the setting
/// that allows it.
pub fn render_fence_denial(fault: &Fault) -> Option<String> {
    let Kind::PreconditionMissing(missing) = &fault.kind else { return None };
    let cause = fault.cause.as_deref().filter(|_| fault.needs_settings_line())?;
    Some(format!("{cause} To allow it: {}.", missing.what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_task_names_is_its_work() {
        let cases = [
            ("write local.json", "local.json", true),
            ("see to `config/local.json`.", "config/local.json", true),
            ("write mylocal.json", "local.json", false),
            ("add a function", "local.json", false),
        ];
        for (words, path, expected) in cases {
            let wanted = BaselineRequirement { words, mode: BaselineMode::Green };
            assert_eq!(wanted.mentions_path(Path::new(path)), expected, "{words}");
        }
    }
}
