//! The scope check of a task in a worktree of 100,000 files with 50 changes, beside a bare
//! `git status` there. Aim: at most 1.3 times as long.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and ends where it cannot go on"
)]

#[path = "support/median.rs"]
mod median;
#[path = "support/worktree.rs"]
mod worktree;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use median::median;
use unstuck_world::scope::{PathScope, ScopeRules};
use unstuck_world::workspace::{ProjectRepository, Workspace};
use worktree::{git, prepare, runtime};

const FOLDERS: usize = 1_000;
const FILES_PER_FOLDER: usize = 100;
const CHANGES: usize = 50;
/// The two take turns; medians are told, and the median of each turn's ratio.
const TURNS: usize = 15;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let workspace = runtime.block_on(make_worktree(folder.path()));
    for n in 0..CHANGES {
        let path = workspace.directory().join(format!("folder{}/file{n}", n * FOLDERS / CHANGES));
        fs::write(path, "changed").unwrap();
    }
    let rules = ScopeRules {
        allowed: vec!["folder1*/**".to_owned(), "folder2*/**".to_owned()],
        forbidden: vec!["**/*.pem".to_owned(), "folder99?/**".to_owned()],
        ..ScopeRules::default()
    };
    let scope = PathScope::new(&rules).unwrap();
    let check = || {
        let started = Instant::now();
        let changes = runtime.block_on(workspace.list_changes()).unwrap();
        let verdict = scope.judge_paths(changes.iter().map(|change| change.path.as_path()));
        assert_eq!(changes.len(), CHANGES);
        assert!(!verdict.is_clean());
        started.elapsed()
    };
    let bare = || {
        let started = Instant::now();
        git(workspace.directory(), &["status", "--porcelain=v2", "-z", "--untracked-files=all"]);
        started.elapsed()
    };
    check();
    bare();
    let turns: Vec<(Duration, Duration)> = (0..TURNS).map(|_| (check(), bare())).collect();
    let ratios = turns.iter().map(|(ours, bare)| ours.as_secs_f64() / bare.as_secs_f64());
    let mut out = io::stdout().lock();
    writeln!(out, "files    {}", FOLDERS * FILES_PER_FOLDER).unwrap();
    writeln!(out, "changes  {CHANGES}").unwrap();
    let told = |times: Vec<Duration>| median(times.iter().map(Duration::as_secs_f64)) * 1e3;
    writeln!(out, "scope check  {:.0} ms", told(turns.iter().map(|turn| turn.0).collect()))
        .unwrap();
    writeln!(out, "git status   {:.0} ms", told(turns.iter().map(|turn| turn.1).collect()))
        .unwrap();
    writeln!(out, "ratio        {:.2} (aim: at most 1.3)", median(ratios)).unwrap();
}

async fn make_worktree(folder: &Path) -> Workspace {
    let root = folder.canonicalize().unwrap().join("project");
    for n in 0..FOLDERS {
        let folder = root.join(format!("folder{n}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..FILES_PER_FOLDER {
            fs::write(folder.join(format!("file{file}")), format!("{n} {file}")).unwrap();
        }
    }
    git(&root, &["init", "-q", "-b", "main"]);
    git(&root, &["add", "-A"]);
    git(&root, &["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "-m", "first"]);
    let project = ProjectRepository::open("git", &root).await.unwrap();
    prepare(&project, 1).await
}
