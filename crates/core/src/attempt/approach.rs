//! An approach: the summary of an attempt, and the digest that recognizes it again.
//!
//! The digest covers the change base→worktree and the actions that may have mattered besides it:
//! - **Reading does not count** (reading, listing, searching, narrating, and read-only commands): an agent
//!   that reads elsewhere first and then does the same has done the same.
//! - **Waiting does not count**: the number of polls of a process is a matter of time.
//! - **Writing and editing count only if the diff does not show them** (ignored files, files elsewhere,
//!   reverted changes): the number of edits that led to the same text is not an approach.
//! - **Commands and other tools count**, in their order: they may have installed, migrated or generated
//!   something that no diff shows. Consecutive repetitions are folded, so that testing twice is testing.
//!
//! An empty diff alone gives no digest. The actions alone decide then: an attempt that changed no file but
//! ran a migration is recognized by the migration. An attempt that changed nothing and did nothing has no
//! digest, and is never taken for a repetition.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::action::{ActionOutcome, AgentAction, ToolKind};
use super::diff::DiffChange;
use super::hasher::{Digest, PieceHasher};
use super::mask::one_line;

/// Maximum length of an approach's summary, in characters.
pub const SUMMARY_CHARS_MAX: usize = 300;
/// The summary of an attempt that changed nothing and said nothing.
pub(crate) const CHANGED_NOTHING: &str = "changed nothing";
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
        0 => CHANGED_NOTHING.to_owned(),
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

/// Computes the digest of an approach; `None` if it changed nothing and did nothing that counts. `actions`
/// are those whose input the adapter reports; `worktree` is the absolute path of the attempt's own folder.
pub fn approach_digest(
    change: &DiffChange,
    actions: &[AgentAction],
    worktree: &str,
) -> Option<Digest> {
    let mut hasher = PieceHasher::for_purpose("approach");
    hasher.push_number(u64::from(change.digest.is_some()));
    hasher.push_number(change.digest.map_or(0, |digest| digest.0));
    let mut last = None;
    for action in actions.iter().filter(|action| is_significant(action, change, worktree)) {
        let digest = action.digest(worktree);
        if last.replace(digest) != Some(digest) {
            hasher.push_number(digest.0);
        }
    }
    (change.digest.is_some() || last.is_some()).then(|| hasher.take_digest())
}

fn is_significant(action: &AgentAction, change: &DiffChange, worktree: &str) -> bool {
    if action.observation.outcome == ActionOutcome::Waiting || action.is_read_only() {
        return false;
    }
    match action.tool {
        ToolKind::Write | ToolKind::Edit => match action.file_path(worktree) {
            Some(path) => !change.touches_path(&path),
            // A patch names its files in its text; if there is a diff, it contains the patch.
            None => change.digest.is_none(),
        },
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::attempt::Observation;

    const TREE: &str = "/work/tree";
    const DIFF: &str = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-x\n+y\n";

    fn action(tool: ToolKind, input: &str, outcome: ActionOutcome) -> AgentAction {
        let observation = Observation::from_output(outcome, "some output", TREE);
        AgentAction { tool, input: input.to_owned(), observation }
    }

    fn did(tool: ToolKind, input: &str) -> AgentAction {
        action(tool, input, ActionOutcome::Succeeded)
    }

    fn run(command: &str) -> AgentAction {
        did(ToolKind::Command, command)
    }

    fn digest(diff: &str, actions: &[AgentAction]) -> Option<Digest> {
        approach_digest(&DiffChange::from_diff(diff.as_bytes()), actions, TREE)
    }

    // B1
    #[test]
    fn the_same_approach_is_recognised() {
        use ToolKind::{Command, Edit, Narrate, Read, Search, Write};
        let plain = digest(DIFF, &[run("cargo test")]);
        let cases: &[(&str, &[AgentAction])] = &[
            ("looked first", &[did(Read, "a.rs"), did(Search, "x"), run("cargo test")]),
            ("looked with the shell", &[run("cat a.rs | head"), run("cargo test")]),
            ("tested twice", &[run("cargo test"), run("cargo   test")]),
            (
                "tested between edits",
                &[
                    run("cargo test"),
                    did(Edit, r#"{"file_path":"/work/tree/a.rs","new":"z"}"#),
                    did(Edit, r#"{"file_path":"a.rs","new":"y"}"#),
                    run("cargo test"),
                ],
            ),
            ("wrote the file whole", &[did(Write, r#"{"path":"./a.rs"}"#), run("cargo test")]),
            ("patched", &[did(Edit, "*** Update File: a.rs"), run("cargo test")]),
            ("waited", &[run("cargo test"), action(Command, "poll 7", ActionOutcome::Waiting)]),
            // B3
            ("talked", &[did(Narrate, "rate limit, 401, timeout"), run("cargo test")]),
        ];
        for (name, actions) in cases {
            assert_eq!(digest(DIFF, actions), plain, "{name}");
        }
    }

    // B1
    #[test]
    fn a_different_approach_differs() {
        use ToolKind::{Other, Write};
        let cases: &[(&str, &[AgentAction])] = &[
            ("plain", &[run("cargo test")]),
            ("nothing run", &[]),
            ("installed first", &[run("npm install"), run("cargo test")]),
            ("installed after", &[run("cargo test"), run("npm install")]),
            ("wrote what git ignores", &[did(Write, r#"{"path":".env"}"#), run("cargo test")]),
            ("another tool", &[did(Other, "x"), run("cargo test")]),
        ];
        for (one, actions) in cases {
            for (other, others) in cases {
                assert_eq!(digest(DIFF, actions) == digest(DIFF, others), one == other);
            }
        }
        assert_ne!(digest(DIFF, &[]), digest(&DIFF.replace("+y", "+z"), &[]));
        assert_ne!(digest(DIFF, &[run("make")]), digest("", &[run("make")]));
    }

    #[test]
    fn doing_nothing_has_no_digest_and_doing_without_a_diff_has() {
        assert_eq!(digest("", &[]), None);
        assert_eq!(digest("", &[did(ToolKind::Read, "a"), run("ls")]), None);
        assert!(digest("", &[run("make migrate")]).is_some());
        assert_ne!(digest("", &[run("make migrate")]), digest("", &[run("make rollback")]));
    }

    proptest! {
        #[test]
        fn looking_anywhere_makes_no_difference(
            steps in prop::collection::vec((any::<bool>(), "[a-z]{1,5}"), 0..30),
        ) {
            let make = |(looks, name): &(bool, String)| {
                did(if *looks { ToolKind::Read } else { ToolKind::Other }, name)
            };
            let all: Vec<AgentAction> = steps.iter().map(make).collect();
            let doing: Vec<AgentAction> = steps.iter().filter(|(looks, _)| !looks).map(make).collect();
            prop_assert_eq!(digest(DIFF, &all), digest(DIFF, &doing));
            prop_assert_eq!(digest("", &all).is_some(), !doing.is_empty());
        }
    }

    fn change(files: usize) -> DiffChange {
        let diff: Vec<String> = (0..files)
            .map(|n| {
                format!("diff --git a/f{n} b/f{n}\n--- a/f{n}\n+++ b/f{n}\n@@ -1 +1 @@\n-x\n+y\n")
            })
            .collect();
        DiffChange::from_diff(diff.concat().as_bytes())
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
