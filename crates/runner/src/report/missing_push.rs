//! A push that did not arrive, and the command that repeats it.

use unstuck_core::fault::Kind;
use unstuck_core::plan::MutationKind;
use unstuck_core::text::{VALUE_CHARS_MAX, push_refusal, quote_words};
use unstuck_store::tables::{MutationRow, MutationStatus};
use unstuck_world::workspace::ProjectRepository;

use super::facts::BuildFacts;

/// The prefix of a branch's full name.
const BRANCHES: &str = "refs/heads/";
/// The default remote.
const REMOTE: &str = "origin";

/// A branch that a person has to push by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPush {
    /// The remote that it did not reach.
    pub remote: String,
    /// The short name of the branch.
    pub branch: String,
    /// The reason, as a line of git's own output, or that there was no answer.
    pub reason: Option<String>,
}

impl MissingPush {
    /// Returns the command that pushes the branch.
    pub fn push_command(&self) -> String {
        format!("git push {} {}", self.remote, self.branch)
    }

    /// Returns the advice to a person: first the reason to fix, because until then the command is
    /// refused again.
    pub fn render_advice(&self) -> String {
        match &self.reason {
            Some(reason) if is_other_branch(reason) => format!(
                "The reason: {reason}. The remote has other commits on a branch of this name. \
                 `{}:NEW-NAME` pushes it under another name.",
                self.push_command()
            ),
            Some(reason) => {
                format!(
                    "The reason: {reason}. When that is put right, `{}` pushes it.",
                    self.push_command()
                )
            }
            None => format!("`{}` pushes it.", self.push_command()),
        }
    }
}

/// Returns whether git refused a push because the remote's branch has commits that are not here.
fn is_other_branch(reason: &str) -> bool {
    reason.contains("(fetch first)") || reason.contains("(non-fast-forward)")
}

/// Returns the branch of a build whose latest push did not arrive. Each push sends the whole
/// branch, so earlier ones do not matter.
pub fn find_missing_push(facts: &BuildFacts) -> Option<MissingPush> {
    let pushes = facts.tasks.iter().flat_map(|task| &task.actions);
    let pushes = pushes.filter(|row| row.spec.kind == MutationKind::Push);
    let latest = pushes.max_by_key(|row| row.id)?;
    did_not_arrive(latest).then(|| {
        let branch = ProjectRepository::build_branch(facts.build.id);
        let failed = find_failed_push(facts);
        MissingPush {
            remote: failed.and_then(|(_, remote)| remote).unwrap_or(REMOTE).to_owned(),
            branch: branch.strip_prefix(BRANCHES).unwrap_or(&branch).to_owned(),
            reason: failed.and_then(|(said, _)| quote_push_refusal(said)),
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
fn find_failed_push(facts: &BuildFacts) -> Option<(&str, Option<&str>)> {
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
fn quote_push_refusal(said: &str) -> Option<String> {
    quote_words(&push_refusal(said)?, VALUE_CHARS_MAX)
}
