//! The rules by which an action declared by an agent is performed without asking the operator.
//!
//! A rule of the settings names a command or hosts, and with it the secrets that such an action may
//! use. An action that no rule covers is performed only if the operator approved its exact text,
//! which [`render_action`] composes: the call with all its parts, and the probe.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use unstuck_core::plan::{Call, HttpCall, MutationSpec, ProbeCommand};

use crate::egress::{HostPattern, parse_service_target};

/// Maximum size in bytes of an action's text that the operator can be shown.
pub(super) const TEXT_BYTES_MAX: usize = 8_192;
/// Characters without a special meaning to a shell, besides letters and digits.
const PLAIN: &str = " -_./:=@%+,";

/// A rule for actions that are performed without asking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActionRule {
    /// A command as it is typed; `*` stands for any characters without a special meaning to a
    /// shell. Without a command, the rule applies to requests.
    pub command: Option<String>,
    /// The hosts that the command may reach, or that requests may go to.
    pub hosts: Vec<HostPattern>,
    /// The variables of the secrets that the action may use.
    pub secrets: BTreeSet<String>,
}

/// The permissions of an action that may be performed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionPermit {
    /// The hosts that its call may reach.
    pub call: ActionReach,
    /// The hosts that its probe may reach.
    pub probe: ActionReach,
    /// The variables that its rule gives to the command.
    pub secrets: BTreeSet<String>,
}

/// The hosts that one command or request of an action may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ActionReach {
    /// Any host: the plan or the operator approved this exact action.
    #[default]
    Anything,
    /// Only these hosts.
    Hosts(Vec<HostPattern>),
}

impl ActionRule {
    pub(super) fn covers_call(&self, call: &Call) -> bool {
        match call {
            Call::Command(call) => {
                call.variables.iter().all(|variable| self.secrets.contains(variable))
                    && self.covers_line(as_shell_line(&call.program, &call.arguments))
            }
            Call::Http(call) => self.command.is_none() && self.covers_request(call),
            Call::PullRequest(_) => false,
        }
    }

    pub(super) fn covers_probe(&self, probe: &ProbeCommand) -> bool {
        self.covers_line(as_shell_line(&probe.program, &probe.arguments))
    }

    fn covers_line(&self, line: Option<&str>) -> bool {
        let (Some(pattern), Some(line)) = (&self.command, line) else { return false };
        matches_command(pattern, strip_folder(line))
    }

    /// Returns whether the rule covers a request. One with a `host` header of its own is not
    /// covered, because that header decides where the request really goes.
    fn covers_request(&self, call: &HttpCall) -> bool {
        let mut names =
            call.headers.iter().map(|(name, _)| name).chain(call.secrets.iter().map(|s| &s.name));
        !names.any(|name| name.eq_ignore_ascii_case("host"))
            && call.secrets.iter().all(|header| self.secrets.contains(&header.variable))
            && self.allows_url(&call.url)
            && call.look_up_url.as_ref().is_none_or(|url| self.allows_url(url))
    }

    fn allows_url(&self, url: &str) -> bool {
        let Some(target) = parse_service_target(url) else { return false };
        self.hosts.iter().any(|allowed| allowed.matches(&target))
    }
}

/// Returns the shell line of a command; `None` if the command is not `sh -c`.
pub(super) fn as_shell_line<'a>(program: &str, arguments: &'a [String]) -> Option<&'a str> {
    match (program, arguments) {
        ("sh", [option, line]) if option == "-c" => Some(line),
        _ => None,
    }
}

/// Returns the text of everything that an action does, which the operator reads before approving
/// it.
pub(super) fn render_action(spec: &MutationSpec) -> String {
    let mut text = String::new();
    match spec.call.as_deref() {
        Some(Call::Command(call)) => {
            text.push_str(as_shell_line(&call.program, &call.arguments).unwrap_or_default());
            if !call.variables.is_empty() {
                let _ = write!(text, "\nwith {}", call.variables.join(", "));
            }
        }
        Some(Call::Http(call)) => append_request(&mut text, call),
        Some(Call::PullRequest(_)) | None => text.push_str(&spec.render_line().unwrap_or_default()),
    }
    if let Some(probe) = spec.render_probe() {
        let _ = write!(text, "\nto find out whether it happened: {probe}");
    }
    text
}

