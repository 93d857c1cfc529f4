//! Files that are known by the names that the ecosystems of languages agree on: by-products of
//! tools, and manifests and lock files, from which setup installs packages.
//!
//! A name of a by-product that could be anything (`dist`, `build`, `target`) counts only beside the
//! file of the tool that makes it, or where it holds what the tool makes. A compiled file is told
//! by its bytes where its ending could be another's (a model `cube.obj`). What git tracks at the
//! base below such a folder makes the folder work again; that is for the caller to look up.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A folder that a tool fills.
struct ToolFolder {
    name: &'static str,
    /// Files of which at least one has to be beside the folder; empty if the name is unambiguous.
    beside: &'static [&'static str],
}

const fn tool_folder(name: &'static str, beside: &'static [&'static str]) -> ToolFolder {
    ToolFolder { name, beside }
}

const FOLDERS: &[ToolFolder] = &[
    tool_folder("node_modules", &[]),
    tool_folder("__pycache__", &[]),
    tool_folder(".pytest_cache", &[]),
    tool_folder(".mypy_cache", &[]),
    tool_folder(".ruff_cache", &[]),
    tool_folder(".hypothesis", &[]),
    tool_folder(".tox", &[]),
    tool_folder(".nox", &[]),
    tool_folder(".eggs", &[]),
    tool_folder(".venv", &[]),
    tool_folder("htmlcov", &[]),
    tool_folder(".nyc_output", &[]),
    tool_folder(".next", &[]),
    tool_folder(".nuxt", &[]),
    tool_folder(".svelte-kit", &[]),
    tool_folder(".parcel-cache", &[]),
    tool_folder(".turbo", &[]),
    tool_folder(".gradle", &[]),
    tool_folder(".dart_tool", &[]),
    tool_folder(".stack-work", &[]),
    tool_folder("dist-newstyle", &[]),
    tool_folder(".zig-cache", &[]),
    tool_folder("zig-cache", &["build.zig"]),
    tool_folder("zig-out", &["build.zig"]),
    tool_folder(".build", &["Package.swift"]),
    tool_folder("target", &["Cargo.toml", "pom.xml", "build.sbt"]),
    tool_folder("dist", &["package.json", "pyproject.toml", "setup.py"]),
    tool_folder("coverage", &["package.json", "Gemfile", "pubspec.yaml"]),
    tool_folder(
        "build",
        &["CMakeLists.txt", "meson.build", "build.gradle", "build.gradle.kts", "pubspec.yaml"],
    ),
    tool_folder("_build", &["mix.exs", "dune-project"]),
    tool_folder("deps", &["mix.exs"]),
    tool_folder("vendor", &["composer.json"]),
];
/// Name of the file that every virtual environment of Python contains, whatever its folder is
/// called.
const ENVIRONMENT_MARK: &str = "pyvenv.cfg";
/// Suffixes of folders that packaging tools of Python make.
const FOLDER_ENDINGS: [&str; 2] = [".egg-info", ".dist-info"];
/// Beginnings of the names that the packaging tools of Python put into `build`.
const IN_PYTHON_BUILD: [&str; 3] = ["lib", "bdist.", "temp."];
/// Endings of compiled files.
const FILE_ENDINGS: [&str; 4] = ["pyc", "pyo", "class", "tsbuildinfo"];
/// Endings of files that are compiled where they are no text.
const OBJECT_ENDINGS: [&str; 2] = ["o", "obj"];
/// Beginnings of programs that a compiler makes: ELF, Mach-O.
const PROGRAM_MARKS: [&[u8]; 3] = [b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];
/// Endings of such programs; most have none.
const PROGRAM_ENDINGS: [&str; 3] = ["out", "test", "exe"];
/// Number of bytes of a file that are inspected.
const LOOKED_AT: u64 = 1024;
/// Names of files that tools leave.
const FILES: [&str; 7] = [
    ".coverage", ".DS_Store", ".eslintcache", ".phpunit.result.cache", ".rspec_status",
    "npm-debug.log", "yarn-error.log",
];

/// The reason why a path is a by-product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ByProduct {
    /// The path is, or is in, this folder of a tool, relative to the worktree.
    Below(PathBuf),
    /// The file itself is a by-product.
    File,
}

