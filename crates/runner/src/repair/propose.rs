//! Proposals: a repair that is not used by itself waits on a branch, and no branch or file of the
//! operator's is touched.

use unstuck_core::fault::Fault;
use unstuck_world::git::{Git, Oid, RefChange, RefSwapOutcome};

use super::words::branch_slug;
use crate::effects::EffectRequest;

const HEADS: &str = "refs/heads/";
/// Maximum number of proposal branches of one job before the operator has to delete some.
const PROPOSALS_MAX: u32 = 100;

/// Points a branch at `commit`, and returns its name. An existing branch with commits that the
/// operator has not merged is left alone.
pub(super) async fn propose_on_branch(
    git: &Git,
    order: &EffectRequest,
    commit: &Oid,
) -> Result<String, Fault> {
    let name = format!("unstuck/repair/{}", branch_slug(order));
    let head = git.resolve_head().await?;
    let taken: Vec<String> =
        git.list_worktrees().await?.into_iter().filter_map(|t| t.branch).collect();
    let mut short = name.clone();
    for number in 2..PROPOSALS_MAX {
        let full = format!("{HEADS}{short}");
        let old = git.resolve_commit(&full).await?;
        let is_free = match &old {
            None => true,
            Some(there) if there == commit => return Ok(short),
            Some(there) => git.is_ancestor(there, &head).await? && !taken.contains(&full),
        };
        if is_free {
            let change = RefChange { name: full, old, new: Some(commit.clone()) };
            if let RefSwapOutcome::Done =
                git.swap_refs(&[change], "unstuck: propose a repair").await?
            {
                return Ok(short);
            }
        }
        short = format!("{name}-{number}");
    }
    let context = unstuck_core::fault::Missing { what: "room for another proposal".to_owned() };
    let message = format!("too many branches begin with {name}; delete those you do not need");
    Err(Fault::precondition_missing("repair", message, context))
}
