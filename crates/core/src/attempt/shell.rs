//! Recognition of command lines that only read: files, the repository, the clock.
//!
//! Some agents have no tool but the shell and read every file with it. Reading must not make an approach look
//! different nor a loop look like progress. When in doubt a command counts as an action: this is a short list
//! of programs, not a shell, and it grants no permission.

/// Programs that print something and change nothing, whatever their arguments.
const LOOKING: &[&str] = &[
    "[", "basename", "cat", "cd", "cut", "date", "df", "diff", "dirname", "du", "echo", "egrep",
    "false", "fgrep", "file", "grep", "head", "jq", "less", "ls", "nl", "printf", "ps", "pwd",
    "realpath", "rg", "sleep", "stat", "tail", "test", "tr", "tree", "true", "uname", "wc",
    "which", "whoami",
];
/// Read-only subcommands of git.
const GIT_LOOKING: &[&str] = &[
    "blame", "cat-file", "describe", "diff", "grep", "log", "ls-files", "ls-tree", "rev-parse",
    "shortlog", "show", "status",
];
/// Arguments of `find` with side effects.
const FIND_DOING: &[&str] =
    &["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"];
/// Redirections that write no file.
const HARMLESS: &[&str] = &["2>&1", "2>/dev/null", "2> /dev/null", ">/dev/null", "> /dev/null"];

/// Returns whether every program in the command line only reads.
pub(super) fn is_read_only(command: &str) -> bool {
    let mut command = unwrap_shell(command).to_owned();
    for harmless in HARMLESS {
        command = command.replace(harmless, " ");
    }
    split_commands(&command).is_some_and(|parts| {
        let mut parts = parts.into_iter().filter(|part| !part.is_empty()).peekable();
        parts.peek().is_some() && parts.all(|words| is_read_only_program(&words))
    })
}

/// Returns the command without the shell around it and without a `cd` to the worktree, which is its start
/// folder.
pub(super) fn strip_shell_and_cd<'a>(command: &'a str, worktree: &str) -> &'a str {
    let command = unwrap_shell(command);
    let stripped = || {
        let after = command.strip_prefix("cd ")?.trim_start();
        let after = after.strip_prefix(worktree.trim_end_matches('/'))?;
        let after = after.strip_prefix('/').unwrap_or(after).trim_start();
        Some(after.strip_prefix("&&").or_else(|| after.strip_prefix(';'))?.trim_start())
    };
    if worktree.is_empty() { command } else { stripped().unwrap_or(command) }
}

/// Returns the command inside `/bin/bash -lc '…'`, which is how some agents report every command.
fn unwrap_shell(command: &str) -> &str {
    let command = command.trim();
    let Some((shell, rest)) = command.split_once(' ') else { return command };
    let shell = shell.rsplit('/').next().unwrap_or_default();
    let rest = rest.trim_start();
    let inner = rest.strip_prefix("-lc ").or_else(|| rest.strip_prefix("-c "));
    let (true, Some(inner)) = (matches!(shell, "bash" | "sh" | "zsh"), inner) else {
        return command;
    };
    let inner = inner.trim();
    let quoted = ['\'', '"'].into_iter().find_map(|quote| {
        inner.strip_prefix(quote)?.strip_suffix(quote).filter(|text| !text.contains(quote))
    });
    quoted.unwrap_or(inner)
}

fn is_read_only_program(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let has = |found: &[&str]| arguments.iter().any(|word| found.contains(&word.as_str()));
    match program.rsplit('/').next().unwrap_or_default() {
        "git" => {
            arguments.first().is_some_and(|sub| GIT_LOOKING.contains(&sub.as_str()))
                && !arguments.iter().any(|word| word.starts_with("--output"))
        }
        "find" => !has(FIND_DOING),
        "sed" => {
            has(&["-n"])
                && !arguments
                    .iter()
                    .any(|word| word.starts_with("-i") || word.starts_with("--in-place"))
        }
        "sort" | "uniq" => {
            !arguments.iter().any(|word| word.starts_with("-o") || word.starts_with("--output"))
        }
        program => LOOKING.contains(&program),
    }
}

/// Splits a command line into its parts between `;`, `|`, `&` and line ends, and each into words. Returns
/// `None` if it contains more than plain words and quotes: a redirection, a substitution, a group.
fn split_commands(command: &str) -> Option<Vec<Vec<String>>> {
    let mut parts = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('"') | None, '`' | '$') | (None, '>' | '<' | '(' | ')' | '{' | '}') => {
                return None;
            }
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, ';' | '|' | '&' | '\n') => {
                parts.last_mut()?.extend(word.take());
                parts.push(Vec::new());
            }
            (None, _) if char.is_whitespace() => parts.last_mut()?.extend(word.take()),
            _ => word.get_or_insert_default().push(char),
        }
    }
    parts.last_mut()?.extend(word.take());
    quote.is_none().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_is_told_from_doing() {
        let looking = [
            "ls -la",
            "cat a.rs | head -20",
            "rg \"foo|bar; >\" src 2>/dev/null",
            "grep -n 'a > b' x && git status",
            "sed -n '1,80p' src/a.rs",
            "/bin/bash -lc 'cat a; sleep 5'",
            "bash -lc ls",
            "find . -name '*.rs'",
            "cd src; pwd",
            "git diff HEAD~1 2>&1 | wc -l",
        ];
        let doing = [
            "", "cargo test", "echo hi > w.txt", "cat $(make list)", "cat `touch x`",
            "sed -i s/a/b/ x", "sed -n -i p x", "find . -delete", "git checkout .", "ls && rm x",
            "bash -lc 'ls; rm x'", "sort -o a a", "FOO=1 ls", "ls 'unclosed", "env rm x",
        ];
        for command in looking {
            assert!(is_read_only(command), "{command}");
        }
        for command in doing {
            assert!(!is_read_only(command), "{command}");
        }
    }
}
