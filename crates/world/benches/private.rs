//! The preparation of a task (its private repository, its files, the note of the person's repository)
//! with 1 GiB of history, beside `git worktree add` and `git clone --shared`. Aim: at most 200 ms, and no
//! object is copied.

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
use unstuck_world::workspace::ProjectRepository;
use worktree::{git, prepare, runtime};

/// How much of the history no file of today holds.
const HISTORY_MIB: usize = 1_024;
const BLOB_MIB: usize = 64;
const FILES: usize = 1_000;
const TAGS: usize = 200;
/// They take turns; medians are told.
const TURNS: usize = 11;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("project");
    make_repository(&root);
    let runtime = runtime();
    let project = runtime.block_on(ProjectRepository::open("git", &root)).unwrap();
    let beside = root.with_file_name("beside").display().to_string();
    let mut copied = 0;
    let mut ours = |n: usize| {
        let started = Instant::now();
        let workspace = runtime.block_on(prepare(&project, n));
        let took = started.elapsed();
        copied = copied.max(bytes_below(&workspace.directory().join(".git/objects")));
        took
    };
    let worktree = || {
        let started = Instant::now();
        git(&root, &["worktree", "add", "-q", "--detach", &beside]);
        let took = started.elapsed();
        git(&root, &["worktree", "remove", "--force", &beside]);
        took
    };
    let clone = || {
        let started = Instant::now();
        git(&root, &["clone", "-q", "--shared", ".", &beside]);
        let took = started.elapsed();
        fs::remove_dir_all(&beside).unwrap();
        took
    };
    let turns: Vec<[Duration; 3]> = (0..TURNS).map(|n| [ours(n), worktree(), clone()]).collect();
    let median = |of: usize| median(turns.iter().map(|turn| turn[of].as_secs_f64() * 1e3));
    let mut out = io::stdout().lock();
    writeln!(out, "history             {HISTORY_MIB} MiB, {FILES} files, {TAGS} tags").unwrap();
    writeln!(out, "preparation         {:.0} ms (aim: at most 200)", median(0)).unwrap();
    writeln!(out, "git worktree add    {:.0} ms, ratio {:.2}", median(1), median(0) / median(1))
        .unwrap();
    writeln!(out, "git clone --shared  {:.0} ms, ratio {:.2}", median(2), median(0) / median(2))
        .unwrap();
    writeln!(out, "objects copied      {copied} bytes beside the address of yours").unwrap();
}

/// Large random files in one commit, and small ones in the next.
fn make_repository(root: &Path) {
    fs::create_dir_all(root).unwrap();
    git(root, &["init", "-q", "-b", "main"]);
    for (name, value) in
        [("user.name", "x"), ("user.email", "x@y"), ("core.compression", "0"), ("gc.auto", "0")]
    {
        git(root, &["config", name, value]);
    }
    let mut state = 88_172_645_463_325_252_u64;
    for n in 0..HISTORY_MIB / BLOB_MIB {
        let words = (0..BLOB_MIB * 1_024 * 1_024 / 8).flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        fs::write(root.join(format!("large{n}")), words.collect::<Vec<u8>>()).unwrap();
    }
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", "large"]);
    git(root, &["rm", "-q", "-r", "."]);
    for n in 0..FILES {
        fs::create_dir_all(root.join(format!("folder{}", n % 40))).unwrap();
        fs::write(root.join(format!("folder{}/file{n}", n % 40)), format!("{n}\n")).unwrap();
    }
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", "small"]);
    for n in 0..TAGS {
        git(root, &["tag", &format!("v{n}")]);
    }
}

fn bytes_below(folder: &Path) -> u64 {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).fold(0, |sum, entry| {
        let found = entry.metadata().unwrap();
        sum + if found.is_dir() { bytes_below(&entry.path()) } else { found.len() }
    })
}
