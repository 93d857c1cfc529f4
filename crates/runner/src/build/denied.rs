//! Denials of agents, from the end of an attempt to the check of its work.
//!
//! An agent that reached the goal all the same needed no permission, so a denial is a fault only if
//! the work does not pass. A denied `unstuck mutate` is one in any case, because checks do not
//! notice a missing action. A crash in between loses the denials: the work is then judged by
//! itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use unstuck_core::attempt::ToolKind;
use unstuck_core::engine::{Command, Note, TaskId};
use unstuck_core::fault::{Fault, Kind, OF_AGENT, Permission};
use unstuck_world::agent::{Denial, End};
use unstuck_world::commands::{Commands, programs_of};

use super::world::Shared;
use crate::decider::Look;
use crate::lock::lock;
use crate::world::Order;

/// Maximum number of denials of one attempt that the fault names.
const NAMED_MAX: usize = 5;
/// Maximum number of denials of one attempt that are noted in the journal.
const NOTED_MAX: usize = 20;
/// The reason for which an agent program refuses a tool call.
const NOT_PERMITTED: &str = "commands.allowed does not list it";

/// The reason for which an agent program refuses a file.
const GUARDED: &str = "the agent's own program guards this file";

/// The name of this program in an agent's shell.
const PROGRAM: &str = "unstuck";

/// The denials of attempts whose work has not been checked yet.
#[derive(Debug, Default)]
pub(super) struct Denied(Mutex<BTreeMap<TaskId, Vec<Denial>>>);

impl Denied {
    /// Replaces the denials of a task by those of the attempt that ended.
    pub(super) fn note(&self, task: TaskId, end: &End) {
        let denials = match end {
            End::Finished { denials, .. } => denials.clone(),
            End::Failed(_) | End::Stopped => Vec::new(),
        };
        lock(&self.0).insert(task, denials);
    }

    /// Removes the denials of a task's attempt, and returns them as a fault if there are any.
    /// `list` contains the commands that never run.
    pub(super) fn take(&self, task: TaskId, list: &Commands) -> Option<Fault> {
        fault(&lock(&self.0).remove(&task)?, list)
    }
}

impl Shared {
    /// Notes in the journal what an agent was not allowed to do.
    pub(super) async fn note_denials(&self, order: &Order, end: &End) {
        let End::Finished { denials, .. } = end else { return };
        let mut what: Vec<(&str, bool)> =
            denials.iter().map(|denial| (denial.what.as_str(), is_file(denial))).collect();
        what.sort_unstable();
        what.dedup();
        for (what, is_file) in what.into_iter().take(NOTED_MAX) {
            let what = Arc::from(self.settings.redactor.text(what));
            let why = if is_file { GUARDED } else { NOT_PERMITTED };
            let note = Note::Refused { what, why: Arc::from(why) };
            let note = Command::Note { effect: order.effect.id, note };
            if let Err(error) = self.decider.command(note).await {
                tracing::debug!(%error, "a refusal could not be noted");
            }
        }
    }

    /// Returns whether an agent was denied the declaration of an action and has not declared it in
    /// another way.
    pub(super) async fn misses_declaration(&self, order: &Order, denied: &Fault) -> bool {
        let Kind::PermissionCommandBlocked(of) = &denied.kind else { return false };
        for key in of.commands.iter().flat_map(|line| declared_by(line)) {
            let Some(key) = key else { return true };
            let looked = self.decider.look(Look::Declares { task: order.effect.task, key }).await;
            if !looked.is_ok_and(|seen| seen.is()) {
                return true;
            }
        }
        false
    }
}

/// Returns the actions that a shell line declares, by their keys if the line contains them.
fn declared_by(line: &str) -> Vec<Option<String>> {
    let key = |words: Vec<String>| {
        let program = words.first()?.rsplit('/').next()?;
        let mut options = words.iter().skip(1).take_while(|word| *word != "--");
        if program != PROGRAM || !options.any(|word| word == "mutate") {
            return None;
        }
        let mut before = "";
        for word in options {
            if before == "--key" {
                return Some(Some(word.clone()));
            }
            if let Some(key) = word.strip_prefix("--key=") {
                return Some(Some(key.to_owned()));
            }
            before = word;
        }
        Some(None)
    };
    programs_of(line).into_iter().filter_map(key).collect()
}

/// Returns the denials as one fault. Commands take precedence over files, because an agent cannot
/// get around them.
fn fault(denials: &[Denial], list: &Commands) -> Option<Fault> {
    let (files, commands): (Vec<&Denial>, Vec<&Denial>) =
        denials.iter().partition(|denial| is_file(denial));
    if !commands.is_empty() {
        let what = named(&commands);
        let message = format!("the agent was not allowed to run {what}");
        let commands: Vec<String> = commands.iter().map(|denial| denial.what.clone()).collect();
        let never = commands.iter().any(|command| list.holds_never(command));
        let context = Permission { what, commands, never, ..Permission::default() };
        return Some(Fault::permission_command_blocked(OF_AGENT, message, context));
    }
    (!files.is_empty()).then(|| {
        let what = named(&files);
        let message = format!("the agent was not allowed to use {what}");
        let context = Permission { what, ..Permission::default() };
        Fault::permission_file_access(OF_AGENT, message, context)
    })
}