/// Returns why a path within the worktree `root` is a by-product, or `None` if it is not.
pub(super) fn classify_by_product(root: &Path, path: &Path) -> Option<ByProduct> {
    let mut above = PathBuf::new();
    for part in path {
        let here = above.join(part);
        if is_tool_folder(&root.join(&above), part) && (here != path || is_folder(root, path)) {
            return Some(ByProduct::Below(here));
        }
        above = here;
    }
    is_tool_file(root, path).then_some(ByProduct::File)
}

/// Returns whether a part of a written path is the name of a folder that a tool fills.
pub(super) fn names_tool_folder(path: &str) -> bool {
    path.split('/').any(|part| FOLDERS.iter().any(|folder| folder.name == part))
}

fn is_folder(root: &Path, path: &Path) -> bool {
    root.join(path).is_dir()
}

fn is_tool_folder(parent: &Path, name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    let listed = FOLDERS.iter().find(|folder| folder.name == text);
    match listed {
        Some(ToolFolder { beside: [], .. }) => true,
        Some(ToolFolder { beside, .. })
            if beside.iter().any(|file| parent.join(file).is_file()) =>
        {
            true
        }
        Some(_) | None => {
            FOLDER_ENDINGS.iter().any(|ending| text.ends_with(ending))
                || parent.join(name).join(ENVIRONMENT_MARK).is_file()
                || text == "build" && is_python_build(&parent.join(name))
        }
    }
}

fn is_python_build(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    names.any(|name| {
        let name = name.to_string_lossy();
        IN_PYTHON_BUILD.iter().any(|begins| name.starts_with(begins))
    })
}

fn is_tool_file(root: &Path, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let ending = path.extension();
    let ends_with = |known: &[&str]| ending.is_some_and(|is| known.iter().any(|one| is == *one));
    FILES.iter().any(|file| name == *file)
        || ends_with(&FILE_ENDINGS)
        || ends_with(&OBJECT_ENDINGS) && read_first_bytes(&root.join(path)).contains(&0)
        || (ending.is_none() || ends_with(&PROGRAM_ENDINGS)) && is_program(&root.join(path))
}

/// Returns whether a file is a compiled program, as `go build` and `cc` leave it.
fn is_program(path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    if !found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0) {
        return false;
    }
    let bytes = read_first_bytes(path);
    PROGRAM_MARKS.iter().any(|mark| bytes.starts_with(mark))
}

fn read_first_bytes(path: &Path) -> Vec<u8> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let mut bytes = Vec::new();
    if let Some(file) = is_file.then(|| fs::File::open(path).ok()).flatten() {
        // What cannot be read has no mark of a tool.
        let _ = file.take(LOOKED_AT).read_to_end(&mut bytes);
    }
    bytes
}

/// Names of manifests, which people write.
const MANIFESTS: [&str; 35] = [
    "Cargo.toml", "Directory.Packages.props", "Gemfile", "Package.swift", "Pipfile", "Podfile",
    "build.gradle", "build.gradle.kts", "build.sbt", "composer.json", "conanfile.py",
    "conanfile.txt", "constraints.txt", "deno.json", "deno.jsonc", "dune-project",
    "environment.yaml", "environment.yml", "go.mod", "go.work", "libs.versions.toml", "mix.exs",
    "package.json", "pnpm-workspace.yaml", "pom.xml", "project.clj", "pubspec.yaml",
    "pyproject.toml", "rebar.config", "settings.gradle", "settings.gradle.kts", "setup.cfg",
    "setup.py", "stack.yaml", "vcpkg.json",
];
/// Names of lock files, which package managers write beside the manifests.
const LOCK_FILES: [&str; 24] = [
    "Cargo.lock", "Gemfile.lock", "Package.resolved", "Pipfile.lock", "Podfile.lock", "bun.lock",
    "bun.lockb", "composer.lock", "conan.lock", "deno.lock", "go.sum", "go.work.sum",
    "gradle.lockfile", "mix.lock", "npm-shrinkwrap.json", "package-lock.json",
    "packages.lock.json", "pdm.lock", "pnpm-lock.yaml", "poetry.lock", "pubspec.lock",
    "rebar.lock", "uv.lock", "yarn.lock",
];
/// Extensions of manifests that are named after their project.
const MANIFEST_ENDINGS: [&str; 5] = ["cabal", "csproj", "fsproj", "gemspec", "opam"];

