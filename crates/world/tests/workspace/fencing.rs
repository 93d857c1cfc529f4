//! What an agent's own git can do to the rest of the repository.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use unstuck_core::engine::RunId;

use super::repo::block_on;
use super::stage::{Stage, put};

// B16: the agent's own push is refused, whichever way the remote is set up.
#[test]
fn the_agents_push_goes_nowhere_and_fetching_works() {
    let stage = Stage::with(&[("a", "1")]);
    let address = |name: &str| stage.repo.beside(name).display().to_string();
    for name in ["plain", "rewritten", "push-only", "unnamed"] {
        stage.repo.run(["init", "-q", "--bare", &address(name)]);
    }
    stage.repo.run(["remote", "add", "plain", &address("plain")]);
    stage.repo.run(["remote", "add", "rewritten", "short:rewritten"]);
    let rewrite = format!("url.{}.pushInsteadOf", address("rewritten"));
    stage.repo.run(["config", &rewrite, "short:"]);
    stage.repo.run(["remote", "add", "push-only", &address("plain")]);
    stage.repo.run(["remote", "set-url", "--push", "push-only", &address("push-only")]);
    let config = fs::read(stage.repo.path(".git/config")).unwrap();
    let workspace = stage.fresh();
    let environment = block_on(workspace.environment(RunId(1))).unwrap();
    let as_agent = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(workspace.directory()).args(args);
        for (name, value) in &environment {
            command.env(name, value.as_ref().unwrap());
        }
        command.output().unwrap()
    };
    for remote in ["plain", "rewritten", "push-only", &address("unnamed")] {
        let pushed = as_agent(&["push", "--no-verify", remote, "HEAD:refs/heads/x"]);
        let said = String::from_utf8_lossy(&pushed.stderr).into_owned();
        assert!(!pushed.status.success() && said.contains("unstuck-mutate"), "{remote}: {said}");
    }
    for name in ["plain", "rewritten", "push-only", "unnamed"] {
        assert!(!stage.repo.beside(name).join("refs/heads/x").exists(), "{name} was pushed to");
    }
    assert!(as_agent(&["fetch", "plain"]).status.success());
    assert_eq!(fs::read(stage.repo.path(".git/config")).unwrap(), config);
}

// B16: refs, settings and hooks outside the task are put back after the attempt.
#[test]
fn what_all_worktrees_share_is_put_back() {
    let stage = Stage::with(&[("a", "1")]);
    stage.repo.run(["branch", "release"]);
    let workspace = stage.fresh();
    let environment = block_on(workspace.environment(RunId(1))).unwrap();
    put(&workspace, "a", "2");
    let script = "git commit -qam mine && git update-ref refs/heads/release HEAD && \
                  git config core.fsmonitor ./planted && \
                  echo './planted' >\"$(git rev-parse --git-common-dir)/hooks/pre-commit\"";
    let mut command = Command::new("sh");
    command.current_dir(workspace.directory()).args(["-c", script]);
    for (name, value) in &environment {
        command.env(name, value.as_ref().unwrap());
    }
    assert!(command.status().unwrap().success());
    let restored = block_on(workspace.restore_shared(RunId(1))).unwrap();
    assert_eq!(restored.files, ["config", "hooks/pre-commit"].map(PathBuf::from));
    assert_eq!(restored.refs, ["refs/heads/release"]);
    assert_eq!(restored.left, Vec::<String>::new());
    assert_eq!(stage.repo.oid("release"), stage.first);
    assert_ne!(stage.repo.oid("unstuck/b1.t1"), stage.first);
}
