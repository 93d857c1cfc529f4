//! What all working trees share is put back after an attempt.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use unstuck_testkit::stage::{TestRepo, run_git};
use unstuck_world::git::{RepositoryExposure, RepositorySnapshot, RestoreReport};

use super::git;
use crate::support::block_on;

const AGENT: &str = "r1@agent.unstuck.invalid";

/// As an agent's own git would do it.
fn as_agent(directory: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(directory).args(args);
    command.env("GIT_COMMITTER_NAME", "agent").env("GIT_COMMITTER_EMAIL", AGENT);
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn take(repo: &TestRepo) -> RepositorySnapshot {
    let layout = block_on(git(repo).read_layout()).unwrap();
    block_on(RepositorySnapshot::capture(&git(repo), &layout)).unwrap()
}

fn restore(
    repo: &TestRepo,
    before: &RepositorySnapshot,
    reach: RepositoryExposure,
) -> RestoreReport {
    let (git, keep) = (git(repo), repo.beside("keep"));
    let layout = block_on(git.read_layout()).unwrap();
    block_on(before.restore(&git, &layout, (AGENT, reach), &[], &keep)).unwrap()
}

// B16: settings and hooks come back; what the agent wrote is kept.
#[test]
fn settings_and_hooks_come_back() {
    let repo = TestRepo::with(&[("a", "1")]);
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    let before = take(&repo);
    assert_eq!(restore(&repo, &before, RepositoryExposure::Unknown), RestoreReport::default());

    let config = fs::read(repo.path(".git/config")).unwrap();
    repo.git(["config", "core.fsmonitor", "./planted"]);
    fs::remove_file(repo.path(".git/hooks/pre-commit")).unwrap();
    repo.write(".git/hooks/post-checkout", "#!/bin/sh\n./planted\n");
    repo.write(".git/info/attributes", "* filter=planted\n");
    let restored = restore(&repo, &before, RepositoryExposure::Unknown);
    let files = ["config", "hooks/post-checkout", "hooks/pre-commit", "info/attributes"];
    assert_eq!(restored.files, files.map(PathBuf::from));
    assert_eq!(fs::read(repo.path(".git/config")).unwrap(), config);
    assert_eq!(fs::read(repo.path(".git/hooks/pre-commit")).unwrap(), b"#!/bin/sh\nexit 1\n");
    assert!(!repo.path(".git/hooks/post-checkout").exists());
    let kept = fs::read_to_string(repo.beside("keep").join("config")).unwrap();
    assert!(kept.contains("planted"), "{kept}");
}

// B16: refs outside the task come back, and a person's own commits are left alone.
#[test]
fn refs_that_the_agent_moved_come_back_and_a_persons_stay() {
    let repo = TestRepo::with(&[("a", "1")]);
    for branch in ["release", "topic", "own"] {
        repo.git(["branch", branch]);
    }
    let first = repo.oid("HEAD");
    let before = take(&repo);

    let worktree = repo.beside("task");
    run_git(&repo.root, ["worktree", "add", "-q", &worktree.display().to_string(), "own"]);
    fs::write(worktree.join("a"), "agent").unwrap();
    as_agent(&worktree, &["commit", "-q", "-am", "agent"]);
    let agents = repo.oid("own");
    as_agent(&worktree, &["update-ref", "refs/heads/release", agents.as_str()]);
    as_agent(&worktree, &["branch", "-q", "-D", "topic"]);
    as_agent(&worktree, &["branch", "-q", "stray"]);
    repo.write("a", "person");
    let persons = repo.commit("person");

    let restored = restore(&repo, &before, RepositoryExposure::Unknown);
    let names = ["refs/heads/own", "refs/heads/release", "refs/heads/stray", "refs/heads/topic"];
    assert_eq!(restored.refs, names);
    assert_eq!(restored.left, ["refs/heads/main"]);
    for branch in ["own", "release", "topic"] {
        assert_eq!(repo.oid(branch), first, "{branch}");
    }
    assert_eq!(repo.oid("main"), persons);
    assert_eq!(repo.oid(&format!("refs/unstuck/kept/{agents}")), agents);
    assert_eq!(restore(&repo, &before, RepositoryExposure::Unknown).refs, Vec::<String>::new());
}

// B16: a person tidies up while an agent works that cannot write there.
#[test]
fn what_a_person_deletes_beside_a_held_agent_stays_deleted() {
    let repo = TestRepo::with(&[("a", "1")]);
    repo.git(["branch", "old"]);
    repo.git(["branch", "draft"]);
    let before = take(&repo);
    repo.git(["branch", "-q", "-D", "old"]);
    repo.git(["branch", "-m", "draft", "ready"]);
    repo.git(["config", "pull.rebase", "true"]);
    let restored = restore(&repo, &before, RepositoryExposure::Held);
    assert_eq!((restored.files, restored.refs), (Vec::new(), Vec::new()));
    assert_eq!(repo.git(["branch", "--list", "--format=%(refname:short)"]), "main\nready");
    assert_eq!(repo.git(["config", "pull.rebase"]), "true");
}

// B16: what no log accounts for comes back where the agent could have written it, and a person's
// commit, whose git wrote a log, stays.
#[test]
fn a_ref_that_no_log_accounts_for_comes_back() {
    let repo = TestRepo::with(&[("a", "1")]);
    repo.git(["branch", "release"]);
    let first = repo.oid("HEAD");
    let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
    let planted = repo.git(["commit-tree", &tree, "-p", "HEAD", "-m", "planted"]);
    let before = take(&repo);
    let head = fs::read(repo.path(".git/HEAD")).unwrap();

    repo.write("a", "person");
    let persons = repo.commit("person");
    let planted_at = |name: &str| {
        let _ = fs::remove_file(repo.path(format!(".git/logs/{name}")));
        repo.write(format!(".git/{name}"), &format!("{planted}\n"));
    };
    planted_at("refs/heads/release");
    repo.git(["tag", "v1", &planted]);
    repo.write(".git/HEAD", "ref: refs/heads/release\n");
    let left = restore(&repo, &before, RepositoryExposure::Held);
    assert_eq!(left.refs, Vec::<String>::new(), "an agent that was held did none of it");

    fs::remove_file(repo.path(".git/logs/HEAD")).unwrap();
    let restored = restore(&repo, &before, RepositoryExposure::Unknown);
    assert_eq!(restored.refs, ["refs/heads/release", "refs/tags/v1"]);
    assert_eq!(restored.files, [PathBuf::from("HEAD")]);
    assert_eq!(restored.left, ["refs/heads/main"]);
    assert_eq!((repo.oid("release"), repo.oid("main")), (first, persons));
    assert_eq!(repo.git(["tag", "--list"]), "");
    assert_eq!(fs::read(repo.path(".git/HEAD")).unwrap(), head);
    repo.git(["fsck", "--strict"]);
}
