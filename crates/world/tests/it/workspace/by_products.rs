//! Files that setup, checks, tools and git leave in a worktree are no work.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use unstuck_core::engine::{RunId, Start};
use unstuck_testkit::stage::run_git;
use unstuck_world::scope::{PathScope, ScopeRules};
use unstuck_world::workspace::{CommitOutcome, Workspace, WorkspacePreparation};

use super::{commit, wording};
use crate::support::block_on;
use crate::support::task_worktree::{NOW, Stage, changed, paths, put, text};

fn set_up(stage: &Stage, commands: &[&str]) -> Workspace {
    let setup = commands.iter().map(|&command| command.to_owned()).collect();
    let wanted = WorkspacePreparation { setup, ..stage.preparation(Start::Fresh, 1) };
    stage.try_prepare(&wanted).unwrap()
}

fn check(stage: &Stage, workspace: &Workspace, command: &str) {
    let shell = stage.shell();
    let run = shell.run(workspace.directory(), command);
    let changes = block_on(workspace.list_changes()).unwrap();
    block_on(workspace.watch_check(&changes, (RunId(1), NOW), run)).unwrap().unwrap();
}

// B31: what setup made is not the agent's, and neither is what it changed, until the agent changes it
#[test]
fn what_setup_leaves_is_not_the_agents() {
    let stage = Stage::with(&[("lock", "1\n"), ("settings", "1\n")]);
    let workspace =
        set_up(&stage, &["mkdir -p deps/a && echo x > deps/a/x && echo 2 > lock && rm settings"]);
    assert_eq!(changed(&workspace), paths(&[]));
    put(&workspace, "work", "done\n");
    assert_eq!(changed(&workspace), paths(&["work"]));
    put(&workspace, "deps/mine", "the agent's own\n");
    put(&workspace, "lock", "3\n");
    assert_eq!(changed(&workspace), paths(&["deps/mine", "lock", "work"]));
    let committed = block_on(commit(&workspace, &wording("Work"), &stage)).unwrap();
    let CommitOutcome::As { commit, .. } = committed else { panic!("{committed:?}") };
    let tree = stage.repo.git(["ls-tree", "-r", "--name-only", commit.as_str()]);
    assert_eq!(tree, "deps/mine\nlock\nsettings\nwork");
}

// B31: what setup made is work where the task speaks of it and the agent changed it
#[test]
fn a_file_of_setup_that_the_task_names_is_work_when_it_changes() {
    let stage = Stage::with(&[("lock", "1\n")]);
    let workspace = set_up(&stage, &["echo 1 > settings.ini; echo 1 > other.ini"]);
    let words = "set the level in settings.ini to three";
    workspace.note_named_paths(&PathScope::new(&ScopeRules::default()).unwrap(), words).unwrap();
    assert_eq!(changed(&workspace), paths(&[]));
    put(&workspace, "settings.ini", "3\n");
    put(&workspace, "other.ini", "3\n");
    assert_eq!(changed(&workspace), paths(&["settings.ini"]));
}

// B31: a new file stays; a tracked one is as it was, and the agent's own are as the agent left them
#[test]
fn what_a_check_leaves_is_not_the_agents() {
    let (stage, workspace) = Stage::with_worktree(&[("tracked", "1\n"), ("mine", "1\n")]);
    put(&workspace, "mine", "2\n");
    check(&stage, &workspace, "echo log > report.xml; echo 2 > tracked; echo 3 >> mine");
    assert_eq!(changed(&workspace), paths(&["mine"]));
    assert_eq!(text(&workspace, "tracked"), "1\n");
    assert_eq!(text(&workspace, "mine"), "2\n");
    assert_eq!(text(&workspace, "report.xml"), "log\n", "the next check finds it");
    // An agent that runs the same check itself does not make it work.
    put(&workspace, "report.xml", "another log\n");
    assert_eq!(changed(&workspace), paths(&["mine"]));
}

