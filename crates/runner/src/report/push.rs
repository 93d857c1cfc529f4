//! A push that did not arrive, and the command that sends the work.

use unstuck_core::fault::Kind;
use unstuck_core::plan::MutationKind;
use unstuck_core::text::{VALUE_CHARS_MAX, push_refusal, quoted};
use unstuck_store::tables::{MutationRow, MutationStatus};
use unstuck_world::workspace::Project;

use super::facts::Facts;

/// What the full name of a branch begins with.
const BRANCHES: &str = "refs/heads/";
/// The remote that is meant where none was named.
const REMOTE: &str = "origin";

/// A branch that a person has to push by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushLeft {
    /// The remote it did not reach.
    pub remote: String,
    /// The branch, by its short name.
    pub branch: String,
    /// Why, in a line of git's own words, or that it was not answered.
    pub reason: Option<String>,
}

impl PushLeft {
    /// The command that pushes it.
    pub fn command(&self) -> String {
        format!("git push {} {}", self.remote, self.branch)
    }

    /// What to do: the same command is refused again while its reason is there.
    pub fn advice(&self) -> String {
        match &self.reason {
            Some(reason) => {
                format!(
                    "The reason: {reason}. When that is put right, `{}` pushes it.",
                    self.command()
                )
            }
            None => format!("`{}` pushes it.", self.command()),
        }
    }
}

/// The branch of a build whose latest push did not arrive. Each push sends the whole branch, so an
/// earlier one does not matter.
pub fn push_left(facts: &Facts) -> Option<PushLeft> {
    let pushes = facts.tasks.iter().flat_map(|task| &task.actions);
    let pushes = pushes.filter(|row| row.spec.kind == MutationKind::Push);
    let latest = pushes.max_by_key(|row| row.id)?;
    did_not_arrive(latest).then(|| {
        let branch = Project::branch(facts.build.id);
        let failed = failed_push(facts);
        PushLeft {
            remote: failed.and_then(|(_, remote)| remote).unwrap_or(REMOTE).to_owned(),
            branch: branch.strip_prefix(BRANCHES).unwrap_or(&branch).to_owned(),
            reason: failed.and_then(|(said, _)| reason(said)),
        }
    })
}

const fn did_not_arrive(push: &MutationRow) -> bool {
    matches!(
        push.status,
        MutationStatus::Skipped | MutationStatus::Failed | MutationStatus::NotApplied
    )
}

/// What git said about the latest push that failed, and the remote that it was meant for.
fn failed_push(facts: &Facts) -> Option<(&str, Option<&str>)> {
    let runs = facts.tasks.iter().flat_map(|task| &task.runs);
    let failed = runs.filter_map(|run| match &run.fault.as_ref()?.kind {
        Kind::GitPushFailed(operation) => Some((run, operation)),
        _ => None,
    });
    let (run, operation) = failed.max_by_key(|(run, _)| run.id)?;
    let said = run.fault.as_ref().map_or("", |fault| fault.message.as_str());
    Some((said, operation.remote.as_deref()))
}

/// The line that says why, set apart by quotation marks.
fn reason(said: &str) -> Option<String> {
    quoted(&push_refusal(said)?, VALUE_CHARS_MAX)
}
