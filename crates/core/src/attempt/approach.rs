//! An approach: the summary of an attempt, and the digest that recognizes it again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::action::{AgentAction, ToolKind};
use super::diff::DiffChange;
use super::digest::approach_digest;
use super::hasher::Digest;
use super::text::one_line;

/// Maximum length of an approach's summary, in characters.
pub const SUMMARY_CHARS_MAX: usize = 300;
/// Maximum number of files and of commands named in a summary that Unstuck makes itself.
const NAMED_MAX: usize = 3;
/// Maximum length of a command in such a summary, in characters.
const COMMAND_CHARS_MAX: usize = 60;

/// The work of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Approach {
    /// The digest of the approach; `None` if it changed nothing and did nothing.
    pub digest: Option<Digest>,
    /// A one-line summary: the agent's own words, redacted, or the observed changes and commands.
    pub summary: String,
    /// Some of the changed files, for the next attempt to read.
    pub files: Vec<String>,
    /// Number of changed files.
    pub files_changed: u32,
    /// Number of commands run.
    pub commands: u32,
    /// Number of added lines.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_added: u32,
    /// Number of removed lines.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_removed: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Approach {
    /// Creates the approach of an attempt that made `change` with `actions` in the folder `worktree`.
    ///
    /// `summary` is the agent's own account, redacted. Without one the summary lists the observed files and
    /// commands. It is for reading only; the digest does not depend on it, so an old approach in new words
    /// stays the old approach.
    pub fn from_attempt(
        change: &DiffChange,
        actions: &[AgentAction],
        summary: Option<&str>,
        worktree: &str,
    ) -> Self {
        let said = one_line(summary.unwrap_or_default(), SUMMARY_CHARS_MAX);
        let commands = actions.iter().filter(|action| action.tool == ToolKind::Command).count();
        Self {
            digest: approach_digest(change, actions, worktree),
            summary: if said.is_empty() {
                summarize_observed(change, actions, worktree)
            } else {
                said
            },
            files: change.files.clone(),
            files_changed: change.files_changed,
            commands: u32::try_from(commands).unwrap_or(u32::MAX),
            lines_added: change.lines_added,
            lines_removed: change.lines_removed,
        }
    }
}

/// Formats "changed a, b; ran `cargo test`". Read-only commands are left out: they are many and say little.
fn summarize_observed(change: &DiffChange, actions: &[AgentAction], worktree: &str) -> String {
    let mut ran: Vec<String> = Vec::new();
    for action in actions {
        if action.tool == ToolKind::Command && !action.is_read_only() {
            ran.push(format!("`{}`", one_line(&action.label(worktree), COMMAND_CHARS_MAX)));
        }
    }
    let mut met = BTreeSet::new();
    ran.retain(|command| met.insert(command.clone()));
    let more = ran.len().saturating_sub(NAMED_MAX);
    ran.truncate(NAMED_MAX);
    let named = change.files.len().min(NAMED_MAX);
    let changed = match change.files_changed {
        0 => "changed nothing".to_owned(),
        all => format!(
            "changed {}",
            join_with_more(&change.files[..named], (all as usize).saturating_sub(named))
        ),
    };
    let line = if ran.is_empty() {
        changed
    } else {
        format!("{changed}; ran {}", join_with_more(&ran, more))
    };
    one_line(&line, SUMMARY_CHARS_MAX)
}

fn join_with_more(names: &[String], more: usize) -> String {
    let names = names.join(", ");
    if more > 0 { format!("{names} and {more} more") } else { names }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::attempt::{ActionOutcome, Observation};

    fn change(files: usize) -> DiffChange {
        let diff: Vec<String> = (0..files)
            .map(|n| {
                format!("diff --git a/f{n} b/f{n}\n--- a/f{n}\n+++ b/f{n}\n@@ -1 +1 @@\n-x\n+y\n")
            })
            .collect();
        DiffChange::from_diff(diff.concat().as_bytes())
    }

    fn run(command: &str) -> AgentAction {
        let observation = Observation::from_output(ActionOutcome::Succeeded, "", "");
        AgentAction { tool: ToolKind::Command, input: command.to_owned(), observation }
    }

    #[test]
    fn without_words_of_the_agent_the_summary_says_what_was_seen() {
        let all = ["make a", "make b", "ls", "make a", "make c", "make d"].map(run);
        let cases: &[(usize, &[AgentAction], &str)] = &[
            (0, &[], "changed nothing"),
            (0, &[run("ls")], "changed nothing"),
            (2, &[run("cargo test")], "changed f0, f1; ran `cargo test`"),
            (5, &all, "changed f0, f1, f2 and 2 more; ran `make a`, `make b`, `make c` and 1 more"),
        ];
        for (files, actions, expected) in cases {
            for silent in [None, Some(" \n ")] {
                let approach = Approach::from_attempt(&change(*files), actions, silent, "");
                assert_eq!(approach.summary, *expected);
            }
        }
        let approach = Approach::from_attempt(&change(30), &all, None, "");
        assert_eq!((approach.files.len(), approach.files_changed, approach.commands), (20, 30, 6));
    }

    // B1, B3
    #[test]
    fn other_words_make_no_other_approach() {
        let of = |summary| Approach::from_attempt(&change(1), &[run("make")], Some(summary), "");
        let one = of("Raised\nthe limit");
        let other = of("Hit a rate limit, 401, timeout");
        assert_eq!(one.summary, "Raised the limit");
        assert!(one.digest.is_some());
        assert_eq!(one.digest, other.digest);
    }

    proptest! {
        #[test]
        fn every_length_is_bounded(summary in any::<String>(), command in any::<String>()) {
            for said in [Some(summary.as_str()), None] {
                let approach = Approach::from_attempt(&change(2), &[run(&command)], said, "");
                prop_assert!(approach.summary.chars().count() <= SUMMARY_CHARS_MAX);
                prop_assert!(!approach.summary.is_empty());
                prop_assert!(!approach.summary.contains(char::is_control));
            }
        }
    }
}
