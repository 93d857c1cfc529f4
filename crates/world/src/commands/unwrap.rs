//! Looks through programs that start other programs, for the commands that a line really runs.

use super::policy::BUILT_IN;
use super::words::{DEPTH_MAX, Simple, is_assignment, split};

/// Shells, whose `-c` holds commands.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// A program that runs the rest of its words, and those of its options that take a value.
struct Wrapper {
    name: &'static str,
    with_value: &'static [&'static str],
    /// Number of its own words after its options.
    own_words: usize,
}

const fn wrapper(name: &'static str, with_value: &'static [&'static str]) -> Wrapper {
    Wrapper { name, with_value, own_words: 0 }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t"]),
    wrapper("doas", &["-u", "-C"]),
    wrapper("env", &["-u", "-C", "--unset", "--chdir"]),
    wrapper("nohup", &[]),
    wrapper("setsid", &[]),
    wrapper("time", &["-f", "-o"]),
    wrapper("exec", &["-a"]),
    wrapper("command", &[]),
    wrapper("builtin", &[]),
    wrapper("nice", &["-n"]),
    wrapper("ionice", &["-c", "-n", "-p"]),
    wrapper("stdbuf", &["-i", "-o", "-e"]),
    wrapper("xargs", &["-n", "-I", "-P", "-L", "-d", "-s", "-a", "-E"]),
    Wrapper { name: "timeout", with_value: &["-s", "-k"], own_words: 1 },
];

/// Returns every simple command that `text` starts, however it is wrapped.
pub(super) fn programs(text: &str) -> Vec<Simple> {
    let mut found = Vec::new();
    for simple in split(text, 0) {
        look_through(simple, 0, &mut found);
    }
    found
}

/// Returns every program that a line of shell starts, with its arguments; leaves out the shell's
/// builtins.
pub fn programs_of(line: &str) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    for Simple { words, .. } in programs(line) {
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

fn look_through(simple: Simple, depth: usize, found: &mut Vec<Simple>) {
    let inner = if depth < DEPTH_MAX { started_by(&simple.words) } else { Vec::new() };
    found.push(simple);
    for simple in inner {
        look_through(simple, depth + 1, found);
    }
}

/// Returns the commands that a program starts according to its arguments.
fn started_by(words: &[String]) -> Vec<Simple> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = base_name(program);
    if SHELLS.contains(&name) {
        return script(arguments).map(|script| split(script, 0)).unwrap_or_default();
    }
    match name {
        "eval" => split(&arguments.join(" "), 0),
        "find" => executed(arguments),
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => vec![Simple::of(rest(wrapper, arguments))],
            None => Vec::new(),
        },
    }
}

/// Returns the commands of `sh -c`: the word after the options that hold a `c`.
fn script(arguments: &[String]) -> Option<&str> {
    let at = arguments
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))?;
    let after = arguments.get(at + 1..)?;
    after.iter().find(|word| !word.starts_with('-')).map(String::as_str)
}

/// Returns the commands that `find` runs for each file.
fn executed(arguments: &[String]) -> Vec<Simple> {
    let runs = |word: &String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let starts = arguments.iter().enumerate().filter(|(_, word)| runs(word));
    let ends = |word: &String| word == ";" || word == "+";
    starts
        .map(|(at, _)| {
            let command = &arguments[at + 1..];
            let end = command.iter().position(ends).unwrap_or(command.len());
            Simple::of(&command[..end])
        })
        .collect()
}

/// Returns the words after a wrapper's own.
fn rest<'w>(wrapper: &Wrapper, arguments: &'w [String]) -> &'w [String] {
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
            let found: Vec<String> = programs(text).iter().map(|s| s.words.join(" ")).collect();
            assert!(found.iter().any(|found| found == expected), "{text}: {found:?}");
        }
    }

    #[test]
    fn commands_within_commands_are_not_followed_for_ever() {
        let mut text = "reboot".to_owned();
        for _ in 0..40 {
            text = format!("eval eval {text}");
        }
        assert!(programs(&text).len() < 100);
    }
}
