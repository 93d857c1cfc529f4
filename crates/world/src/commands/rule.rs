//! Rules about commands as the operator writes them (`git push`, `gh`, `git reset --hard`), and the
//! lists that are built in: destructive commands that no task needs, and irreversible actions of
//! common programs, which go through the ledger or do not run.

use std::path::Path;

use super::shell::{SimpleCommand, base_name, find_commands};

/// Options of well-known programs that take a value, so that the value is not taken for a
/// subcommand.
const WITH_VALUE: &[(&str, &[&str])] = &[
    ("git", &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"]),
    ("gh", &["-R", "--repo"]),
    ("cargo", &["--config", "-C", "--color", "-Z", "--manifest-path", "-p", "--package"]),
    ("npm", &["--prefix", "-w", "--workspace", "--loglevel", "--registry", "-C"]),
    ("pnpm", &["--dir", "-C", "--filter", "-F", "--loglevel"]),
    ("yarn", &["--cwd"]),
    ("docker", &["-H", "--host", "-c", "--context", "--config", "-l", "--log-level"]),
    ("podman", &["-c", "--connection", "--url", "--log-level"]),
    ("kubectl", &["-n", "--namespace", "--context", "--cluster", "--kubeconfig"]),
    ("twine", &[]),
];

pub(super) fn options_with_value(program: &str) -> &'static [&'static str] {
    WITH_VALUE.iter().find(|(name, _)| *name == program).map_or(&[], |(_, options)| options)
}

/// A rule: a program, its subcommand, and options that have to be present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandRule {
    program: String,
    does: Vec<String>,
    options: Vec<String>,
}

impl CommandRule {
    /// Parses a rule; returns `None` if it names no program. A rule covers any further arguments, so `*` as a
    /// word adds nothing.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().map(str::to_owned);
        let program = words.next()?;
        let words = words.filter(|word| word != "*");
        let (options, does) = words.partition(|word| word.starts_with('-'));
        Some(Self { program, does, options })
    }

    /// Returns whether the rule is about a program. `*` at the end of the rule's name matches any text.
    pub(super) fn names_program(&self, name: &str) -> bool {
        match self.program.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == self.program,
        }
    }

    /// Returns whether a command matches the rule.
    pub(super) fn covers_command(&self, words: &[String]) -> bool {
        let Some((program, arguments)) = words.split_first() else { return false };
        let name = base_name(program);
        (self.names_program(name) || *program == self.program)
            && list_operands(name, arguments).starts_with(&self.does)
            && self.options.iter().all(|option| arguments.contains(option))
    }
}

/// Returns the arguments of a program without options and their values.
fn list_operands(program: &str, arguments: &[String]) -> Vec<String> {
    let with_value = options_with_value(program);
    let mut words = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        if with_value.contains(&word.as_str()) {
            arguments.next();
        } else if !word.starts_with(['-', '+']) {
            words.push(word.clone());
        }
    }
    words
}

/// Commands that are blocked by program and subcommand.
const DESTRUCTIVE: &[&str] = &[
    "mkfs*", "wipefs", "fdisk", "sfdisk", "parted", "shutdown", "reboot", "halt", "poweroff",
    "telinit", "systemctl poweroff", "systemctl reboot", "systemctl halt", "git config --global",
    "git config --system",
];

/// Device files that take any bytes without harm, and names that only the shell interprets.
pub(super) const HARMLESS_DEVICES: &[&str] =
    &["null", "zero", "full", "stdout", "stderr", "stdin", "tty", "fd", "shm", "tcp", "udp"];

pub(super) fn parse_blocked_rules() -> Vec<CommandRule> {
    DESTRUCTIVE.iter().filter_map(|text| CommandRule::parse(text)).collect()
}

/// Returns the programs that are blocked with any arguments; `*` at the end matches any text.
pub(super) fn list_blocked_programs() -> impl Iterator<Item = &'static str> {
    DESTRUCTIVE.iter().copied().filter(|text| !text.contains(' '))
}

