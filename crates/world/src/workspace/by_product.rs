//! Paths that tools make beside the work, by the names that their ecosystems agree on.
//!
//! A name that could be anything (`dist`, `build`, `target`) counts only beside the file of the tool
//! that makes it. What git tracks at the base below such a folder makes the folder work again; that
//! is for the caller to look up.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A folder that a tool fills.
struct Folder {
    name: &'static str,
    /// One of these files stands beside it, or in it; none where the name says enough.
    beside: &'static [&'static str],
}

const fn folder(name: &'static str, beside: &'static [&'static str]) -> Folder {
    Folder { name, beside }
}

const FOLDERS: &[Folder] = &[
    folder("node_modules", &[]),
    folder("__pycache__", &[]),
    folder(".pytest_cache", &[]),
    folder(".mypy_cache", &[]),
    folder(".ruff_cache", &[]),
    folder(".hypothesis", &[]),
    folder(".tox", &[]),
    folder(".nox", &[]),
    folder(".eggs", &[]),
    folder(".venv", &[]),
    folder("htmlcov", &[]),
    folder(".nyc_output", &[]),
    folder(".next", &[]),
    folder(".nuxt", &[]),
    folder(".svelte-kit", &[]),
    folder(".parcel-cache", &[]),
    folder(".turbo", &[]),
    folder(".gradle", &[]),
    folder(".dart_tool", &[]),
    folder(".stack-work", &[]),
    folder("dist-newstyle", &[]),
    folder(".zig-cache", &[]),
    folder("zig-cache", &["build.zig"]),
    folder("zig-out", &["build.zig"]),
    folder(".build", &["Package.swift"]),
    folder("target", &["Cargo.toml", "pom.xml", "build.sbt"]),
    folder("dist", &["package.json", "pyproject.toml", "setup.py"]),
    folder("coverage", &["package.json", "Gemfile", "pubspec.yaml"]),
    folder(
        "build",
        &[
            "CMakeLists.txt",
            "meson.build",
            "build.gradle",
            "build.gradle.kts",
            "pyproject.toml",
            "setup.py",
            "pubspec.yaml",
        ],
    ),
    folder("_build", &["mix.exs", "dune-project"]),
    folder("deps", &["mix.exs"]),
    folder("vendor", &["composer.json"]),
];
/// A virtual environment of Python under any name has this file in it.
const ENVIRONMENT_MARK: &str = "pyvenv.cfg";
/// Endings of folders that packaging tools of Python make.
const FOLDER_ENDINGS: [&str; 2] = [".egg-info", ".dist-info"];
/// Endings of compiled files.
const FILE_ENDINGS: [&str; 6] = ["pyc", "pyo", "class", "o", "obj", "tsbuildinfo"];
/// Names of files that tools leave.
const FILES: [&str; 7] = [
    ".coverage",
    ".DS_Store",
    ".eslintcache",
    ".phpunit.result.cache",
    ".rspec_status",
    "npm-debug.log",
    "yarn-error.log",
];

/// What makes a path a by-product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ByProduct {
    /// It lies in, or is, this folder of a tool, counted from the worktree.
    Below(PathBuf),
    /// The file itself is one.
    File,
}

/// Why a path within the worktree `root` is a tool's and nobody's work; nothing where it is not.
pub(super) fn by_product(root: &Path, path: &Path) -> Option<ByProduct> {
    let mut above = PathBuf::new();
    for part in path {
        let here = above.join(part);
        if is_folder_of_a_tool(&root.join(&above), part) && (here != path || is_folder(root, path))
        {
            return Some(ByProduct::Below(here));
        }
        above = here;
    }
    is_file_of_a_tool(path).then_some(ByProduct::File)
}

fn is_folder(root: &Path, path: &Path) -> bool {
    root.join(path).is_dir()
}

fn is_folder_of_a_tool(parent: &Path, name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    let listed = FOLDERS.iter().find(|folder| folder.name == text);
    match listed {
        Some(Folder { beside: [], .. }) => true,
        Some(Folder { beside, .. }) => beside.iter().any(|file| parent.join(file).is_file()),
        None => {
            FOLDER_ENDINGS.iter().any(|ending| text.ends_with(ending))
                || parent.join(name).join(ENVIRONMENT_MARK).is_file()
        }
    }
}

fn is_file_of_a_tool(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    FILES.iter().any(|file| name == *file)
        || path.extension().is_some_and(|ending| FILE_ENDINGS.iter().any(|known| ending == *known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_could_be_anything_needs_its_tool_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("app/env")).unwrap();
        std::fs::write(root.join("app/Cargo.toml"), "").unwrap();
        std::fs::write(root.join("app/env/pyvenv.cfg"), "").unwrap();
        let below = |path: &str| Some(ByProduct::Below(path.into()));
        let cases = [
            ("node_modules/a/index.js", below("node_modules")),
            ("web/node_modules/a/dist/x", below("web/node_modules")),
            ("pkg/__pycache__/a.cpython-312.pyc", below("pkg/__pycache__")),
            ("pkg/a.pyc", Some(ByProduct::File)),
            ("app/target/debug/app", below("app/target")),
            ("target/debug/app", None),
            ("app/env/bin/python", below("app/env")),
            ("shop.egg-info/PKG-INFO", below("shop.egg-info")),
            ("dist/index.html", None),
            ("src/main.rs", None),
            ("node_modules", None),
        ];
        for (path, expected) in cases {
            assert_eq!(by_product(root, Path::new(path)), expected, "{path}");
        }
    }
}
