//! What the usual programs do that cannot be taken back: it goes through the ledger, or not at all.

/// Each is a program and what it does, and is refused with a pointer to `mutate`.
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

/// Who says that something is refused, and why.
const SPEAKER: &str = "unstuck: ";
const WHY: &str = "reaches outside and cannot be taken back, so it did not run";

const NEVER: &str = "is on the list of what never runs, so it did not run";

/// Why a command was refused, where its output says so.
pub fn refusal_in(output: &str) -> Option<&str> {
    let said = output.lines().filter_map(|line| line.trim().strip_prefix(SPEAKER));
    let why = |said| [WHY, NEVER].iter().find_map(|why| until(said, why));
    said.rev().find_map(why)
}

fn until<'a>(said: &'a str, why: &str) -> Option<&'a str> {
    said.find(why).map(|at| &said[..at + why.len()])
}

/// What is said of a program that never runs.
pub(super) fn never(program: &str) -> String {
    format!("{SPEAKER}`{program}` {NEVER}.")
}

/// What is said when something is refused; it names the way that is open.
pub(super) fn sentence(what: &str) -> String {
    format!(
        "{SPEAKER}`{what}` {WHY}. If the task \
         needs it, declare it with the mutate tool (in a script: unstuck mutate --key KEY -- {what} \
         …); it then runs once, after the checks."
    )
}
