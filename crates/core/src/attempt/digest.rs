//! The digest of an approach: decides whether the next attempt is a different one.
//!
//! It covers the change base→worktree and the actions that may have mattered besides it:
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

use super::action::{ActionOutcome, AgentAction, ToolKind};
use super::diff::DiffChange;
use super::hasher::Digest;
use super::hasher::PieceHasher;

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
}
