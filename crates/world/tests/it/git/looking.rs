//! What changed, as git says it.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use unstuck_testkit::stage::TestRepo;
use unstuck_world::git::status::StatusEntry;
use unstuck_world::git::{DifferenceKind, GitFileMode};

use super::git;
use crate::support::block_on;

fn changed(
    entries: &[StatusEntry],
    path: &str,
) -> (Option<DifferenceKind>, GitFileMode, GitFileMode) {
    entries
        .iter()
        .find_map(|entry| match entry {
            StatusEntry::Changed(changed) if changed.path == Path::new(path) => {
                Some((changed.unstaged, changed.index, changed.worktree))
            }
            _ => None,
        })
        .unwrap_or_else(|| panic!("{path} is not in {entries:?}"))
}

#[test]
fn every_kind_of_change_is_seen() {
    let repo = TestRepo::with(&[
        ("edited", "1"),
        ("deleted", "1"),
        ("tool", "1"),
        ("linked", "1"),
        ("ignored-but-tracked.log", "1"),
        (".gitignore", "*.log\n"),
    ]);
    repo.git(["add", "-f", "ignored-but-tracked.log"]);
    repo.commit("second");
    repo.write("edited", "2");
    repo.write("ignored-but-tracked.log", "2");
    repo.write("quiet.log", "2");
    repo.write("new folder/\"new\" \u{e9}\n", "2");
    fs::remove_file(repo.path("deleted")).unwrap();
    fs::set_permissions(repo.path("tool"), Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(repo.path("linked")).unwrap();
    symlink("edited", repo.path("linked")).unwrap();
    let strange = OsStr::from_bytes(b"caf\xe9");
    fs::write(repo.path(strange), "2").unwrap();

    let entries = block_on(git(&repo).status()).unwrap();

    assert_eq!(
        changed(&entries, "edited"),
        (Some(DifferenceKind::Modified), GitFileMode::File, GitFileMode::File)
    );
    assert_eq!(
        changed(&entries, "deleted"),
        (Some(DifferenceKind::Deleted), GitFileMode::File, GitFileMode::Absent)
    );
    assert_eq!(
        changed(&entries, "tool"),
        (Some(DifferenceKind::Modified), GitFileMode::File, GitFileMode::Executable)
    );
    assert_eq!(
        changed(&entries, "linked"),
        (Some(DifferenceKind::TypeChanged), GitFileMode::File, GitFileMode::Link)
    );
    assert_eq!(changed(&entries, "ignored-but-tracked.log").0, Some(DifferenceKind::Modified));
    let new: Vec<&PathBuf> = entries
        .iter()
        .filter_map(|entry| match entry {
            StatusEntry::Untracked { path, repository: false } => Some(path),
            _ => None,
        })
        .collect();
    assert_eq!(new, [Path::new(strange), Path::new("new folder/\"new\" \u{e9}\n")]);
}

#[test]
fn a_repository_inside_is_said_to_be_one() {
    let repo = TestRepo::with(&[("a", "1")]);
    repo.write("inner/b", "1");
    repo.git(["init", "-q", "inner"]);
    let entries = block_on(git(&repo).status()).unwrap();
    assert_eq!(entries, [StatusEntry::Untracked { path: "inner".into(), repository: true }]);
}

#[test]
fn trees_differ_with_renames() {
    let repo = TestRepo::with(&[("old", "a\nb\nc\nd\n"), ("gone", "x")]);
    let before = repo.oid("HEAD^{tree}");
    repo.git(["mv", "old", "new"]);
    repo.git(["rm", "-q", "gone"]);
    repo.commit("second");
    let after = repo.oid("HEAD^{tree}");
    let differences = block_on(git(&repo).diff_trees(&before, &after)).unwrap();
    let seen: Vec<_> = differences.iter().map(|one| (one.what, one.path.as_path())).collect();
    assert_eq!(
        seen,
        [(DifferenceKind::Deleted, Path::new("gone")), (DifferenceKind::Renamed, Path::new("new"))]
    );
    assert_eq!(differences[1].from.as_deref(), Some(Path::new("old")));
}

#[test]
fn the_layout_tells_bare_and_cut_off_repositories() {
    let repo = TestRepo::with(&[("a", "1")]);
    let layout = block_on(git(&repo).read_layout()).unwrap();
    assert_eq!(layout.git_dir, repo.path(".git"));
    assert_eq!((layout.bare, layout.shallow), (false, false));

    let worktree = repo.beside("second");
    repo.git([OsStr::new("worktree"), OsStr::new("add"), OsStr::new("-q"), worktree.as_os_str()]);
    let layout = block_on(unstuck_world::git::Git::new("git", &worktree).read_layout()).unwrap();
    assert_eq!(layout.common_dir, repo.path(".git"));
    assert_eq!(layout.git_dir, repo.path(".git/worktrees/second"));

    let url = format!("file://{}", repo.root.display());
    for (name, option) in [("bare", "--bare"), ("shallow", "--depth=1")] {
        let place = repo.beside(name);
        repo.git(["clone", "-q", option, &url, &place.display().to_string()]);
        let layout = block_on(unstuck_world::git::Git::new("git", place).read_layout()).unwrap();
        assert_eq!((layout.bare, layout.shallow), (name == "bare", name == "shallow"));
    }
}

#[test]
fn git_says_its_version_and_which_folders_it_leaves_alone() {
    let repo = TestRepo::with(&[(".gitignore", "/out\nlogs/\n*.tmp\n")]);
    let git = git(&repo);
    let version = block_on(git.read_version()).unwrap();
    assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{version}");
    let cases = [("out", true), ("logs", true), ("logs/", true), ("a.tmp", true), ("src", false)];
    for (folder, ignored) in cases {
        assert_eq!(block_on(git.ignores_folder(folder)), Ok(ignored), "{folder}");
    }
}
