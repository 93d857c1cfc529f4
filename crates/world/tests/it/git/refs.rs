//! Refs move only from where they are expected.

use unstuck_testkit::stage::{TestRepo, write_program};
use unstuck_world::git::{CommitAuthor, NewCommit, RefChange, RefSwapOutcome};

use super::git;
use crate::support::block_on;

fn change(
    name: &str,
    old: Option<&unstuck_world::git::Oid>,
    new: Option<&unstuck_world::git::Oid>,
) -> RefChange {
    RefChange { name: name.to_owned(), old: old.cloned(), new: new.cloned() }
}

#[test]
fn all_refs_move_or_none() {
    let repo = TestRepo::with(&[("a", "1")]);
    let (git, first) = (git(&repo), repo.oid("HEAD"));
    repo.write("a", "2");
    let second = repo.commit("second");
    let (one, two) = ("refs/heads/one", "refs/unstuck/two");
    let swap = |changes: &[RefChange]| block_on(git.swap_refs(changes, "test")).unwrap();

    let made = swap(&[change(one, None, Some(&first)), change(two, None, Some(&first))]);
    assert_eq!(made, RefSwapOutcome::Done);
    let late = swap(&[change(two, Some(&first), Some(&second)), change(one, None, Some(&second))]);
    assert_eq!(late, RefSwapOutcome::Moved { name: one.to_owned(), at: Some(first.clone()) });
    assert_eq!(repo.oid(two), first);
    let gone = swap(&[change(one, Some(&first), None), change(two, Some(&first), Some(&second))]);
    assert_eq!(gone, RefSwapOutcome::Done);
    assert_eq!(block_on(git.resolve_commit(one)).unwrap(), None);
    assert_eq!(repo.oid(two), second);
}

#[test]
fn the_same_parts_make_the_same_commit() {
    let repo = TestRepo::with(&[("a", "1")]);
    let (git, parent, tree) = (git(&repo), repo.oid("HEAD"), repo.oid("HEAD^{tree}"));
    let person = CommitAuthor { name: "Grace".to_owned(), email: "grace@example.org".to_owned() };
    let at = unstuck_core::time::Time::from_millis(1_000_000_000_999);
    let make = || {
        let parents = [parent.clone()];
        let message = "A title\n\nand a body with trailing # marks\n# kept\n";
        let new = NewCommit {
            tree: &tree,
            parents: &parents,
            message,
            person: &person,
            at,
            signed: true,
        };
        block_on(git.create_commit(new)).unwrap()
    };
    let commit = make();
    assert_eq!(commit, make());
    let shown = repo.git(["show", "-s", "--format=%an %ce %ct%n%B", commit.as_str()]);
    assert!(shown.starts_with("Grace grace@example.org 1000000000\nA title"), "{shown}");
    assert!(shown.ends_with("# kept"), "{shown}");
}

// What a ref means is asked of a git that stays; what others do meanwhile is seen by the next question.
#[tokio::test]
async fn a_ref_that_another_process_moves_is_seen_at_once() {
    let repo = TestRepo::with(&[("a", "1")]);
    let (git, first) = (git(&repo), repo.oid("HEAD"));
    let name = "refs/heads/moving";
    assert_eq!(git.resolve_commit(name).await.unwrap(), None);
    repo.git(["branch", "moving"]);
    assert_eq!(git.resolve_commit(name).await.unwrap(), Some(first.clone()));
    repo.git(["pack-refs", "--all"]);
    repo.write("a", "2");
    let second = repo.commit("second");
    repo.git(["branch", "--force", "moving", "HEAD"]);
    assert_eq!(git.resolve_commit(name).await.unwrap(), Some(second.clone()));
    assert_eq!(git.resolve_tree(second.as_str()).await.unwrap(), Some(repo.oid("HEAD^{tree}")));
    repo.git(["pack-refs", "--all"]);
    repo.git(["gc", "--quiet"]);
    assert_eq!(git.resolve_commit(name).await.unwrap(), Some(second));
    repo.git(["branch", "--delete", "--force", "moving"]);
    assert_eq!(git.resolve_commit(name).await.unwrap(), None);
    assert_eq!(git.resolve_commit(first.as_str()).await.unwrap(), Some(first));
}

#[tokio::test]
async fn a_git_that_is_killed_between_two_questions_is_started_again() {
    let repo = TestRepo::with(&[("a", "1")]);
    let (git, first) = (git(&repo), repo.oid("HEAD"));
    let staying = repo.beside("staying-git");
    // Answers one question and dies.
    let script = "for word in \"$@\"; do [ \"$word\" = cat-file ] && read -r name && \
                  git rev-parse \"$name\" && exit; done\nexec git \"$@\"";
    write_program(&staying, script);
    let dying = unstuck_world::git::Git::new(&staying, git.directory());
    for _ in 0..3 {
        assert_eq!(dying.resolve_commit("refs/heads/main").await.unwrap(), Some(first.clone()));
    }
}
