//! What a branch brings, and bringing it.

use std::fs;

use unstuck_testkit::stage::TestRepo;

use super::git;
use crate::support::block_on;

#[test]
fn commits_are_listed_oldest_first_with_their_titles() {
    let repo = TestRepo::with(&[("a", "1\n")]);
    let first = repo.oid("HEAD");
    repo.write("a", "2\n");
    let second = repo.commit("second: with a colon\n\nand a body");
    repo.write("b", "ü\n");
    let third = repo.commit("drittens: ümlaut");
    let commits = block_on(git(&repo).list_commits(&first, &third)).unwrap();
    let [one, two] = commits.as_slice() else { panic!("{commits:?}") };
    assert_eq!((&one.oid, one.title.as_str()), (&second, "second: with a colon"));
    assert_eq!(
        (one.parents.as_slice(), two.title.as_str()),
        (&[first.clone()][..], "drittens: ümlaut")
    );
    assert!(block_on(git(&repo).list_commits(&third, &first)).unwrap().is_empty());
}

#[test]
fn two_branches_have_a_base_and_strangers_have_none() {
    let repo = TestRepo::with(&[("a", "1\n")]);
    let base = repo.oid("HEAD");
    repo.write("a", "2\n");
    let ours = repo.commit("ours");
    repo.git(["checkout", "-q", base.as_str()]);
    repo.write("b", "1\n");
    let theirs = repo.commit("theirs");
    assert_eq!(block_on(git(&repo).find_merge_base(&ours, &theirs)).unwrap(), Some(base));
    repo.git(["checkout", "-q", "--orphan", "stranger"]);
    let stranger = repo.commit("stranger");
    assert_eq!(block_on(git(&repo).find_merge_base(&ours, &stranger)).unwrap(), None);
}

#[test]
fn a_commit_is_repeated_with_its_author_and_its_words() {
    let repo = TestRepo::with(&[("a", "1\n")]);
    let base = repo.oid("HEAD");
    repo.write("b", "1\n");
    repo.git(["add", "-A"]);
    let author = "--author=Grace <grace@example.org>";
    repo.git(["commit", "-q", author, "--date=@1000000000 +0200", "-m", "A title\n\nA body"]);
    let commit = repo.oid("HEAD");
    let tree = repo.oid("HEAD^{tree}");
    let again = block_on(git(&repo).recreate_commit(&commit, &tree, &base)).unwrap();
    let shown = repo.git(["show", "-s", "--format=%an %ae %at %cn %P%n%B", again.as_str()]);
    let expected = format!("Grace grace@example.org 1000000000 Ada {base}\nA title\n\nA body");
    assert_eq!(shown.trim_end(), expected);
}

#[test]
fn the_tree_goes_on_only_where_nothing_is_in_the_way() {
    let repo = TestRepo::with(&[("a", "1\n")]);
    let base = repo.oid("HEAD");
    repo.write("a", "2\n");
    repo.write("new", "theirs\n");
    let next = repo.commit("next");
    repo.git(["reset", "-q", "--hard", base.as_str()]);
    repo.write("new", "mine, unknown to git\n");
    assert!(block_on(git(&repo).fast_forward_to(&next)).is_err());
    assert_eq!(
        (repo.oid("HEAD"), fs::read_to_string(repo.path("a")).unwrap()),
        (base, "1\n".to_owned())
    );
    fs::remove_file(repo.path("new")).unwrap();
    block_on(git(&repo).fast_forward_to(&next)).unwrap();
    assert_eq!(repo.oid("refs/heads/main"), next);
    assert_eq!(fs::read_to_string(repo.path("new")).unwrap(), "theirs\n");
    assert_eq!(repo.git(["status", "--porcelain"]), "");
}
