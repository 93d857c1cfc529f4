//! A push that did not arrive, and the command that sends the work.

use unstuck_core::fault::Kind;
use unstuck_core::plan::MutationKind;
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
}

impl PushLeft {
    /// The command that pushes it.
    pub fn command(&self) -> String {
        format!("git push {} {}", self.remote, self.branch)
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
        PushLeft {
            remote: remote(facts).unwrap_or(REMOTE).to_owned(),
            branch: branch.strip_prefix(BRANCHES).unwrap_or(&branch).to_owned(),
        }
    })
}

const fn did_not_arrive(push: &MutationRow) -> bool {
    matches!(
        push.status,
        MutationStatus::Skipped | MutationStatus::Failed | MutationStatus::NotApplied
    )
}

/// The remote that a push was meant for, as its fault says.
fn remote(facts: &Facts) -> Option<&str> {
    let faults =
        facts.tasks.iter().flat_map(|task| &task.runs).filter_map(|run| run.fault.as_ref());
    let mut pushes = faults.filter_map(|fault| match &fault.kind {
        Kind::GitPushFailed(operation) => operation.remote.as_deref(),
        _ => None,
    });
    pushes.next_back()
}
