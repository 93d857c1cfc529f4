//! Changes brought onto each other, and patches.

use std::fs;
use std::path::PathBuf;

use unstuck_testkit::stage::{TestRepo, write_program};
use unstuck_world::git::Git;

use super::git;
use crate::support::block_on;

#[test]
fn changes_in_different_places_merge_and_in_the_same_place_conflict() {
    let repo = TestRepo::with(&[("a", "1\n2\n3\n4\n5\n"), ("b", "1\n")]);
    let base = repo.oid("HEAD");
    repo.write("a", "ours\n2\n3\n4\n5\n");
    repo.write("b", "ours\n");
    let ours = repo.commit("ours");
    repo.git(["checkout", "-q", base.as_str()]);
    repo.write("a", "1\n2\n3\n4\ntheirs\n");
    let clean = repo.commit("theirs");
    repo.write("b", "theirs\n");
    let clash = repo.commit("theirs too");

    let merged = block_on(git(&repo).merge_changes(&base, &ours, &clean)).unwrap();
    assert_eq!(merged.conflicts, Vec::<PathBuf>::new());
    let text = repo.git(["show", &format!("{}:a", merged.tree)]);
    assert_eq!(text, "ours\n2\n3\n4\ntheirs");

    let merged = block_on(git(&repo).merge_changes(&base, &ours, &clash)).unwrap();
    assert_eq!(merged.conflicts, [PathBuf::from("b")]);
    let marked = repo.git(["show", &format!("{}:b", merged.tree)]);
    assert!(marked.starts_with("<<<<<<< "), "{marked}");
    assert!(marked.contains("ours") && marked.contains("theirs"), "{marked}");
}

/// Debian 12 has such a one.
#[test]
fn a_git_that_cannot_be_told_the_base_merges_all_the_same() {
    let repo = TestRepo::with(&[("a", "1\n2\n3\n4\n5\n")]);
    repo.write("a", "ours\n2\n3\n4\n5\n");
    let ours = repo.commit("ours");
    repo.write("a", "ours\n2\n3\n4\ntheirs\n");
    let theirs = repo.commit("theirs, on top of ours");
    repo.write("b", "1\n");
    let more = repo.commit("more of theirs");

    let folder = tempfile::tempdir().unwrap();
    let older = folder.path().join("git");
    let refuses = "for arg; do case $arg in --merge-base=*) exit 129 ;; esac; done";
    write_program(&older, &format!("{refuses}\nexec git \"$@\""));
    // What git itself would take as the base is another one: `theirs`.
    for git in [Git::new("git", repo.path(".")), Git::new(&older, repo.path("."))] {
        let merged = block_on(git.merge_changes(&theirs, &ours, &more)).unwrap();
        assert_eq!(merged.conflicts, Vec::<PathBuf>::new());
        assert_eq!(repo.git(["show", &format!("{}:a", merged.tree)]), "ours\n2\n3\n4\n5");
        assert_eq!(repo.git(["show", &format!("{}:b", merged.tree)]), "1");
    }
}

#[test]
fn a_patch_holds_the_whole_change() {
    let repo = TestRepo::with(&[("a", "1\n"), ("b", "1\n")]);
    let before = repo.oid("HEAD");
    repo.write("a", "2\n");
    fs::write(repo.path("picture"), [0, 159, 146, 150, 0]).unwrap();
    let after = repo.commit("second");
    let patch = block_on(git(&repo).create_patch(&before, &after)).unwrap();
    repo.git(["checkout", "-q", before.as_str()]);
    let file = repo.beside("change.patch");
    fs::write(&file, patch).unwrap();
    repo.git(["apply", "--index", "--whitespace=nowarn", file.to_str().unwrap()]);
    assert_eq!(fs::read(repo.path("picture")).unwrap(), [0, 159, 146, 150, 0]);
    assert_eq!(repo.git(["write-tree"]), repo.oid(&format!("{after}^{{tree}}")).as_str());
}
