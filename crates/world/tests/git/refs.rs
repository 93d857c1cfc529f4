//! Refs move only from where they are expected.

use unstuck_world::git::{NewCommit, Person, RefChange, Swapped};

use super::git;
use super::repo::{Repo, block_on};

fn change(
    name: &str,
    old: Option<&unstuck_world::git::Oid>,
    new: Option<&unstuck_world::git::Oid>,
) -> RefChange {
    RefChange { name: name.to_owned(), old: old.cloned(), new: new.cloned() }
}

#[test]
fn all_refs_move_or_none() {
    let repo = Repo::with(&[("a", "1")]);
    let (git, first) = (git(&repo), repo.oid("HEAD"));
    repo.write("a", "2");
    let second = repo.commit("second");
    let (one, two) = ("refs/heads/one", "refs/unstuck/two");
    let swap = |changes: &[RefChange]| block_on(git.swap(changes, "test")).unwrap();

    let made = swap(&[change(one, None, Some(&first)), change(two, None, Some(&first))]);
    assert_eq!(made, Swapped::Done);
    let late = swap(&[change(two, Some(&first), Some(&second)), change(one, None, Some(&second))]);
    assert_eq!(late, Swapped::Moved { name: one.to_owned(), at: Some(first.clone()) });
    assert_eq!(repo.oid(two), first);
    let gone = swap(&[change(one, Some(&first), None), change(two, Some(&first), Some(&second))]);
    assert_eq!(gone, Swapped::Done);
    assert_eq!(block_on(git.commit_of(one)).unwrap(), None);
    assert_eq!(repo.oid(two), second);
}

#[test]
fn the_same_parts_make_the_same_commit() {
    let repo = Repo::with(&[("a", "1")]);
    let (git, parent, tree) = (git(&repo), repo.oid("HEAD"), repo.oid("HEAD^{tree}"));
    let person = Person { name: "Grace".to_owned(), email: "grace@example.org".to_owned() };
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
        block_on(git.make_commit(new)).unwrap()
    };
    let commit = make();
    assert_eq!(commit, make());
    let shown = repo.run(["show", "-s", "--format=%an %ce %ct%n%B", commit.as_str()]);
    assert!(shown.starts_with("Grace grace@example.org 1000000000\nA title"), "{shown}");
    assert!(shown.ends_with("# kept"), "{shown}");
}
