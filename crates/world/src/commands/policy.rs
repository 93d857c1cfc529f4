//! The rules about commands, and their application to a line of shell.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use unstuck_core::fault::{Fault, Permission};

use super::rule::{
    CommandRule, MUTATORS, find_destructive_reason, parse_blocked_rules, render_refusal,
};
use super::shell::{BUILT_IN, SimpleCommand, base_name, find_commands, runs_script_of_arguments};

const SOURCE: &str = "commands";
/// The rules, as they are written in the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandRules {
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
pub struct CommandPolicy {
    allowed: Vec<CommandRule>,
    blocked: Vec<CommandRule>,
    /// Commands that never run, by program and subcommand.
    destructive: Vec<CommandRule>,
    /// Commands that the settings remove from the list of those that never run.
    unlisted: Vec<CommandRule>,
    mutators: Vec<(CommandRule, String)>,
    /// Commands that would be blocked, and that the operator allowed literally.
    permitted: BTreeSet<String>,
}

/// A command that was not run because it is irreversible. The first refusals have no consequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRefusal {
    /// The program and its subcommand.
    pub what: String,
    /// The whole command.
    pub command: String,
}

impl CommandRefusal {
    /// Returns the message for the agent.
    pub fn render_sentence(&self) -> String {
        render_refusal(&self.what)
    }
}

impl CommandPolicy {
    /// Parses the rules.
    pub fn new(rules: &CommandRules) -> Self {
        let read =
            |texts: &[String]| texts.iter().filter_map(|text| CommandRule::parse(text)).collect();
        let mutators = MUTATORS.iter().flat_map(|(program, all)| {
            let what = all.iter().map(move |does| format!("{program} {does}"));
            what.filter_map(|what| Some((CommandRule::parse(&what)?, what)))
        });
        Self {
            allowed: read(&rules.allowed),
            blocked: read(&rules.blocked),
            destructive: parse_blocked_rules(),
            unlisted: read(&rules.unlisted),
            mutators: mutators.collect(),
            permitted: BTreeSet::new(),
        }
    }

    /// Adds commands that the operator allowed in spite of the rules.
    #[must_use]
    pub fn with_permitted(self, commands: BTreeSet<String>) -> Self {
        Self { permitted: commands, ..self }
    }

    /// Decides whether a line of shell may run: a blocked command is a fault, an irreversible one a
    /// refusal.
    pub fn check_line(&self, line: &str) -> Result<Option<CommandRefusal>, Fault> {
        let programs = find_commands(line);
        for command in &programs {
            if let Some(why) = self.find_never_reason(command) {
                return Err(never_fault(&command.render_line(), why));
            }
            if self.is_permitted(command) {
                continue;
            }
            if self.is_blocked(command) {
                return Err(listed_fault(&command.render_line()));
            }
            if self.is_unlisted(command) {
                return Err(blocked_fault(&command.render_line(), "the rules do not allow it"));
            }
        }
        Ok(programs.iter().find_map(|command| self.refuse_irreversible(command)))
    }

    /// Returns whether a line of shell contains a command that reaches outside and cannot be undone.
    pub fn is_irreversible(&self, line: &str) -> bool {
        find_commands(line).iter().any(|command| self.refuse_irreversible(command).is_some())
    }

    /// Returns the irreversible command that is all of a line, if the operator allowed it.
    pub fn find_allowed_irreversible(&self, line: &str) -> Option<String> {
        let [command] = &find_commands(line)[..] else { return None };
        let refusal = self.refuse_irreversible(command)?;
        self.permits_text(&refusal.command).then_some(refusal.command)
    }

    /// Returns whether the operator allowed exactly this text: a command, or a declared action.
    pub fn permits_text(&self, text: &str) -> bool {
        self.permitted.contains(text)
    }

    fn refuse_irreversible(&self, command: &SimpleCommand) -> Option<CommandRefusal> {
        let (_, what) =
            self.mutators.iter().find(|(rule, _)| rule.covers_command(&command.words))?;
        Some(CommandRefusal { what: what.clone(), command: command.render_line() })
    }

    /// Returns whether a line of shell contains a command that never runs, regardless of
    /// permissions.
    pub fn is_never_allowed(&self, line: &str) -> bool {
        find_commands(line).iter().any(|command| self.find_never_reason(command).is_some())
    }

    /// Returns whether the settings remove a command of the program from the list of those that never
    /// run.
    pub(super) fn is_exempted(&self, program: &str) -> bool {
        self.unlisted.iter().any(|rule| rule.names_program(program))
    }

    /// Returns why a command never runs, unless the settings remove it from the list.
    fn find_never_reason(&self, command: &SimpleCommand) -> Option<&'static str> {
        if self.unlisted.iter().any(|rule| rule.covers_command(&command.words)) {
            return None;
        }
        find_destructive_reason(command).or_else(|| {
            let listed = self.destructive.iter().any(|rule| rule.covers_command(&command.words));
            listed.then_some("it is on the list of what never runs")
        })
    }

    /// Returns whether the settings block a command of this line of shell.
    pub fn blocks_line(&self, line: &str) -> bool {
        find_commands(line).iter().any(|command| self.is_blocked(command))
    }

    /// Returns whether the operator allowed this very command.
    fn is_permitted(&self, command: &SimpleCommand) -> bool {
        // Earlier versions stored the words alone; they say nothing of the files that it writes.
        self.permitted.contains(&command.render_line())
            || command.writes.is_empty() && self.permitted.contains(&command.words.join(" "))
    }

    fn is_blocked(&self, command: &SimpleCommand) -> bool {
        self.blocked.iter().any(|rule| rule.covers_command(&command.words))
    }

    /// Returns whether there is a list of what may run, and the command is not on it.
    fn is_unlisted(&self, command: &SimpleCommand) -> bool {
        let Some(program) = command.words.first() else { return false };
        // The commands of `sh -c` are judged one by one; Codex runs each of its commands so.
        let known = BUILT_IN.contains(&base_name(program))
            || self.allowed.is_empty()
            || runs_script_of_arguments(&command.words);
        !known && !self.allowed.iter().any(|rule| rule.covers_command(&command.words))
    }
}

