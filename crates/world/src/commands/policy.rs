//! The rules about commands, and their application to a line of shell.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use unstuck_core::fault::{Fault, Permission};

use super::destructive;
use super::mutators::{MUTATORS, sentence};
use super::network::Network;
use super::rule::Rule;
use super::unwrap::{base_name, programs};
use super::words::Simple;
use crate::process::Held;

/// The source name of the fault for a blocked command.
const SOURCE: &str = "commands";
/// Builtins of the shell; an allowlist of programs need not name them.
pub(super) const BUILT_IN: &[&str] = &[
    "cd", "echo", "printf", "test", "[", "[[", "true", "false", "export", "set", "unset", "read",
    "pwd", "wait", "exit", "return", "local", "shift", "trap", "umask", ":", "for", "case", "eval",
    "exec", "command", "builtin", "type", "source", ".",
];

/// The rules, as they are written in the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// Commands that may run; if empty, all that are not blocked.
    pub allowed: Vec<String>,
    /// Commands that must not run, beside those that never do.
    pub blocked: Vec<String>,
    /// Commands that are removed from the list of those that never run. The other rules then apply
    /// to them.
    pub unlisted: Vec<String>,
    /// `true` if commands may use the network.
    pub network: bool,
    /// Names of variables that are passed on beside the usual ones; `*` at the end matches any
    /// text.
    pub environment: Vec<String>,
}

/// The parsed rules.
#[derive(Clone, Debug)]
pub struct Commands {
    allowed: Vec<Rule>,
    blocked: Vec<Rule>,
    /// Commands that never run, by program and subcommand.
    destructive: Vec<Rule>,
    /// Commands that the settings remove from the list of those that never run.
    unlisted: Vec<Rule>,
    mutators: Vec<(Rule, String)>,
    /// Commands that would be blocked, and that the operator allowed literally.
    permitted: BTreeSet<String>,
}

/// A command that was not run because it is irreversible. The first refusals have no consequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The program and its subcommand.
    pub what: String,
}

impl Refusal {
    /// Returns the message for the agent.
    pub fn sentence(&self) -> String {
        sentence(&self.what)
    }
}

/// The restrictions of commands that are really enforced, as data to show: none is assumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforced {
    /// The variables that are passed on; all others are removed.
    pub variables: Vec<String>,
    /// Programs that have a shim.
    pub shims: Vec<String>,
    /// The extent to which the sandbox is enforced.
    pub held: Held,
    /// The network access of commands.
    pub network: Network,
}

impl Commands {
    /// Parses the rules.
    pub fn new(rules: &Rules) -> Self {
        let read = |texts: &[String]| texts.iter().filter_map(|text| Rule::read(text)).collect();
        let mutators = MUTATORS.iter().flat_map(|(program, all)| {
            let what = all.iter().map(move |does| format!("{program} {does}"));
            what.filter_map(|what| Some((Rule::read(&what)?, what)))
        });
        Self {
            allowed: read(&rules.allowed),
            blocked: read(&rules.blocked),
            destructive: destructive::rules(),
            unlisted: read(&rules.unlisted),
            mutators: mutators.collect(),
            permitted: BTreeSet::new(),
        }
    }

    /// Adds commands that the operator allowed in spite of the rules.
    #[must_use]
    pub fn permitting(self, commands: BTreeSet<String>) -> Self {
        Self { permitted: commands, ..self }
    }

    /// Decides whether a line of shell may run: a blocked command is a fault, an irreversible one a
    /// refusal.
    pub fn admit(&self, line: &str) -> Result<Option<Refusal>, Fault> {
        let programs = programs(line);
        for command in &programs {
            let line = || command.words.join(" ");
            if let Some(why) = self.never(command) {
                return Err(never(&line(), why));
            }
            if let Some(why) = self.forbids(command) {
                return Err(blocked(&line(), why));
            }
        }
        let refused = programs.iter().find_map(|command| {
            let (_, what) = self.mutators.iter().find(|(rule, _)| rule.covers(&command.words))?;
            Some(Refusal { what: what.clone() })
        });
        Ok(refused)
    }

    /// Returns whether a line of shell contains a command that never runs, regardless of
    /// permissions.
    pub fn holds_never(&self, line: &str) -> bool {
        programs(line).iter().any(|command| self.never(command).is_some())
    }