// B31: a check that formats the agent's files has its own bytes, modes and links put back
#[test]
fn what_a_check_writes_into_the_agents_files_is_put_back() {
    let (stage, workspace) =
        Stage::with_worktree(&[("edited", "1\n"), ("gone", "1\n"), ("reset", "1\n")]);
    let at = |path| workspace.directory().join(path);
    put(&workspace, "edited", "2\n");
    put(&workspace, "reset", "2\n");
    put(&workspace, "new/run.sh", "echo\n");
    fs::set_permissions(at("new/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    put(&workspace, "moved/x", "mine\n");
    std::os::unix::fs::symlink("edited", at("link")).unwrap();
    fs::remove_file(at("gone")).unwrap();
    let outside = stage.repo.beside("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("x"), "theirs\n").unwrap();
    let away = outside.display();
    let formats = format!(
        "rm edited; echo '# formatted' >> new/run.sh; chmod a-x new/run.sh; echo 1 > gone; \
         echo 1 > reset; ln -sf reset link; echo 2 >> gone; rm -r moved; ln -s {away} moved"
    );
    check(&stage, &workspace, &formats);
    assert_eq!(text(&workspace, "edited"), "2\n");
    assert_eq!(text(&workspace, "new/run.sh"), "echo\n");
    assert_ne!(fs::metadata(at("new/run.sh")).unwrap().permissions().mode() & 0o111, 0);
    assert_eq!(fs::read_link(at("link")).unwrap(), std::path::Path::new("edited"));
    assert!(!at("gone").exists());
    assert_eq!(text(&workspace, "reset"), "1\n", "it has tested something else, which is said");
    assert_eq!(fs::read_to_string(outside.join("x")).unwrap(), "theirs\n");
    // Nothing is left of it for the next check.
    put(&workspace, "edited", "3\n");
    check(&stage, &workspace, "echo 4 > edited");
    assert_eq!(text(&workspace, "edited"), "3\n");
}

// B31: a kill between the two looks does not make the agent responsible
#[test]
fn a_check_that_was_killed_is_made_up_for() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1\n")]);
    put(&workspace, "work", "done\n");
    let changes = block_on(workspace.list_changes()).unwrap();
    let killed = workspace.watch_check(&changes, (RunId(1), NOW), async {
        put(&workspace, "half.log", "x\n");
        put(&workspace, "work", "half formatted");
        std::future::pending::<()>().await;
    });
    block_on(async {
        tokio::select! {
            biased;
            _ = killed => panic!("it does not end"),
            () = std::future::ready(()) => {}
        }
    });
    let workspace = stage.prepare(Start::KeepTree, 2);
    assert_eq!(changed(&workspace), paths(&["work"]));
    assert_eq!(text(&workspace, "work"), "done\n");
}

// B31: what tools leave under the names they are known for is no work, with any caller
#[test]
fn by_products_of_known_kinds_are_no_work() {
    let (_stage, workspace) = Stage::with_worktree(&[
        ("Cargo.toml", ""),
        ("web/package.json", "{}"),
        ("web/dist/index.js", "tracked\n"),
        ("pkg/a.py", ""),
    ]);
    for path in [
        "target/debug/shop",
        "pkg/__pycache__/a.cpython-312.pyc",
        "pkg/b.pyc",
        "web/node_modules/left-pad/index.js",
        "web/coverage/lcov.info",
        ".pytest_cache/README.md",
    ] {
        put(&workspace, path, "made by a tool\n");
    }
    assert_eq!(changed(&workspace), paths(&[]));
    put(&workspace, "web/dist/new.js", "beside a tracked one\n");
    put(&workspace, "target.txt", "work\n");
    assert_eq!(changed(&workspace), paths(&["target.txt", "web/dist/new.js"]));
    let rules = ScopeRules { allowed: vec!["web/coverage/**".to_owned()], ..ScopeRules::default() };
    workspace.note_named_paths(&PathScope::new(&rules).unwrap(), "").unwrap();
    let named = paths(&["target.txt", "web/coverage/lcov.info", "web/dist/new.js"]);
    assert_eq!(changed(&workspace), named, "a scope that names the folder makes it work");
}

// B32: a file whose line endings or mode git itself shows as changed is not committed as work
#[test]
fn what_git_makes_of_a_file_by_itself_is_no_work() {
    let stage = Stage::with(&[("windows.txt", "1\r\n2\r\n"), ("plain.txt", "1\n")]);
    stage.repo.write(".gitattributes", "* text=auto\n");
    stage.repo.git(["add", ".gitattributes"]);
    stage.repo.git(["commit", "--quiet", "--message=attributes"]);
    let head = stage.repo.oid("HEAD");
    let wanted = WorkspacePreparation { head: head.clone(), ..stage.preparation(Start::Fresh, 1) };
    let workspace = stage.try_prepare(&wanted).unwrap();
    // Git looks again at a file whose time is another one.
    let file = workspace.directory().join("windows.txt");
    fs::write(&file, "1\r\n2\r\n").unwrap();
    assert_eq!(changed(&workspace), paths(&[]));
    put(&workspace, "plain.txt", "2\n");
    let committed = block_on(commit(&workspace, &wording("Work"), &stage)).unwrap();
    let CommitOutcome::As { commit, .. } = committed else { panic!("{committed:?}") };
    let stat = stage.repo.git(["diff", "--name-only", head.as_str(), commit.as_str()]);
    assert_eq!(stat, "plain.txt");
    // The agent's own change of a mode is work.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(changed(&workspace), paths(&["plain.txt", "windows.txt"]));
}

// B15: what a check asks git for is the work, and the agent's own index is as it was afterwards.
#[test]
fn a_check_finds_the_work_in_the_index() {
    let (_stage, workspace) = Stage::with_worktree(&[("a", "1\n"), ("gone", "1\n")]);
    let dir = workspace.directory().to_owned();
    put(&workspace, "a", "2\n");
    put(&workspace, "new", "2\n");
    fs::remove_file(dir.join("gone")).unwrap();
    let asked = |args: &[&str]| run_git(&dir, args.iter().copied());
    let before = asked(&["status", "--porcelain"]);
    let changes = block_on(workspace.list_changes()).unwrap();
    let check = async {
        (
            asked(&["ls-files"]),
            asked(&["diff", "--name-only"]),
            asked(&["diff", "--cached", "--name-only"]),
        )
    };
    let seen = block_on(workspace.watch_check(&changes, (RunId(1), NOW), check)).unwrap();
    assert_eq!(seen.0.trim(), "a\nnew");
    assert_eq!(seen.1.trim(), "");
    assert_eq!(seen.2.trim(), "a\ngone\nnew");
    assert_eq!(asked(&["status", "--porcelain"]), before);
}

// B31: a file that the agent takes out of git and ignores is gone from the commit
#[test]
fn what_git_is_told_to_forget_goes_from_the_commit() {
    let (stage, workspace) =
        Stage::with_worktree(&[("debug.log", "noise\n"), ("kept.log", "kept\n"), ("a", "1\n")]);
    block_on(workspace.note_ignored(Start::Fresh)).unwrap();
    put(&workspace, ".gitignore", "*.log\n");
    run_git(workspace.directory(), ["rm", "-q", "--cached", "debug.log"]);
    let set_aside = block_on(workspace.set_aside_uncommitted(RunId(1))).unwrap();
    assert_eq!(set_aside.ignored, [std::path::PathBuf::from("debug.log")]);
    assert_eq!(changed(&workspace), paths(&[".gitignore", "debug.log"]));
    let committed = block_on(commit(&workspace, &wording("Work"), &stage)).unwrap();
    let CommitOutcome::As { commit, .. } = committed else { panic!("{committed:?}") };
    let tree = stage.repo.git(["ls-tree", "-r", "--name-only", commit.as_str()]);
    assert_eq!(tree, ".gitignore\na\nkept.log");
}

// B31: hosts refuse what is too large, unless a filter keeps it elsewhere
#[test]
fn a_file_that_is_too_large_for_a_commit_is_moved_out_of_it() {
    let (stage, workspace) = Stage::with_worktree(&[(".gitattributes", "*.iso filter=lfs\n")]);
    block_on(workspace.note_ignored(Start::Fresh)).unwrap();
    for (name, length) in [("core.1", 101), ("disk.iso", 101), ("small.bin", 1)] {
        let file = fs::File::create(workspace.directory().join(name)).unwrap();
        file.set_len(length * 1_024 * 1_024).unwrap();
    }
    let set_aside = block_on(workspace.set_aside_uncommitted(RunId(1))).unwrap();
    assert_eq!(set_aside.large, [std::path::PathBuf::from("core.1")]);
    assert_eq!(changed(&workspace), paths(&["disk.iso", "small.bin"]));
    assert_eq!(workspace.list_set_aside(RunId(1)), set_aside.large);
    fs::remove_file(workspace.directory().join("disk.iso")).unwrap();
    fs::remove_file(workspace.directory().join("small.bin")).unwrap();
    let fault = block_on(workspace.find_only_set_aside(&set_aside)).unwrap().unwrap();
    assert!(fault.is_misplaced_work() && fault.message.contains("core.1"), "{fault}");
    drop(stage);
}
