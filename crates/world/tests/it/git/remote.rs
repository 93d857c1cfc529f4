//! Other repositories.

use unstuck_core::fault::Code;
use unstuck_testkit::stage::TestRepo;

use super::git;
use crate::support::block_on;

#[test]
fn what_was_pushed_can_be_looked_up_and_nothing_is_forced() {
    let repo = TestRepo::with(&[("a", "1")]);
    let remote = repo.beside("remote").display().to_string();
    repo.git(["init", "-q", "--bare", &remote]);
    let (git, first, name) = (git(&repo), repo.oid("HEAD"), "refs/heads/unstuck/b1");
    assert_eq!(block_on(git.query_remote_ref(&remote, name)).unwrap(), None);
    repo.git(["config", "push.followTags", "true"]);
    repo.git(["tag", "-a", "private", "-m", "not yet public"]);
    block_on(git.push_commit(&remote, &first, name)).unwrap();
    block_on(git.push_commit(&remote, &first, name)).unwrap();
    assert_eq!(block_on(git.query_remote_ref(&remote, name)).unwrap(), Some(first));
    let tag = block_on(git.query_remote_ref(&remote, "refs/tags/private")).unwrap();
    assert_eq!(tag, None, "tags of the person are no part of the work");

    repo.git(["commit", "-q", "--amend", "-m", "another first"]);
    let refused = block_on(git.push_commit(&remote, &repo.oid("HEAD"), name)).unwrap_err();
    assert_eq!((refused.code(), refused.source.as_str()), (Code::GitPushFailed, "git.push"));
    let nowhere = repo.beside("nowhere").display().to_string();
    let fault = block_on(git.query_remote_ref(&nowhere, name)).unwrap_err();
    assert_eq!(fault.code(), Code::GitPushFailed);
}