    /// Returns why a command never runs, unless the settings remove it from the list.
    fn never(&self, command: &Simple) -> Option<&'static str> {
        if self.unlisted.iter().any(|rule| rule.covers(&command.words)) {
            return None;
        }
        destructive::reason(command).or_else(|| {
            let listed = self.destructive.iter().any(|rule| rule.covers(&command.words));
            listed.then_some("it is on the list of what never runs")
        })
    }

    fn forbids(&self, command: &Simple) -> Option<&'static str> {
        if self.permitted.contains(&command.words.join(" ")) {
            return None;
        }
        let words = &command.words;
        if self.blocked.iter().any(|rule| rule.covers(words)) {
            return Some("the rules block it");
        }
        let program = base_name(words.first()?);
        let known = BUILT_IN.contains(&program) || self.allowed.is_empty();
        let allowed = known || self.allowed.iter().any(|rule| rule.covers(words));
        (!allowed).then_some("the rules do not allow it")
    }
}

/// Returns the fault of a blocked command.
pub(crate) fn blocked(what: &str, why: &str) -> Fault {
    Fault::permission_command_blocked(SOURCE, format!("{what}: {why}"), permission(what))
}

/// Returns the fault of a command that never runs, regardless of permissions.
fn never(what: &str, why: &str) -> Fault {
    let context = Permission { never: true, ..permission(what) };
    Fault::permission_command_blocked(SOURCE, format!("{what}: {why}; it never runs"), context)
}

fn permission(what: &str) -> Permission {
    let what = what.to_owned();
    Permission { commands: vec![what.clone()], what, ..Permission::default() }
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::{Code, Kind};

    use super::*;

    fn list(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn what_is_blocked_is_a_fault_and_what_cannot_be_taken_back_is_refused() {
        let commands =
            Commands::new(&Rules { blocked: list(&["make deploy"]), ..Rules::default() });
        for line in ["make deploy", "true && rm -rf ~", "x=$(shutdown now)", "sudo -n reboot"] {
            let fault = commands.admit(line).unwrap_err();
            assert_eq!(fault.code(), Code::PermissionCommandBlocked, "{line}");
        }
        // B16
        for (line, what) in [
            ("git push origin main", "git push"),
            ("cd a && git -C b push --force", "git push"),
            ("gh pr create --fill", "gh pr create"),
            ("sh -c 'npm publish'", "npm publish"),
            ("cargo publish --dry-run=false", "cargo publish"),
            ("docker image push x", "docker image push"),
        ] {
            let refusal = commands.admit(line).unwrap().unwrap();
            assert_eq!(refusal.what, what);
            assert!(refusal.sentence().contains("unstuck mutate"), "{}", refusal.sentence());
        }
        for line in ["make", "git commit -m 'git push'", "gh pr list", "npm test", "git stash push"]
        {
            assert_eq!(commands.admit(line).unwrap(), None, "{line}");
        }
    }

    #[test]
    fn what_a_person_allows_is_that_very_command() {
        let rules = Rules { blocked: list(&["make deploy"]), ..Rules::default() };
        let fault = Commands::new(&rules).admit("cd a && make  deploy").unwrap_err();
        let Kind::PermissionCommandBlocked(blocked) = fault.kind else { panic!("{fault}") };
        assert_eq!(blocked.commands, ["make deploy"]);
        let commands = Commands::new(&rules).permitting(blocked.commands.into_iter().collect());
        assert_eq!(commands.admit("make deploy && ls").unwrap(), None);
        commands.admit("make deploy all").unwrap_err();
        commands.admit("make deploy && rm -rf ~").unwrap_err();
    }

    // T1.4
    #[test]
    fn what_never_runs_cannot_be_allowed() {
        for line in ["rm -rf ~", "mkfs.ext4 /dev/sda1", "sudo shutdown now"] {
            let fault = Commands::new(&Rules::default()).admit(line).unwrap_err();
            let Kind::PermissionCommandBlocked(of) = fault.kind else { panic!("{fault}") };
            assert!(of.never, "{line}");
            let allowed = [of.commands, vec![line.to_owned()]].concat();
            let commands =
                Commands::new(&Rules::default()).permitting(allowed.into_iter().collect());
            commands.admit(line).unwrap_err();
            assert!(commands.holds_never(line), "{line}");
        }
        let rules = Rules { unlisted: list(&["mkfs*", "rm"]), ..Rules::default() };
        for line in ["rm -rf ~", "mkfs.ext4 /dev/sda1"] {
            assert_eq!(Commands::new(&rules).admit(line).unwrap(), None, "{line}");
        }
        Commands::new(&rules).admit("reboot").unwrap_err();
    }

    #[test]
    fn with_a_list_only_what_is_on_it_runs() {
        let rules = Rules { allowed: list(&["cargo test", "ls", "git"]), ..Rules::default() };
        let commands = Commands::new(&rules);
        for line in ["cargo test --all", "cd x && ls", "git status"] {
            assert_eq!(commands.admit(line).unwrap(), None, "{line}");
        }
        for line in ["cargo run", "ls; curl x", "python3 -c 1"] {
            commands.admit(line).unwrap_err();
        }
        assert!(commands.admit("git push").unwrap().is_some(), "allowing git allows no push");
    }
}
