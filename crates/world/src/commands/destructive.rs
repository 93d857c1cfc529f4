//! Destructive commands that no task needs: those that would destroy the machine or the home
//! folder.

use super::rule::CommandRule;
use super::unwrap::base_name;
use super::words::SimpleCommand;

/// Commands that are blocked by program and subcommand.
const BLOCKED: &[&str] = &[
    "mkfs*",
    "wipefs",
    "fdisk",
    "sfdisk",
    "parted",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "telinit",
    "systemctl poweroff",
    "systemctl reboot",
    "systemctl halt",
    "git config --global",
    "git config --system",
];

/// Device files that take any bytes without harm, and names that only the shell interprets.
const HARMLESS: &[&str] =
    &["null", "zero", "full", "stdout", "stderr", "stdin", "tty", "fd", "shm", "tcp", "udp"];

pub(super) fn parse_blocked_rules() -> Vec<CommandRule> {
    BLOCKED.iter().filter_map(|text| CommandRule::parse(text)).collect()
}

/// Returns the programs that are blocked with any arguments; `*` at the end matches any text.
pub(super) fn list_blocked_programs() -> impl Iterator<Item = &'static str> {
    BLOCKED.iter().copied().filter(|text| !text.contains(' '))
}

/// Returns why a command is destructive, if it is.
pub(super) fn find_reason(command: &SimpleCommand) -> Option<&'static str> {
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

/// Returns whether a path is the root, a folder right below it, or the home folder, or all files in
/// them.
fn is_vital(path: &str) -> bool {
    let folder = path.strip_suffix('*').unwrap_or(path).trim_end_matches('/');
    match folder {
        "" => path.starts_with('/'),
        "~" | "$HOME" | "${HOME}" => true,
        _ if folder.split('/').all(|part| part == "..") => true,
        _ => folder.starts_with('/') && folder.matches('/').count() == 1,
    }
}

fn is_device(path: &str) -> bool {
    path.strip_prefix("/dev/").is_some_and(|name| {
        let first = name.split('/').next().unwrap_or_default();
        !HARMLESS.contains(&first) && !first.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::super::words::split_commands;
    use super::*;

    fn is_destructive(text: &str) -> bool {
        split_commands(text, 0).iter().any(|command| find_reason(command).is_some())
    }

    #[test]
    fn what_would_take_everything_is_told_from_what_would_not() {
        for text in [
            "rm -rf /",
            "rm -fr ~",
            "rm -r -f ~/",
            "rm -rf /*",
            "rm -rf \"$HOME\"",
            "rm -rf /usr/",
            "rm --recursive ${HOME}/*",
            "rm -rf ..",
            "rm -rf ../..",
            "dd if=x of=/dev/sda",
            "cat x > /dev/nvme0n1",
            "chmod -R 777 /",
            "kill -9 -1",
            "cp x /dev/sdb",
        ] {
            assert!(is_destructive(text), "{text}");
        }
        for text in [
            "rm -rf target",
            "rm -rf ./a/*",
            "rm /etc/x",
            "rm -rf /tmp/build/x",
            "rm a ~",
            "rm -rf *",
            "dd if=x of=y",
            "echo x > /dev/null",
            "echo x 2>/dev/stderr",
            "chmod -R u+x bin",
            "kill -9 1234",
            "rm -rf ../other/target",
        ] {
            assert!(!is_destructive(text), "{text}");
        }
    }
}
