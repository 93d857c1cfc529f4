//! Branches that a build leaves behind go only when the person has all of it.

use unstuck_core::engine::{BuildId, RunId};
use unstuck_world::workspace::BranchStatus;

use crate::support::block_on;
use crate::support::task_worktree::Stage;

#[test]
fn a_branch_goes_only_when_the_person_has_all_of_it() {
    let stage = Stage::with(&[("a", "1\n")]);
    let (repo, project) = (&stage.repo, &stage.project);
    let base = repo.oid("HEAD");
    for name in ["unstuck/b7", "unstuck/b7.t3", "unstuck/b70", "unstuck/b8"] {
        repo.git(["branch", name]);
    }
    repo.git(["checkout", "-q", "unstuck/b7"]);
    repo.write("a", "2\n");
    let tip = repo.commit("work");
    let found = || block_on(project.list_build_branches(BuildId(7))).unwrap();
    let standing = |name: &str| {
        let found = found();
        assert_eq!(found.len(), 2, "{found:?}");
        found.into_iter().find(|left| left.name == format!("refs/heads/{name}")).unwrap()
    };
    assert!(matches!(standing("unstuck/b7").branch, BranchStatus::InUse(_)));
    repo.git(["checkout", "-q", "main"]);
    let needed = standing("unstuck/b7");
    assert_eq!(needed.branch, BranchStatus::Needed(1));
    assert!(!block_on(project.delete_branch(BuildId(7), &needed)).unwrap());
    assert_eq!(standing("unstuck/b7.t3").branch, BranchStatus::Free);

    repo.git(["merge", "-q", "--ff-only", "unstuck/b7"]);
    let free = standing("unstuck/b7");
    repo.git(["branch", "-f", "unstuck/b7", base.as_str()]);
    assert!(!block_on(project.delete_branch(BuildId(7), &free)).unwrap(), "it moved since");
    repo.git(["branch", "-f", "unstuck/b7", tip.as_str()]);
    assert!(block_on(project.delete_branch(BuildId(7), &free)).unwrap());
    assert_eq!(found().len(), 1);
}

#[test]
fn saved_attempts_are_counted_by_their_runs() {
    let stage = Stage::with(&[("a", "1\n")]);
    stage.repo.git(["update-ref", "refs/unstuck/attempts/r12", "HEAD"]);
    let runs = [RunId(1), RunId(12)];
    assert_eq!(block_on(stage.project.count_attempts(&runs)).unwrap(), 1);
}
