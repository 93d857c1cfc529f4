//! What an agent's own git can do to the rest of the repository.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use unstuck_core::engine::{RunId, Start};
use unstuck_testkit::stage::run_git;
use unstuck_world::process::{EnforcementLevel, Launch, ProcessEnd};
use unstuck_world::workspace::WorkspacePreparation;

use crate::support::block_on;
use crate::support::task_worktree::{Stage, put};

// B16: the agent's own push is refused, whichever way the remote is set up.
#[test]
fn the_agents_push_goes_nowhere_and_fetching_works() {
    let stage = Stage::with(&[("a", "1")]);
    let address = |name: &str| stage.repo.beside(name).display().to_string();
    for name in ["plain", "rewritten", "push-only", "unnamed"] {
        stage.repo.git(["init", "-q", "--bare", &address(name)]);
    }
    stage.repo.git(["remote", "add", "plain", &address("plain")]);
    stage.repo.git(["remote", "add", "rewritten", "short:rewritten"]);
    let rewrite = format!("url.{}.pushInsteadOf", address("rewritten"));
    stage.repo.git(["config", &rewrite, "short:"]);
    stage.repo.git(["remote", "add", "push-only", &address("plain")]);
    stage.repo.git(["remote", "set-url", "--push", "push-only", &address("push-only")]);
    let config = fs::read(stage.repo.path(".git/config")).unwrap();
    let workspace = stage.fresh();
    let environment = block_on(workspace.build_agent_environment(RunId(1))).unwrap();
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

// B16: what an agent does with git happens in a repository of its own, and what it does to the
// person's in another way is put back.
#[test]
fn an_agents_git_works_in_its_own_repository_and_the_persons_is_put_back() {
    let stage = Stage::with(&[("a", "1")]);
    stage.repo.git(["branch", "release"]);
    let workspace = stage.fresh();
    let environment = block_on(workspace.build_agent_environment(RunId(1))).unwrap();
    put(&workspace, "a", "2");
    let script = "git commit -qam mine && git update-ref refs/heads/release HEAD && \
                  git config core.fsmonitor ./planted && \
                  echo './planted' >\"$(git rev-parse --git-common-dir)/hooks/pre-commit\" && \
                  cd ../../.. && git config core.fsmonitor ./planted && \
                  echo './planted' >.git/hooks/pre-commit && git branch -q stray";
    let mut command = Command::new("sh");
    command.current_dir(workspace.directory()).args(["-c", script]);
    for (name, value) in &environment {
        command.env(name, value.as_ref().unwrap());
    }
    assert!(command.status().unwrap().success());
    let restored = block_on(workspace.restore_repository(RunId(1))).unwrap();
    assert_eq!(restored.files, ["config", "hooks/pre-commit"].map(PathBuf::from));
    assert_eq!(restored.refs, ["refs/heads/stray"]);
    assert_eq!(restored.left, Vec::<String>::new());
    assert_eq!(stage.repo.oid("release"), stage.first);
    assert_eq!(stage.repo.oid("unstuck/b1.t1"), stage.first);
    let own = workspace.directory().join(".git");
    assert!(!fs::read_to_string(own.join("config")).unwrap().contains("planted"));
    assert!(fs::read_dir(own.join("hooks")).unwrap().next().is_none());
    assert_eq!(run_git(workspace.directory(), ["log", "--format=%s"]), "mine\nfirst");
}

#[test]
fn an_agent_commits_from_behind_its_wall_and_reaches_nothing_else_of_the_repository() {
    let stage = Stage::with(&[("a", "1")]);
    stage.repo.write("built/x", "1");
    let share = vec!["built".to_owned()];
    let wanted = WorkspacePreparation { share, ..stage.preparation(Start::Fresh, 1) };
    let workspace = stage.try_prepare(&wanted).unwrap();
    let mut wall =
        workspace.build_wall(&[("TMPDIR".into(), stage.repo.beside("temporary").into())]);
    let writable = wall.writable.as_mut().unwrap();
    assert!(writable.contains(&stage.repo.beside("temporary")));
    // The repository itself is in a temporary folder.
    writable.retain(|path| !stage.repo.root.starts_with(path));
    let held = wall.try_out().files;
    let run = |script: &str| {
        let shell = stage.shell();
        let mut launch = Launch::new(shell.guard, shell.lock, workspace.directory(), "sh");
        launch.arguments = vec!["-c".into(), script.into()];
        launch.environment = block_on(workspace.build_agent_environment(RunId(1))).unwrap();
        launch.wall = wall.clone();
        block_on(async {
            let process = launch.start().await.unwrap();
            assert_eq!(process.wall_enforcement().files, held);
            process.wait().await
        })
    };
    let inside = run("echo 2 >a && git add a && git commit -qm mine && echo 2 >built/x");
    assert_eq!(
        inside.how,
        ProcessEnd::Exited(0),
        "{:?}",
        String::from_utf8_lossy(&inside.output.to_bytes())
    );
    if held == EnforcementLevel::NotPossible {
        return;
    }
    let common = stage.repo.path(".git");
    for line in [
        "git --git-dir=\"$G\" config core.fsmonitor ./planted",
        "git --git-dir=\"$G\" tag planted",
        "echo 1 >\"$G/objects/planted\"",
        "rm -rf \"$G/objects\" \"$G/refs\"",
        "echo ./planted >\"$G/hooks/pre-commit\"",
        "rm -rf \"$G/config\"",
        "echo 3 >\"$G/../a\"",
    ] {
        let before = fs::read(common.join("config")).unwrap();
        let ended = run(&format!("G='{}'; {line}", common.display()));
        assert_ne!(ended.how, ProcessEnd::Exited(0), "{line}");
        assert_eq!(fs::read(common.join("config")).unwrap(), before, "{line}");
    }
    assert_eq!(fs::read_to_string(stage.repo.path("a")).unwrap(), "1");
    assert!(!common.join("hooks/pre-commit").exists());
}
