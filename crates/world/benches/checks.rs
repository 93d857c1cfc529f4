//! A check of a project of 10,000 files, as a task is checked: behind the wall, with what it leaves
//! behind found out by comparison. Beside it the same command by itself, in turns. Aim: 3 % more at
//! most.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, answers on its output and ends where it cannot go on"
)]

#[path = "support/median.rs"]
mod median;
#[path = "support/worktree.rs"]
mod worktree;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use median::median;
use unstuck_core::engine::RunId;
use unstuck_core::time::Time;
use unstuck_world::process::{Connections, GuardCommand, ProcessEnd, Wall};
use unstuck_world::workspace::{ProjectRepository, Shell, Workspace};
use worktree::{git, prepare, runtime};

const FOLDERS: usize = 100;
const FILES_PER_FOLDER: usize = 100;
const TURNS: usize = 7;
/// Reads and parses every file, as a linter does.
const CHECK: &str = "python3 -c 'import ast, pathlib
for path in pathlib.Path(\".\").rglob(\"*.py\"): ast.parse(path.read_text())'";

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let workspace = runtime.block_on(make_worktree(folder.path()));
    fs::write(workspace.directory().join("folder1/file1.py"), "changed = 1\n").unwrap();
    let shell = workspace.confine_shell(&Shell {
        guard: GuardCommand {
            executable: env!("CARGO_BIN_EXE_unstuck-guard").into(),
            arguments: Vec::new(),
        },
        lock: folder.path().join("lock"),
        inherits_environment: true,
        environment: Vec::new(),
        timeout: Duration::from_mins(5),
        wall: Wall { network: Connections::Closed(Vec::new()), ..Wall::default() },
    });
    let bare = || {
        let started = Instant::now();
        let mut check = Command::new("sh");
        let ended = check.args(["-c", CHECK]).current_dir(workspace.directory()).status().unwrap();
        assert!(ended.success());
        started.elapsed()
    };
    let ours = || {
        let started = Instant::now();
        let ended = runtime.block_on(async {
            let changes = workspace.list_changes().await.unwrap();
            let check = shell.run(workspace.directory(), CHECK);
            let at = (RunId(1), Time::from_millis(0));
            Box::pin(workspace.watch_check(&changes, at, check)).await.unwrap().unwrap()
        });
        assert_eq!(ended.how, ProcessEnd::Exited(0));
        started.elapsed()
    };
    bare();
    ours();
    let turns: Vec<(Duration, Duration)> = (0..TURNS).map(|_| (bare(), ours())).collect();
    let more = turns.iter().map(|(bare, ours)| ours.as_secs_f64() / bare.as_secs_f64() - 1.0);
    let more = median(more) * 100.0;
    let (bare, ours) = turns.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
    let (bare, ours) = (median(bare), median(ours));
    println!("a check of {} files: bare {bare:.0?}, ours {ours:.0?}", FOLDERS * FILES_PER_FOLDER);
    println!("{more:.1} % more (median of the turns; aim: at most 3 %)");
}

async fn make_worktree(folder: &Path) -> Workspace {
    let root = folder.canonicalize().unwrap().join("project");
    let body = (0..40).fold(String::new(), |body, n| {
        body + &format!("def f{n}(a, b):\n    return a + b * {n}\n")
    });
    for n in 0..FOLDERS {
        let folder = root.join(format!("folder{n}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..FILES_PER_FOLDER {
            fs::write(folder.join(format!("file{file}.py")), format!("# {n} {file}\n{body}"))
                .unwrap();
        }
    }
    git(&root, &["init", "-q", "-b", "main"]);
    git(&root, &["add", "-A"]);
    git(&root, &["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "-m", "first"]);
    let project = ProjectRepository::open("git", &root).await.unwrap();
    prepare(&project, 1).await
}