/// Returns the fault of a command that the settings name as blocked.
fn listed_fault(what: &str) -> Fault {
    let context = Permission { blocked: true, ..permission_context(what) };
    Fault::permission_command_blocked(SOURCE, format!("{what}: the rules block it"), context)
}

fn blocked_fault(what: &str, why: &str) -> Fault {
    Fault::permission_command_blocked(SOURCE, format!("{what}: {why}"), permission_context(what))
}

/// Returns the fault of an irreversible command that was refused too often. `command` is the command
/// that the operator can allow, `None` if it is somewhere inside `line`.
pub(crate) fn irreversible_fault(line: &str, command: Option<&str>, why: &str) -> Fault {
    let what = command.unwrap_or(line);
    let commands = command.map(str::to_owned).into_iter().collect();
    let context = Permission { irreversible: true, commands, ..permission_context(what) };
    Fault::permission_command_blocked(SOURCE, format!("{what}: {why}"), context)
}

fn never_fault(what: &str, why: &str) -> Fault {
    let context = Permission { never: true, ..permission_context(what) };
    Fault::permission_command_blocked(SOURCE, format!("{what}: {why}; it never runs"), context)
}

fn permission_context(what: &str) -> Permission {
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
        let commands = CommandPolicy::new(&CommandRules {
            blocked: list(&["make deploy"]),
            ..CommandRules::default()
        });
        for line in ["make deploy", "true && rm -rf ~", "x=$(shutdown now)", "sudo -n reboot"] {
            let fault = commands.check_line(line).unwrap_err();
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
            let refusal = commands.check_line(line).unwrap().unwrap();
            assert_eq!(refusal.what, what);
            assert!(
                refusal.render_sentence().contains("unstuck mutate"),
                "{}",
                refusal.render_sentence()
            );
        }
        for line in ["make", "git commit -m 'git push'", "gh pr list", "npm test", "git stash push"]
        {
            assert_eq!(commands.check_line(line).unwrap(), None, "{line}");
        }
    }

    #[test]
    fn what_a_person_allows_is_that_very_command() {
        let rules = CommandRules { blocked: list(&["make deploy"]), ..CommandRules::default() };
        let fault = CommandPolicy::new(&rules).check_line("cd a && make  deploy").unwrap_err();
        let Kind::PermissionCommandBlocked(blocked) = fault.kind else { panic!("{fault}") };
        assert_eq!(blocked.commands, ["make deploy"]);
        let commands =
            CommandPolicy::new(&rules).with_permitted(blocked.commands.into_iter().collect());
        assert_eq!(commands.check_line("make deploy && ls").unwrap(), None);
        commands.check_line("make deploy all").unwrap_err();
        commands.check_line("make deploy > /etc/motd").unwrap_err();
        commands.check_line("make deploy && rm -rf ~").unwrap_err();
    }

    // T1.4
    #[test]
    fn what_never_runs_cannot_be_allowed() {
        let home = std::env::home_dir().unwrap().display().to_string();
        let lines = ["rm -rf ~", "mkfs.ext4 /dev/sda1", "sudo shutdown now", "rm -rf /home/ada/*"];
        for line in lines.map(str::to_owned).into_iter().chain([format!("rm -r {home}")]) {
            let line = &*line;
            let fault = CommandPolicy::new(&CommandRules::default()).check_line(line).unwrap_err();
            let Kind::PermissionCommandBlocked(of) = fault.kind else { panic!("{fault}") };
            assert!(of.never, "{line}");
            let allowed = [of.commands, vec![line.to_owned()]].concat();
            let commands = CommandPolicy::new(&CommandRules::default())
                .with_permitted(allowed.into_iter().collect());
            commands.check_line(line).unwrap_err();
            assert!(commands.is_never_allowed(line), "{line}");
        }
        let rules = CommandRules { unlisted: list(&["mkfs*", "rm"]), ..CommandRules::default() };
        for line in ["rm -rf ~", "mkfs.ext4 /dev/sda1"] {
            assert_eq!(CommandPolicy::new(&rules).check_line(line).unwrap(), None, "{line}");
        }
        CommandPolicy::new(&rules).check_line("reboot").unwrap_err();
    }

    #[test]
    fn with_a_list_only_what_is_on_it_runs() {
        let rules =
            CommandRules { allowed: list(&["cargo test", "ls", "git"]), ..CommandRules::default() };
        let commands = CommandPolicy::new(&rules);
        for line in ["cargo test --all", "cd x && ls", "git status"] {
            assert_eq!(commands.check_line(line).unwrap(), None, "{line}");
        }
        for line in ["cargo run", "ls; curl x", "python3 -c 1"] {
            commands.check_line(line).unwrap_err();
        }
        // Codex runs each command in a shell.
        assert_eq!(commands.check_line("/bin/bash -lc 'git status'").unwrap(), None);
        commands.check_line("/bin/bash -lc 'frobnicate'").unwrap_err();
        commands.check_line("bash frobnicate.sh").unwrap_err();
        commands.check_line("bash -rcfile ls frobnicate.sh").unwrap_err();
        assert!(commands.check_line("git push").unwrap().is_some(), "allowing git allows no push");
    }
}
