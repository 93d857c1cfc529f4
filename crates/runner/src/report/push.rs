//! A push that did not arrive, and the command that repeats it.

use unstuck_core::fault::Kind;
use unstuck_core::plan::MutationKind;
use unstuck_core::text::{VALUE_CHARS_MAX, push_refusal, quoted};
use unstuck_store::tables::{MutationRow, MutationStatus};
use unstuck_world::workspace::Project;

use super::facts::Facts;

/// The prefix of a branch's full name.
const BRANCHES: &str = "refs/heads/";
/// The default remote.
const REMOTE: &str = "origin";

/// A branch that a person has to push by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushLeft {
    /// The remote that it did not reach.
    pub remote: String,
    /// The short name of the branch.
    pub branch: String,
    /// The reason, as a line of git's own output, or that there was no answer.
    pub reason: Option<String>,
}

impl PushLeft {
    /// Returns the command that pushes the branch.
    pub fn command(&self) -> String {
        format!("git push {} {}", self.remote, self.branch)
    }

    /// Returns the advice to a person: first the reason to fix, because until then the command is
    /// refused again.
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

/// Returns the branch of a build whose latest push did not arrive. Each push sends the whole
/// branch, so earlier ones do not matter.
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

/// Returns git's output about the latest push that failed, and its remote.
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

/// Returns the line with the reason, in quotation marks.
fn reason(said: &str) -> Option<String> {
    quoted(&push_refusal(said)?, VALUE_CHARS_MAX)
}
