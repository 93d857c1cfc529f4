//! The name of a program that a shell did not find, parsed from the shell's message.

/// Messages of shells and tools about a missing program, after or before its name.
const AFTER: &[&str] = &[": command not found", ": not found", ": No such file or directory"];
const BEFORE: &[&str] = &["command not found: ", "Unknown command: "];

/// Returns the missing program named in the last such line of an output.
pub(crate) fn missing_program(output: &str) -> Option<&str> {
    output.lines().rev().find_map(|line| program_in_line(line.trim_end()))
}

fn program_in_line(line: &str) -> Option<&str> {
    let before = BEFORE.iter().find_map(|words| Some(line.split_once(words)?.1));
    let after = || AFTER.iter().find_map(|words| line.strip_suffix(words));
    // `sh: 1: frobnicate: not found`: the shell and the line number precede the name.
    let named = before.or_else(|| after()?.rsplit(": ").next())?;
    let name = named.trim_matches(|c: char| c.is_whitespace() || "'\"‘’`".contains(c));
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_name_the_program_that_is_missing() {
        for (output, name) in [
            ("tool.sh: 1: frobnicate: not found\n", Some("frobnicate")),
            ("sh: line 1: frobnicate: command not found", Some("frobnicate")),
            ("zsh: command not found: frobnicate", Some("frobnicate")),
            ("env: ‘frobnicate’: No such file or directory", Some("frobnicate")),
            (
                "make: ./scripts/x.sh: No such file or directory\nmake: *** [t] Error 127",
                Some("./scripts/x.sh"),
            ),
            ("the page was not found", None),
            ("", None),
        ] {
            assert_eq!(missing_program(output), name, "{output}");
        }
    }
}