const fn is_file(denial: &Denial) -> bool {
    matches!(denial.tool, ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::List)
}

/// Replaces absolute paths of denied files in the worktree by their paths in the project.
pub(super) fn name_in_project(end: &mut End, worktree: &Path) {
    let End::Finished { denials, .. } = end else { return };
    let places = [Some(worktree.to_owned()), worktree.canonicalize().ok()];
    for denial in denials.iter_mut().filter(|denial| is_file(denial)) {
        let path = Path::new(&denial.what);
        let mut inside = places.iter().flatten().filter_map(|place| path.strip_prefix(place).ok());
        if let Some(inside) = inside.next().filter(|inside| !inside.as_os_str().is_empty()) {
            denial.what = inside.display().to_string();
        }
    }
}

fn named(denials: &[&Denial]) -> String {
    let mut what: Vec<&str> = denials.iter().map(|denial| denial.what.as_str()).collect();
    what.sort_unstable();
    what.dedup();
    what.truncate(NAMED_MAX);
    what.join(", ")
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Code;
    use unstuck_world::commands::Rules;

    use super::*;

    fn denial(tool: ToolKind, what: &str) -> Denial {
        Denial { tool, what: what.to_owned() }
    }

    // T4.18
    #[test]
    fn a_denied_command_weighs_more_than_a_denied_file_and_counts_once() {
        let (write, run) =
            (denial(ToolKind::Write, "/etc/hosts"), denial(ToolKind::Command, "sudo reboot"));
        let cases = [
            (vec![], None),
            (vec![write.clone()], Some((Code::PermissionFileAccess, "/etc/hosts"))),
            (
                vec![write, run.clone(), run],
                Some((Code::PermissionCommandBlocked, "run sudo reboot")),
            ),
        ];
        for (denials, expected) in cases {
            let denied = Denied::default();
            let list = Commands::new(&Rules::default());
            denied.note(TaskId(1), &End::Finished { said: String::new(), denials });
            let fault = denied.take(TaskId(1), &list);
            assert_eq!(fault.as_ref().map(Fault::code), expected.map(|(code, _)| code));
            if let (Some(fault), Some((_, names))) = (fault, expected) {
                assert!(fault.message.ends_with(names), "{}", fault.message);
            }
            assert_eq!(denied.take(TaskId(1), &list), None);
        }
    }

    // T4.18: a file in the worktree that an agent's own program refuses is not a file outside the
    // project.
    #[test]
    fn a_denied_file_of_the_worktree_is_called_as_in_the_project() {
        let denials = vec![
            denial(ToolKind::Write, "/work/t0/.npmrc"),
            denial(ToolKind::Edit, "/work/t01/x"),
            denial(ToolKind::Read, "/etc/hosts"),
            denial(ToolKind::Command, "/work/t0/run.sh"),
        ];
        let mut end = End::Finished { said: String::new(), denials };
        name_in_project(&mut end, Path::new("/work/t0"));
        let End::Finished { denials, .. } = end else { panic!() };
        let what: Vec<&str> = denials.iter().map(|denial| denial.what.as_str()).collect();
        assert_eq!(what, [".npmrc", "/work/t01/x", "/etc/hosts", "/work/t0/run.sh"]);
    }

    #[test]
    fn a_line_of_shell_declares_what_our_program_is_told_to_do() {
        let cases: [(&str, &[Option<&str>]); 6] = [
            ("unstuck mutate --key pay-1 -- curl -X POST http://a", &[Some("pay-1")]),
            ("cd b && /usr/bin/unstuck mutate --quiet --key=pay-2 -- pay", &[Some("pay-2")]),
            ("unstuck mutate -- pay --key pay-3", &[None]),
            ("unstuck status; npm install", &[]),
            ("grep -rn 'unstuck mutate' docs", &[]),
            ("unstuck exec -- mutate", &[]),
        ];
        for (line, keys) in cases {
            let found = declared_by(line);
            let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
            assert_eq!(found, keys, "{line}");
        }
    }

    #[test]
    fn an_attempt_that_failed_by_itself_leaves_no_denial_of_an_earlier_one() {
        let denied = Denied::default();
        let list = Commands::new(&Rules::default());
        let denials = vec![denial(ToolKind::Command, "x")];
        denied.note(TaskId(1), &End::Finished { said: String::new(), denials });
        denied.note(TaskId(1), &End::Stopped);
        assert_eq!(denied.take(TaskId(1), &list), None);
    }
}
