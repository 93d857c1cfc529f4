//! Paths on a real file system, before a tool touches them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use unstuck_core::fault::{Code, Fault};
use unstuck_world::scope::{PathAccess, PathScope, ScopeRules};

struct Stage {
    _owned: TempDir,
    root: PathBuf,
    scope: PathScope,
}

fn stage() -> Stage {
    let owned = tempfile::tempdir().unwrap();
    let root = owned.path().canonicalize().unwrap().join("worktree");
    for folder in ["src", "secret", ".git"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for file in ["src/a.rs", "secret/key", ".git/config", "../outside"] {
        fs::write(root.join(file), "x").unwrap();
    }
    let rules = ScopeRules {
        allowed: vec!["src".to_owned()],
        forbidden: vec!["secret".to_owned()],
        ..ScopeRules::default()
    };
    Stage { _owned: owned, root, scope: PathScope::new(&rules).unwrap() }
}

impl Stage {
    fn write(&self, path: impl AsRef<Path>) -> Result<PathBuf, Fault> {
        self.scope.admit_path(&self.root, path.as_ref(), PathAccess::Write)
    }

    fn read(&self, path: impl AsRef<Path>) -> Result<PathBuf, Fault> {
        self.scope.admit_path(&self.root, path.as_ref(), PathAccess::Read)
    }
}

#[test]
fn what_is_inside_is_admitted_with_its_real_place() {
    let stage = stage();
    assert_eq!(stage.write("src/a.rs").unwrap(), Path::new("src/a.rs"));
    assert_eq!(stage.write("./src/new/deep.rs").unwrap(), Path::new("src/new/deep.rs"));
    assert_eq!(stage.write(stage.root.join("src/a.rs")).unwrap(), Path::new("src/a.rs"));
    symlink("src", stage.root.join("link")).unwrap();
    assert_eq!(stage.write("link/b.rs").unwrap(), Path::new("src/b.rs"));
    assert_eq!(stage.read("secret/key").unwrap(), Path::new("secret/key"));
}

// T4.24
#[test]
fn the_fence_tells_forbidden_from_outside() {
    let stage = stage();
    let code = |path: &str| stage.write(path).unwrap_err().code();
    assert_eq!(code("secret/key"), Code::ScopeForbidden);
    assert_eq!(code("build.rs"), Code::ScopeOutsideAllowed);
    // A link from an allowed place does not make its target one.
    symlink("../secret", stage.root.join("src/link")).unwrap();
    assert_eq!(code("src/link/key"), Code::ScopeForbidden);
    assert_eq!(code("src/link/new"), Code::ScopeForbidden);
}

#[test]
fn nothing_leaves_the_worktree() {
    let stage = stage();
    let out = stage.root.join("../outside").canonicalize().unwrap();
    symlink(&out, stage.root.join("src/file-link")).unwrap();
    symlink(stage.root.parent().unwrap(), stage.root.join("src/folder-link")).unwrap();
    symlink("../../not-there", stage.root.join("src/dangling")).unwrap();
    symlink("round", stage.root.join("src/round")).unwrap();
    fs::hard_link(&out, stage.root.join("src/second-name")).unwrap();
    let paths = [
        "../outside", "src/../../outside", "/etc/passwd", "src/file-link",
        "src/folder-link/outside", "src/folder-link/new", "src/dangling", "src/round",
        ".git/config", ".GIT/config", "src/.git/hooks/x", ".unstuck/state.db",
    ];
    for path in paths {
        for admitted in [stage.write(path), stage.read(path)] {
            assert_eq!(admitted.unwrap_err().code(), Code::PermissionFileAccess, "{path}");
        }
    }
    assert_eq!(stage.write("src/second-name").unwrap_err().code(), Code::PermissionFileAccess);
    assert_eq!(stage.write(&out).unwrap_err().code(), Code::PermissionFileAccess);
}
