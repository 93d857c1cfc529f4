//! Looks through programs that start other programs, for the commands that a line really runs.

use super::policy::BUILT_IN;
use super::words::{DEPTH_MAX, SimpleCommand, is_assignment, split_commands};

/// Shells, whose `-c` holds commands.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// A program that runs the rest of its words, and those of its options that take a value.
struct CommandWrapper {
    name: &'static str,
    with_value: &'static [&'static str],
    /// Number of its own words after its options.
    own_words: usize,
}

const fn plain_wrapper(name: &'static str, with_value: &'static [&'static str]) -> CommandWrapper {
    CommandWrapper { name, with_value, own_words: 0 }
}

const WRAPPERS: &[CommandWrapper] = &[
    plain_wrapper("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t"]),
    plain_wrapper("doas", &["-u", "-C"]),
    plain_wrapper("env", &["-u", "-C", "--unset", "--chdir"]),
    plain_wrapper("nohup", &[]),
    plain_wrapper("setsid", &[]),
    plain_wrapper("time", &["-f", "-o"]),
    plain_wrapper("exec", &["-a"]),
    plain_wrapper("command", &[]),
    plain_wrapper("builtin", &[]),
    plain_wrapper("nice", &["-n"]),
    plain_wrapper("ionice", &["-c", "-n", "-p"]),
    plain_wrapper("stdbuf", &["-i", "-o", "-e"]),
    plain_wrapper("xargs", &["-n", "-I", "-P", "-L", "-d", "-s", "-a", "-E"]),
    CommandWrapper { name: "timeout", with_value: &["-s", "-k"], own_words: 1 },
];

/// Returns every simple command that `text` starts, however it is wrapped.
pub(super) fn find_commands(text: &str) -> Vec<SimpleCommand> {
    let mut found = Vec::new();
    for simple in split_commands(text, 0) {
        unwrap_command(simple, 0, &mut found);
    }
    found
}

/// Returns every program that a line of shell starts, with its arguments; leaves out the shell's
/// builtins.
pub fn list_programs(line: &str) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    for SimpleCommand { words, .. } in find_commands(line) {
        let words: Vec<String> = words.into_iter().skip_while(|word| is_assignment(word)).collect();
        let own = words.first().is_none_or(|first| BUILT_IN.contains(&first.as_str()));
        if !own || words.first().is_some_and(|first| first == "." || first == "source") {
            found.push(words);
        }
    }
    found
}

/// Returns the name of a program without its folder.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn unwrap_command(simple: SimpleCommand, depth: usize, found: &mut Vec<SimpleCommand>) {
    let inner = if depth < DEPTH_MAX { find_started(&simple.words) } else { Vec::new() };
    found.push(simple);
    for simple in inner {
        unwrap_command(simple, depth + 1, found);
    }
}

/// Returns the commands that a program starts according to its arguments.
fn find_started(words: &[String]) -> Vec<SimpleCommand> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = base_name(program);
    if SHELLS.contains(&name) {
        return find_shell_script(arguments)
            .map(|script| split_commands(script, 0))
            .unwrap_or_default();
    }
    match name {
        "eval" => split_commands(&arguments.join(" "), 0),
        "find" => find_executed(arguments),
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => {
                vec![SimpleCommand::from_words(skip_wrapper_words(wrapper, arguments))]
            }
            None => Vec::new(),
        },
    }
}

/// Returns the commands of `sh -c`: the word after the options that hold a `c`.
fn find_shell_script(arguments: &[String]) -> Option<&str> {
    let at = arguments
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))?;
    let after = arguments.get(at + 1..)?;
    after.iter().find(|word| !word.starts_with('-')).map(String::as_str)
}

/// Returns the commands that `find` runs for each file.
fn find_executed(arguments: &[String]) -> Vec<SimpleCommand> {
    let runs = |word: &String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let starts = arguments.iter().enumerate().filter(|(_, word)| runs(word));
    let ends = |word: &String| word == ";" || word == "+";
    starts
        .map(|(at, _)| {
            let command = &arguments[at + 1..];
            let end = command.iter().position(ends).unwrap_or(command.len());
            SimpleCommand::from_words(&command[..end])
        })
        .collect()
}

/// Returns the words after a wrapper's own.
fn skip_wrapper_words<'w>(wrapper: &CommandWrapper, arguments: &'w [String]) -> &'w [String] {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if wrapper.with_value.contains(&word.as_str()) {
            at += 2;
        } else if word.starts_with('-') || is_assignment(word) {
            at += 1;
        } else {
            break;
        }
    }
    arguments.get(at + wrapper.own_words..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_behind_others() {
        let table = [
            ("sudo -u root rm -rf /", "rm -rf /"),
            ("env -u A B=1 git push", "git push"),
            ("sh -c 'cd x && git push'", "git push"),
            ("bash -lc \"npm publish\"", "npm publish"),
            ("/usr/bin/env bash -e -c 'gh pr create'", "gh pr create"),
            ("nohup timeout 5 nice -n 3 make", "make"),
            ("timeout -s KILL 5 make", "make"),
            ("echo x | xargs -n 1 rm -r", "rm -r"),
            ("find . -name x -exec rm -rf {} \\;", "rm -rf {}"),
            ("eval git push", "git push"),
            ("sh -c \"sh -c 'sh -c reboot'\"", "reboot"),
        ];
        for (text, expected) in table {
            let found: Vec<String> =
                find_commands(text).iter().map(|s| s.words.join(" ")).collect();
            assert!(found.iter().any(|found| found == expected), "{text}: {found:?}");
        }
    }

    #[test]
    fn commands_within_commands_are_not_followed_for_ever() {
        let mut text = "reboot".to_owned();
        for _ in 0..40 {
            text = format!("eval eval {text}");
        }
        assert!(find_commands(&text).len() < 100);
    }
}
