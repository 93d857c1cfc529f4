//! Manifests and lock files: the files that name a project's packages, from which setup installs.

use std::ffi::OsStr;
use std::path::Path;

/// Names of manifests, which people write.
const MANIFESTS: [&str; 35] = [
    "Cargo.toml",
    "Directory.Packages.props",
    "Gemfile",
    "Package.swift",
    "Pipfile",
    "Podfile",
    "build.gradle",
    "build.gradle.kts",
    "build.sbt",
    "composer.json",
    "conanfile.py",
    "conanfile.txt",
    "constraints.txt",
    "deno.json",
    "deno.jsonc",
    "dune-project",
    "environment.yaml",
    "environment.yml",
    "go.mod",
    "go.work",
    "libs.versions.toml",
    "mix.exs",
    "package.json",
    "pnpm-workspace.yaml",
    "pom.xml",
    "project.clj",
    "pubspec.yaml",
    "pyproject.toml",
    "rebar.config",
    "settings.gradle",
    "settings.gradle.kts",
    "setup.cfg",
    "setup.py",
    "stack.yaml",
    "vcpkg.json",
];
/// Names of lock files, which package managers write beside the manifests.
const LOCKS: [&str; 24] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "conan.lock",
    "deno.lock",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pdm.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pubspec.lock",
    "rebar.lock",
    "uv.lock",
    "yarn.lock",
];
/// Extensions of manifests that are named after their project.
const ENDINGS: [&str; 5] = ["cabal", "csproj", "fsproj", "gemspec", "opam"];

/// Returns whether a file is a manifest or a lock file.
pub(super) fn is_manifest(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    MANIFESTS.contains(&name)
        || ENDINGS.contains(&ending)
        || is_lock_file(path)
        || is_requirements(path, name, ending)
}

/// Returns whether a file is a lock file, which a package manager writes from a manifest.
pub(super) fn is_lock_file(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    LOCKS.contains(&name)
}

/// Returns whether a file is one like `requirements.txt`, `requirements-dev.txt`,
/// `dev-requirements.txt` or `requirements/dev.txt`.
fn is_requirements(path: &Path, name: &str, ending: &str) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    matches!(ending, "txt" | "in")
        && (name.contains("requirements") || folder.is_some_and(|folder| folder == "requirements"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_and_locks_are_known_by_their_names() {
        for path in [
            "Cargo.toml",
            "web/package.json",
            "requirements-dev.txt",
            "requirements/base.in",
            "shop.gemspec",
            "uv.lock",
        ] {
            assert!(is_manifest(Path::new(path)), "{path}");
        }
        for path in ["notes.txt", "package.jsonc", "src/requirements.rs", "deps.txt"] {
            assert!(!is_manifest(Path::new(path)), "{path}");
        }
        assert!(is_lock_file(Path::new("a/Cargo.lock")) && !is_lock_file(Path::new("Cargo.toml")));
    }
}
