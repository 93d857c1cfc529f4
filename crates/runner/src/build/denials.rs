//! Denials of agents, from the end of an attempt to the check of its work.
//!
//! An agent that reached the goal all the same needed no permission, so a denial is a fault only if
//! the work does not pass. A denied `unstuck mutate` is one in any case, because checks do not
//! notice a missing action. A crash in between loses the denials: the work is then judged by
//! itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use unstuck_core::attempt::ToolKind;
use unstuck_core::engine::TaskId;
use unstuck_core::fault::{Fault, OF_AGENT, Permission};
use unstuck_world::agent::{AgentEnd, Denial};
use unstuck_world::commands::{CommandPolicy, list_programs};

use crate::effects::lock_unpoisoned;

/// Maximum number of denials of one attempt that the fault names.
const NAMED_MAX: usize = 5;

/// Folders in which agents have no work to do.
const OF_PROGRAMS: [&str; 3] = [".git", ".claude", ".codex"];

/// The name of this program in an agent's shell.
const PROGRAM: &str = "unstuck";

/// The denials of attempts whose work has not been checked yet.
#[derive(Debug, Default)]
pub(super) struct AttemptDenials(Mutex<BTreeMap<TaskId, Vec<Denial>>>);

impl AttemptDenials {
    /// Replaces the denials of a task by those of the attempt that ended.
    pub(super) fn replace_denials(&self, task: TaskId, end: &AgentEnd) {
        let denials = match end {
            AgentEnd::Finished { denials, .. } => denials.clone(),
            AgentEnd::Failed(_) | AgentEnd::Stopped => Vec::new(),
        };
        lock_unpoisoned(&self.0).insert(task, denials);
    }

    /// Returns whether the agent's program denied it a file of the project that the work lacks: it is
    /// not in `changed`. Folders of git and of the program itself are not the work's.
    pub(super) fn lacks_file(&self, task: TaskId, changed: &BTreeSet<PathBuf>) -> bool {
        let is_of_work = |path: &Path| {
            path.is_relative() && !OF_PROGRAMS.iter().any(|folder| path.starts_with(folder))
        };
        let denied = lock_unpoisoned(&self.0);
        denied.get(&task).into_iter().flatten().any(|denial| {
            let path = Path::new(&denial.what);
            matches!(denial.tool, ToolKind::Write | ToolKind::Edit)
                && is_of_work(path)
                && !changed.contains(path)
        })
    }

    /// Removes the denials of a task's attempt, and returns them as a fault if there are any.
    /// `list` contains the commands that never run.
    pub(super) fn take_fault(&self, task: TaskId, list: &CommandPolicy) -> Option<Fault> {
        to_denial_fault(&lock_unpoisoned(&self.0).remove(&task)?, list)
    }
}

/// Returns the actions that a shell line declares, by their keys if the line contains them.
pub(super) fn parse_declared_keys(line: &str) -> Vec<Option<String>> {
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
    list_programs(line).into_iter().filter_map(key).collect()
}

/// Returns the denials as one fault. Commands take precedence over files, because an agent cannot
/// get around them.
fn to_denial_fault(denials: &[Denial], list: &CommandPolicy) -> Option<Fault> {
    let (files, commands): (Vec<&Denial>, Vec<&Denial>) =
        denials.iter().partition(|denial| is_file_denial(denial));
    if !commands.is_empty() {
        let what = join_denied_names(&commands);
        let message = format!("the agent was not allowed to run {what}");
        let commands: Vec<String> = commands.iter().map(|denial| denial.what.clone()).collect();
        let never = commands.iter().any(|command| list.is_never_allowed(command));
        let blocked = commands.iter().any(|command| list.blocks_line(command));
        let irreversible = commands.iter().any(|command| list.is_irreversible(command));
        let context =
            Permission { what, commands, never, blocked, irreversible, ..Permission::default() };
        return Some(Fault::permission_command_blocked(OF_AGENT, message, context));
    }
    (!files.is_empty()).then(|| {
        let what = join_denied_names(&files);
        let message = format!("the agent was not allowed to use {what}");
        let context = Permission { what, ..Permission::default() };
        Fault::permission_file_access(OF_AGENT, message, context)
    })
}

pub(super) const fn is_file_denial(denial: &Denial) -> bool {
    matches!(denial.tool, ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::List)
}

/// Replaces absolute paths of denied files in the worktree by their paths in the project.
pub(super) fn relativize_denied_paths(end: &mut AgentEnd, worktree: &Path) {
    let AgentEnd::Finished { denials, .. } = end else { return };
    let places = [Some(worktree.to_owned()), worktree.canonicalize().ok()];
    for denial in denials.iter_mut().filter(|denial| is_file_denial(denial)) {
        let path = Path::new(&denial.what);
        let mut inside = places.iter().flatten().filter_map(|place| path.strip_prefix(place).ok());
        if let Some(inside) = inside.next().filter(|inside| !inside.as_os_str().is_empty()) {
            denial.what = inside.display().to_string();
        }
    }
}

fn join_denied_names(denials: &[&Denial]) -> String {
    let mut what: Vec<&str> = denials.iter().map(|denial| denial.what.as_str()).collect();
    what.sort_unstable();
    what.dedup();
    what.truncate(NAMED_MAX);
    what.join(", ")
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Code;
    use unstuck_world::commands::CommandRules;

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
            let denied = AttemptDenials::default();
            let list = CommandPolicy::new(&CommandRules::default());
            denied.replace_denials(TaskId(1), &AgentEnd::Finished { said: String::new(), denials });
            let fault = denied.take_fault(TaskId(1), &list);
            assert_eq!(fault.as_ref().map(Fault::code), expected.map(|(code, _)| code));
            if let (Some(fault), Some((_, names))) = (fault, expected) {
                assert!(fault.message.ends_with(names), "{}", fault.message);
            }
            assert_eq!(denied.take_fault(TaskId(1), &list), None);
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
        let mut end = AgentEnd::Finished { said: String::new(), denials };
        relativize_denied_paths(&mut end, Path::new("/work/t0"));
        let AgentEnd::Finished { denials, .. } = end else { panic!() };
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
            let found = parse_declared_keys(line);
            let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
            assert_eq!(found, keys, "{line}");
        }
    }

    #[test]
    fn an_attempt_that_failed_by_itself_leaves_no_denial_of_an_earlier_one() {
        let denied = AttemptDenials::default();
        let list = CommandPolicy::new(&CommandRules::default());
        let denials = vec![denial(ToolKind::Command, "x")];
        denied.replace_denials(TaskId(1), &AgentEnd::Finished { said: String::new(), denials });
        denied.replace_denials(TaskId(1), &AgentEnd::Stopped);
        assert_eq!(denied.take_fault(TaskId(1), &list), None);
    }
}