/// Programs that are blocked only with some arguments, and how a shim recognizes these.
pub(super) const BLOCKED_BY_ARGUMENTS: &[(&str, BlockedArguments)] = &[
    ("rm", BlockedArguments::RecursiveOnVitalPath),
    ("chmod", BlockedArguments::RecursiveOnVitalPath),
    ("chown", BlockedArguments::RecursiveOnVitalPath),
    ("dd", BlockedArguments::DeviceAsOutput),
    ("systemctl", BlockedArguments::EndOfSystem),
];

/// The arguments with which a program never runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockedArguments {
    /// A recursive option, and the root, a folder right below it, the home folder, or a folder above
    /// the working directory.
    RecursiveOnVitalPath,
    /// `of=` with a device that does not take any bytes without harm.
    DeviceAsOutput,
    /// A word that ends the system.
    EndOfSystem,
}

pub(super) fn find_destructive_reason(command: &SimpleCommand) -> Option<&'static str> {
    if command.writes.iter().any(|path| is_device(path)) {
        return Some("it would write over a device");
    }
    let (program, arguments) = command.words.split_first()?;
    match base_name(program) {
        "rm" if is_recursive(arguments) && arguments.iter().any(|path| is_vital(path)) => {
            Some("it would remove more than this task's files")
        }
        "chmod" | "chown" if is_recursive(arguments) && arguments.iter().any(|p| is_vital(p)) => {
            Some("it would change more than this task's files")
        }
        "dd" if arguments.iter().any(|word| word.strip_prefix("of=").is_some_and(is_device)) => {
            Some("it would write over a device")
        }
        "tee" | "cp" | "mv" if arguments.iter().any(|word| is_device(word)) => {
            Some("it would write over a device")
        }
        "kill" if arguments.last().is_some_and(|last| last == "-1") => {
            Some("it would end every process there is")
        }
        _ => None,
    }
}

fn is_recursive(arguments: &[String]) -> bool {
    arguments.iter().any(|word| {
        let short = word.starts_with('-') && !word.starts_with("--");
        short && word.contains(['r', 'R']) || word == "--recursive"
    })
}

/// Returns whether a path is the root, a folder right below it, the home folder of a user or a folder above
/// that, or all files in them.
fn is_vital(path: &str) -> bool {
    let folder = path.strip_suffix('*').unwrap_or(path).trim_end_matches('/');
    match folder {
        "" => path.starts_with('/'),
        "~" | "$HOME" | "${HOME}" => true,
        _ if folder.split('/').all(|part| part == "..") => true,
        _ if !folder.starts_with('/') => false,
        _ => folder.matches('/').count() == 1 || is_home(Path::new(folder)),
    }
}

/// Returns whether a folder is the home of a user, as systems name it, or holds the home of this one.
fn is_home(folder: &Path) -> bool {
    let is_usual = matches!(folder.parent().and_then(Path::to_str), Some("/home" | "/Users"));
    is_usual || std::env::home_dir().is_some_and(|home| home.starts_with(folder))
}

fn is_device(path: &str) -> bool {
    path.strip_prefix("/dev/").is_some_and(|name| {
        let first = name.split('/').next().unwrap_or_default();
        !HARMLESS_DEVICES.contains(&first) && !first.is_empty()
    })
}

/// Programs and their irreversible subcommands, which are refused with a pointer to `mutate`.
pub(super) const MUTATORS: &[(&str, &[&str])] = &[
    ("git", &["push", "send-pack", "send-email", "svn dcommit"]),
    (
        "gh",
        &[
            "pr create", "pr merge", "pr close", "pr reopen", "pr comment", "pr review", "pr edit",
            "pr ready", "release create", "release delete", "release edit", "release upload",
            "issue create", "issue close", "issue comment", "issue delete", "issue edit",
            "repo create", "repo delete", "repo edit", "repo sync", "repo fork", "repo archive",
            "workflow run", "workflow disable", "workflow enable", "run cancel", "run rerun",
            "secret", "variable", "gist create", "gist delete", "api",
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
            "apply", "create", "delete", "replace", "patch", "scale", "rollout restart",
            "rollout undo",
        ],
    ),
    ("terraform", &["apply", "destroy", "import"]),
    ("helm", &["install", "upgrade", "uninstall", "rollback", "push"]),
];

/// Commands with which git sends commits to a remote.
const PUSHES: [&str; 2] = ["git push", "git send-pack"];