/// Returns whether a file is a manifest or a lock file.
pub(super) fn is_manifest(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    MANIFESTS.contains(&name)
        || MANIFEST_ENDINGS.contains(&ending)
        || is_lock_file(path)
        || is_requirements(path, name, ending)
}

/// Returns whether a file is a lock file, which a package manager writes from a manifest.
pub(super) fn is_lock_file(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    LOCK_FILES.contains(&name)
}

/// Returns whether a file is one like `requirements.txt`, `requirements-dev.txt`,
/// `dev-requirements.txt` or `requirements/dev.txt`.
fn is_requirements(path: &Path, name: &str, ending: &str) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    matches!(ending, "txt" | "in")
        && (name.contains("requirements") || folder.is_some_and(|folder| folder == "requirements"))
}

/// Folders that setup fills with programs.
pub(crate) const INSTALLED: [&str; 5] = ["venv/", "node_modules/", "vendor/", ".tox/", ".nox/"];

/// Returns whether a program is a file that the project at `root` has or is to have: a path in the project,
/// except where setup installs programs, or the name of a file in a usual folder.
pub(crate) fn is_own_program(program: &str, root: &Path) -> bool {
    if program.starts_with('/') {
        return false;
    }
    if program.contains('/') {
        let path = program.trim_start_matches("./");
        return !INSTALLED.iter().any(|folder| path.contains(folder));
    }
    ["", "bin", "scripts", "tools"].iter().any(|folder| root.join(folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_could_be_anything_needs_its_tool_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("app/env")).unwrap();
        fs::write(root.join("app/Cargo.toml"), "").unwrap();
        fs::write(root.join("app/env/pyvenv.cfg"), "").unwrap();
        for (path, bytes) in [
            ("cube.obj", &b"o cube\nv 0 0 0\n"[..]),
            ("main.obj", &b"d\x86\0\0"[..]),
            ("greet", &b"\x7fELF\x02"[..]),
            ("greet.so", &b"\x7fELF\x02"[..]),
            ("greet.sh", &b"#!/bin/sh\n"[..]),
            ("py/build/release.sh", &b""[..]),
            ("old/build/lib/calc.py", &b""[..]),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
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
            ("cube.obj", None),
            ("main.obj", Some(ByProduct::File)),
            ("greet", Some(ByProduct::File)),
            ("greet.so", None),
            ("greet.sh", None),
            ("py/build/release.sh", None),
            ("old/build/lib/calc.py", below("old/build")),
            ("node_modules", None),
        ];
        for (path, expected) in cases {
            assert_eq!(classify_by_product(root, Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn manifests_and_locks_are_known_by_their_names() {
        for path in [
            "Cargo.toml", "web/package.json", "requirements-dev.txt", "requirements/base.in",
            "shop.gemspec", "uv.lock",
        ] {
            assert!(is_manifest(Path::new(path)), "{path}");
        }
        for path in ["notes.txt", "package.jsonc", "src/requirements.rs", "deps.txt"] {
            assert!(!is_manifest(Path::new(path)), "{path}");
        }
        assert!(is_lock_file(Path::new("a/Cargo.lock")) && !is_lock_file(Path::new("Cargo.toml")));
    }
}