fn append_request(text: &mut String, call: &HttpCall) {
    let _ = write!(text, "{} {}", call.method, call.url);
    for (name, value) in &call.headers {
        let _ = write!(text, "\n{name}: {value}");
    }
    for header in &call.secrets {
        let _ = write!(text, "\n{}: {}${}", header.name, header.before, header.variable);
    }
    if let Some(body) = &call.body {
        let _ = write!(text, "\n\n{body}");
    }
}

/// Returns the line without a leading `cd` into a folder of the worktree.
pub(super) fn strip_folder(line: &str) -> &str {
    let rest = line.strip_prefix("cd ").and_then(|rest| rest.split_once(" && "));
    match rest {
        Some((folder, line)) if folder.chars().all(is_plain) && !folder.contains(' ') => line,
        _ => line,
    }
}

/// Returns whether a line matches the pattern, with plain characters where it has a `*`.
fn matches_command(pattern: &str, line: &str) -> bool {
    let pattern: Vec<char> = pattern.trim().chars().collect();
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    skip_stars(&pattern, &mut reached);
    for character in line.trim().chars() {
        let mut next = vec![false; pattern.len() + 1];
        for (at, wanted) in pattern.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match wanted {
                '*' => next[at] |= is_plain(character),
                wanted => next[at + 1] |= *wanted == character,
            }
        }
        reached = next;
        skip_stars(&pattern, &mut reached);
    }
    reached[pattern.len()]
}

fn skip_stars(pattern: &[char], reached: &mut [bool]) {
    for (at, wanted) in pattern.iter().enumerate() {
        if *wanted == '*' && reached[at] {
            reached[at + 1] = true;
        }
    }
}

pub(super) fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || PLAIN.contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_what_a_shell_takes_as_it_is() {
        for (pattern, line, expected) in [
            ("./deploy *", "./deploy shop 1.4", true),
            ("./deploy *", "./deploy ", false),
            ("./deploy*", "./deploy", true),
            ("./deploy *", "./deploy a; curl evil", false),
            ("./deploy *", "./deploy $(curl evil)", false),
            ("./deploy *", "./deploy `id`", false),
            ("./deploy *", "./deploy a\ncurl evil", false),
            ("./deploy *", "./deploy a > ~/.bashrc", false),
            ("./deploy *", "./deploy 'a b'", false),
            ("./deploy *", "sudo ./deploy a", false),
            ("npm publish", "npm publish", true),
            ("npm publish", "npm publish --tag x", false),
            ("echo '*' | mail ops", "echo 'all done' | mail ops", true),
            ("echo '*' | mail ops", "echo 'a' | sh; 'b' | mail ops", false),
            ("*", "rm -rf .", true),
            ("", "x", false),
        ] {
            assert_eq!(matches_command(pattern, line), expected, "{pattern} {line}");
        }
        assert_eq!(strip_folder("cd web/app && ./deploy a"), "./deploy a");
        let tricked = "cd $(curl evil) && ./deploy a";
        assert_eq!(strip_folder(tricked), tricked);
    }

    fn rule() -> ActionRule {
        let hosts = vec![HostPattern::parse("a.example").unwrap()];
        ActionRule { hosts, ..ActionRule::default() }
    }

    #[test]
    fn a_request_goes_to_a_host_that_the_rule_names() {
        assert!(rule().allows_url("https://a.example/x"));
        for url in [
            "https://b.example/x", "https://a.example:8443/x", "https://a.example@b.example/",
            "file:///etc", "a.example",
        ] {
            assert!(!rule().allows_url(url), "{url}");
        }
    }

    #[test]
    fn a_request_that_names_another_host_or_an_unlisted_secret_is_not_covered() {
        let rule = rule();
        let call = HttpCall { url: "https://a.example/x".to_owned(), ..HttpCall::default() };
        assert!(rule.covers_call(&Call::Http(call.clone())));
        let host = ("HOST".to_owned(), "b.example".to_owned());
        let elsewhere = HttpCall { headers: vec![host], ..call.clone() };
        let looked = Some("https://b.example/".to_owned());
        let looked = HttpCall { look_up_url: looked, ..call.clone() };
        let secret = unstuck_core::plan::SecretHeader {
            variable: "TOKEN".to_owned(),
            ..unstuck_core::plan::SecretHeader::default()
        };
        let secret = HttpCall { secrets: vec![secret], ..call };
        for call in [elsewhere, looked, secret] {
            assert!(!rule.covers_call(&Call::Http(call.clone())), "{call:?}");
        }
    }
}
