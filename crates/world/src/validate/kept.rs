//! Checks that fail before any work has begun because of our own fence: it does not let them write or
//! read something, or the worktree lacks a file that git ignores. No agent can help that, so a person is
//! asked for a line in the settings before anything is spent.

use std::path::Path;

use unstuck_core::fault::{Fault, KEPT_BASE, Kind, Missing};
use unstuck_core::text::{VALUE_CHARS_MAX, quoted};

use super::baseline::BaselineMode;
use super::check::Red;
use crate::workspace::Workspace;

/// What comes of it.
const NOT_BEGUN: &str = "the work has not begun";

/// What a task is held to at the base.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// What the task says in words: what they name is for an agent to see to.
    pub words: &'a str,
    /// What a red check means for the work.
    pub mode: BaselineMode,
}

impl Wanted<'_> {
    fn names(self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        self.words.match_indices(&*name).any(|(at, _)| {
            !self.words[..at].ends_with(is_part)
                && !self.words[at + name.len()..].starts_with(is_part)
        })
    }
}

/// The question about a check that is red at the base because of our own fence; none where it is red
/// for a reason of its own.
pub(super) async fn kept_at_base(
    (command, red): (&str, &Red),
    wanted: Wanted<'_>,
    workspace: &Workspace,
) -> Result<Option<Fault>, Fault> {
    // Where failures are compared, those that are there may stay.
    if wanted.mode == BaselineMode::Compare && !red.failures.tests.is_empty() {
        return Ok(None);
    }
    let who = quoted(command, VALUE_CHARS_MAX).unwrap_or_default();
    let denied = red.denied.as_ref().filter(|denied| !denied.warned);
    if let Some(denied) = denied.filter(|denied| !wanted.names(&denied.path)) {
        let who = format!("the check {who}");
        return Ok(Some(denied.fault(KEPT_BASE, (&who, NOT_BEGUN), &red.output)));
    }
    let Some(path) = workspace.find_unshared(&red.output).await? else { return Ok(None) };
    if wanted.names(&path) {
        return Ok(None);
    }
    let path = path.display().to_string();
    let what = format!("`share = [\"{path}\"]` below [run] in unstuck.toml (run.share)");
    let file = quoted(&path, VALUE_CHARS_MAX).unwrap_or_default();
    let cause = format!(
        "The check {who} needs {file}, which only your own tree has because git ignores it, so \
         {NOT_BEGUN}."
    );
    let output = format!(
        "{}\n[{path} is in your own tree and ignored by git, so worktrees do not have it; {what} copies \
         a file and links a folder]",
        red.output.trim_end()
    );
    Ok(Some(Fault::precondition_missing(KEPT_BASE, output, Missing { what }).caused_by(cause)))
}

/// What people read at once about a check or a hook that our own fence kept from something, with the line
/// that allows it.
pub fn kept_by_fence(fault: &Fault) -> Option<String> {
    let Kind::PreconditionMissing(missing) = &fault.kind else { return None };
    let cause = fault.cause.as_deref().filter(|_| fault.is_kept())?;
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
            let wanted = Wanted { words, mode: BaselineMode::Green };
            assert_eq!(wanted.names(Path::new(path)), expected, "{words}");
        }
    }
}
