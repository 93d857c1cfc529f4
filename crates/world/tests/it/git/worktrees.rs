//! Working trees of one repository, made and removed.

use std::fs;

use tokio::task::JoinSet;
use unstuck_core::fault::Fault;

use super::TestRepo;
use super::git;

// Git reads what it keeps about every working tree, and dies of one that is half made.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn worktrees_are_made_and_removed_side_by_side() {
    let repo = TestRepo::with(&[("a", "1")]);
    let (git, first) = (git(&repo), repo.oid("HEAD"));
    let mut making = JoinSet::new();
    for n in 0..12 {
        let (git, first) = (git.clone(), first.clone());
        let path = repo.beside(&format!("tree-{n}"));
        making.spawn(async move {
            for _ in 0..4 {
                git.add_worktree(&path, &first).await?;
                git.list_worktrees().await?;
                git.remove_worktree(&path).await?;
            }
            Ok(())
        });
    }
    let made: Vec<Result<(), Fault>> = making.join_all().await;
    assert!(made.iter().all(Result::is_ok), "{made:?}");
    assert_eq!(git.list_worktrees().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_worktree_that_a_kill_left_half_made_is_made_again() {
    let repo = TestRepo::with(&[("a", "1")]);
    let (git, first, path) = (git(&repo), repo.oid("HEAD"), repo.beside("tree"));
    git.add_worktree(&path, &first).await.unwrap();
    // Git locks what it is making, and its folder may be there or not.
    fs::write(repo.path(".git/worktrees/tree/locked"), "initializing").unwrap();
    fs::remove_dir_all(&path).unwrap();
    git.add_worktree(&path, &first).await.unwrap();
    assert_eq!(git.list_worktrees().await.unwrap().len(), 2);
}
