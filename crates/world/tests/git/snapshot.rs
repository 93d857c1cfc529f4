//! What all working trees share is put back after an attempt.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use unstuck_world::git::Snapshot;

use super::git;
use super::repo::{Repo, block_on, run_in};

const AGENT: &str = "r1@agent.unstuck.invalid";

/// As an agent's own git would do it.
fn as_agent(directory: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(directory).args(args);
    command.env("GIT_COMMITTER_NAME", "agent").env("GIT_COMMITTER_EMAIL", AGENT);
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn restore(repo: &Repo, before: &Snapshot) -> unstuck_world::git::Restored {
    let (git, common, keep) = (git(repo), repo.path(".git"), repo.beside("keep"));
    block_on(before.restore(&git, &common, AGENT, &["refs/heads/own"], &keep)).unwrap()
}

// B16: settings and hooks come back; what the agent wrote is kept.
#[test]
fn settings_and_hooks_come_back() {
    let repo = Repo::with(&[("a", "1")]);
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    let before = block_on(Snapshot::take(&git(&repo), &repo.path(".git"))).unwrap();
    assert_eq!(restore(&repo, &before), unstuck_world::git::Restored::default());

    let config = fs::read(repo.path(".git/config")).unwrap();
    repo.run(["config", "core.fsmonitor", "./planted"]);
    fs::remove_file(repo.path(".git/hooks/pre-commit")).unwrap();
    repo.write(".git/hooks/post-checkout", "#!/bin/sh\n./planted\n");
    repo.write(".git/info/attributes", "* filter=planted\n");
    let restored = restore(&repo, &before);
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
    let repo = Repo::with(&[("a", "1")]);
    for branch in ["release", "topic", "own"] {
        repo.run(["branch", branch]);
    }
    let first = repo.oid("HEAD");
    let before = block_on(Snapshot::take(&git(&repo), &repo.path(".git"))).unwrap();

    let worktree = repo.beside("task");
    run_in(&repo.root, ["worktree", "add", "-q", &worktree.display().to_string(), "own"]);
    fs::write(worktree.join("a"), "agent").unwrap();
    as_agent(&worktree, &["commit", "-q", "-am", "agent"]);
    let agents = repo.oid("own");
    as_agent(&worktree, &["update-ref", "refs/heads/release", agents.as_str()]);
    as_agent(&worktree, &["branch", "-q", "-D", "topic"]);
    as_agent(&worktree, &["branch", "-q", "stray"]);
    repo.write("a", "person");
    let persons = repo.commit("person");

    let restored = restore(&repo, &before);
    let names = ["refs/heads/release", "refs/heads/stray", "refs/heads/topic"];
    assert_eq!(restored.refs, names);
    assert_eq!(restored.left, ["refs/heads/main"]);
    assert_eq!((repo.oid("release"), repo.oid("topic")), (first.clone(), first));
    assert_eq!((repo.oid("main"), repo.oid("own")), (persons, agents.clone()));
    assert_eq!(repo.oid(&format!("refs/unstuck/kept/{agents}")), agents);
    assert_eq!(restore(&repo, &before).refs, Vec::<String>::new());
}