/// Returns whether a line of shell sends commits to a remote.
pub(crate) fn pushes_commits(line: &str) -> bool {
    let rules: Vec<CommandRule> =
        PUSHES.iter().filter_map(|text| CommandRule::parse(text)).collect();
    let commands = find_commands(line);
    commands.iter().any(|command| rules.iter().any(|rule| rule.covers_command(&command.words)))
}

/// Prefix and wording of a refusal.
const SPEAKER: &str = "unstuck: ";
const WHY: &str = "reaches outside and cannot be taken back, so it did not run";

const NEVER: &str = "is on the list of what never runs, so it did not run";

/// Returns the reason why a command was refused, if its output states one.
pub fn find_refusal(output: &str) -> Option<&str> {
    let said = output.lines().filter_map(|line| line.trim().strip_prefix(SPEAKER));
    let cut_after = |said: &'_ str, why: &str| said.find(why).map(|at| at + why.len());
    said.rev().find_map(|said| {
        let end = [WHY, NEVER].iter().find_map(|why| cut_after(said, why))?;
        Some(&said[..end])
    })
}

pub(super) fn render_never_runs(program: &str) -> String {
    format!("{SPEAKER}{}.", describe_never_runs(program))
}

/// Says that a command never runs, as a sentence without its end.
pub fn describe_never_runs(command: &str) -> String {
    format!("`{command}` {NEVER}")
}

/// Returns the message of a refusal; it names the permitted way.
pub(super) fn render_refusal(what: &str) -> String {
    format!(
        "{SPEAKER}`{what}` {WHY}. If the task \
         needs it, declare it with the mutate tool (in a script: unstuck mutate --key KEY -- {what} \
         …); it then runs once, after the checks."
    )
}

#[cfg(test)]
mod tests {
    use super::super::shell::split_commands;
    use super::*;

    #[test]
    fn a_rule_covers_what_it_says_and_no_more() {
        let table: [(&str, &[&str], &[&str]); 6] = [
            (
                "git push",
                &["git push", "git -C x push origin", "/usr/bin/git --no-pager push -f"],
                &["git stash push", "git commit -m push", "git", "gitk push"],
            ),
            ("gh", &["gh", "gh pr list"], &["ghc"]),
            ("git reset --hard", &["git reset --hard", "git reset x --hard"], &["git reset x"]),
            ("mkfs*", &["mkfs.ext4 /dev/x", "mkfs"], &["amkfs"]),
            ("docker *", &["docker ps", "docker"], &["dockerd"]),
            ("cargo publish", &["cargo +nightly publish"], &["cargo test -p publish"]),
        ];
        for (rule, inside, outside) in table {
            let rule = CommandRule::parse(rule).unwrap();
            let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
            for text in inside {
                assert!(rule.covers_command(&words(text)), "{rule:?} does not cover {text}");
            }
            for text in outside {
                assert!(!rule.covers_command(&words(text)), "{rule:?} covers {text}");
            }
        }
        assert_eq!(CommandRule::parse("  "), None);
    }

    fn is_destructive(text: &str) -> bool {
        split_commands(text, 0).iter().any(|command| find_destructive_reason(command).is_some())
    }

    #[test]
    fn what_would_take_everything_is_told_from_what_would_not() {
        for text in [
            "rm -rf /", "rm -fr ~", "rm -r -f ~/", "rm -rf /*", "rm -rf \"$HOME\"", "rm -rf /usr/",
            "rm --recursive ${HOME}/*", "rm -rf ..", "rm -rf ../..", "dd if=x of=/dev/sda",
            "cat x > /dev/nvme0n1", "chmod -R 777 /", "kill -9 -1", "cp x /dev/sdb",
        ] {
            assert!(is_destructive(text), "{text}");
        }
        for text in [
            "rm -rf target", "rm -rf ./a/*", "rm /etc/x", "rm -rf /tmp/build/x", "rm a ~",
            "rm -rf *", "dd if=x of=y", "echo x > /dev/null", "echo x 2>/dev/stderr",
            "chmod -R u+x bin", "kill -9 1234", "rm -rf ../other/target",
        ] {
            assert!(!is_destructive(text), "{text}");
        }
    }
}
