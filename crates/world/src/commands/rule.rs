//! A rule about commands, as the operator writes it: `git push`, `gh`, `git reset --hard`.

use super::unwrap::base_name;

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

/// Returns the options of `program` that take a value.
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
    /// Parses a rule; returns `None` if it names no program.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().map(str::to_owned);
        let program = words.next()?;
        let (options, does) = words.partition(|word| word.starts_with('-'));
        Some(Self { program, does, options })
    }

    /// Returns whether a command matches the rule. `*` at the end of the program's name matches any
    /// text.
    pub(super) fn covers_command(&self, words: &[String]) -> bool {
        let Some((program, arguments)) = words.split_first() else { return false };
        let name = base_name(program);
        let named = match self.program.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == self.program || *program == self.program,
        };
        named
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_covers_what_it_says_and_no_more() {
        let table: [(&str, &[&str], &[&str]); 5] = [
            (
                "git push",
                &["git push", "git -C x push origin", "/usr/bin/git --no-pager push -f"],
                &["git stash push", "git commit -m push", "git", "gitk push"],
            ),
            ("gh", &["gh", "gh pr list"], &["ghc"]),
            ("git reset --hard", &["git reset --hard", "git reset x --hard"], &["git reset x"]),
            ("mkfs*", &["mkfs.ext4 /dev/x", "mkfs"], &["amkfs"]),
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
}
