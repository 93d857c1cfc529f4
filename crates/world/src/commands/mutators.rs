//! Irreversible actions of common programs: they go through the ledger, or do not run.

/// Programs and their irreversible subcommands, which are refused with a pointer to `mutate`.
pub(super) const MUTATORS: &[(&str, &[&str])] = &[
    ("git", &["push", "send-pack", "send-email", "svn dcommit"]),
    (
        "gh",
        &[
            "pr create",
            "pr merge",
            "pr close",
            "pr reopen",
            "pr comment",
            "pr review",
            "pr edit",
            "pr ready",
            "release create",
            "release delete",
            "release edit",
            "release upload",
            "issue create",
            "issue close",
            "issue comment",
            "issue delete",
            "issue edit",
            "repo create",
            "repo delete",
            "repo edit",
            "repo sync",
            "repo fork",
            "repo archive",
            "workflow run",
            "workflow disable",
            "workflow enable",
            "run cancel",
            "run rerun",
            "secret",
            "variable",
            "gist create",
            "gist delete",
            "api",
        ],
    ),
    (
        "npm",
        &["publish", "unpublish", "deprecate", "dist-tag", "owner", "access", "login", "token"],
    ),
    ("pnpm", &["publish"]),
    ("yarn", &["publish", "npm publish"]),
    ("cargo", &["publish", "yank", "owner", "login"]),
    ("twine", &["upload"]),
    ("docker", &["push", "image push", "manifest push", "compose push", "login"]),
    ("podman", &["push", "image push", "manifest push", "login"]),
    (
        "kubectl",
        &[
            "apply",
            "create",
            "delete",
            "replace",
            "patch",
            "scale",
            "rollout restart",
            "rollout undo",
        ],
    ),
    ("terraform", &["apply", "destroy", "import"]),
    ("helm", &["install", "upgrade", "uninstall", "rollback", "push"]),
];

/// Prefix and wording of a refusal.
const SPEAKER: &str = "unstuck: ";
const WHY: &str = "reaches outside and cannot be taken back, so it did not run";

const NEVER: &str = "is on the list of what never runs, so it did not run";

/// Returns the reason why a command was refused, if its output states one.
pub fn find_refusal(output: &str) -> Option<&str> {
    let said = output.lines().filter_map(|line| line.trim().strip_prefix(SPEAKER));
    let why = |said| [WHY, NEVER].iter().find_map(|why| cut_after(said, why));
    said.rev().find_map(why)
}

fn cut_after<'a>(said: &'a str, why: &str) -> Option<&'a str> {
    said.find(why).map(|at| &said[..at + why.len()])
}

/// Returns the message about a program that never runs.
pub(super) fn render_never_runs(program: &str) -> String {
    format!("{SPEAKER}`{program}` {NEVER}.")
}

/// Returns the message of a refusal; it names the permitted way.
pub(super) fn render_refusal(what: &str) -> String {
    format!(
        "{SPEAKER}`{what}` {WHY}. If the task \
         needs it, declare it with the mutate tool (in a script: unstuck mutate --key KEY -- {what} \
         …); it then runs once, after the checks."
    )
}
