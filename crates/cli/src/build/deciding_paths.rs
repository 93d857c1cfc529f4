//! Paths that determine how a project is checked, built, published and maintained, and what runs in the next
//! session of a person or an agent.

use std::fs;
use std::path::{Path, PathBuf};

use unstuck_world::scope::place_patterns;

use super::test_paths::escape_glob;
use crate::settings::{FILE, JOBS_FOLDER};

/// Paths that a task may change only with a person's approval, or if its scope names them.
const DECIDING: [&str; 36] = [
    FILE, "*/**/unstuck.toml", "jobs/*.md", ".gitmodules", ".github/workflows", ".github/actions",
    ".gitlab-ci.yml", ".gitlab", ".circleci", ".buildkite", ".woodpecker", ".woodpecker.yml",
    ".drone.yml", ".travis.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "Jenkinsfile",
    ".ci", ".githooks", ".husky", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml",
    ".lefthook.yml", ".lefthook",
    // Agent programs, editors and shells run what these files say when someone works in the project.
    "**/.claude", "**/.codex", "**/.cursor", "**/.gemini", "**/.mcp.json", "**/.envrc",
    "**/.vscode/tasks.json", "**/.vscode/launch.json", "**/.vscode/settings.json",
    "**/.vscode/mcp.json", "**/.devcontainer",
];

/// Maximum number of levels of folders in which projects of their own are looked for.
const LEVELS_MAX: usize = 3;
/// Maximum number of entries that are examined for it.
const ENTRIES_MAX: usize = 5_000;
/// Folders of packages of others.
const OTHERS: [&str; 3] = ["node_modules", "vendor", "target"];

/// The deciding paths of one project.
#[derive(Debug, Default)]
pub(super) struct DecidingPaths {
    pub(super) globs: Vec<String>,
    /// Names that decide where they are a file or a link: a link in the place of the jobs folder brings jobs.
    pub(super) names: Vec<String>,
}

/// Returns the deciding paths of the project at `root`, with the jobs of projects in its folders.
pub(super) fn find_deciding_paths(root: &Path) -> DecidingPaths {
    let mut folders = vec![PathBuf::new()];
    let mut left = ENTRIES_MAX;
    find_projects(root, Path::new(""), LEVELS_MAX, &mut left, &mut folders);
    let mut found = DecidingPaths {
        globs: DECIDING.into_iter().map(str::to_owned).collect(),
        names: Vec::new(),
    };
    for folder in folders.iter().map(|folder| folder.join(JOBS_FOLDER)) {
        found.names.extend(folder.to_str().map(str::to_owned));
        let linked = find_linked_folder(root, &folder);
        let with_jobs = [Some(folder), linked].into_iter().flatten();
        let globs = with_jobs.filter_map(|folder| Some(escape_glob(folder.to_str()?)));
        found.globs.extend(globs.map(|folder| match folder.as_str() {
            "" => "*.md".to_owned(),
            folder => format!("{folder}/*.md"),
        }));
    }
    found
}

/// Returns the deciding paths of the repository at `checkout`, with those of the project in its `folder`.
pub(super) fn find_repository_deciding_paths(checkout: &Path, folder: &Path) -> DecidingPaths {
    let mut found = find_deciding_paths(checkout);
    if !folder.as_os_str().is_empty() {
        let own = find_deciding_paths(&checkout.join(folder));
        found.globs.extend(place_patterns(folder, &own.globs));
        let names = own.names.iter().map(|name| folder.join(name));
        found.names.extend(names.filter_map(|name| name.to_str().map(str::to_owned)));
    }
    found
}

/// Adds the folders below `below` that have settings of their own.
fn find_projects(
    root: &Path,
    below: &Path,
    levels: usize,
    left: &mut usize,
    found: &mut Vec<PathBuf>,
) {
    for entry in fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_other = name.starts_with('.') || OTHERS.contains(&&*name);
        if is_other || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let folder = below.join(entry.file_name());
        if root.join(&folder).join(FILE).is_file() {
            found.push(folder.clone());
        }
        if levels > 1 {
            find_projects(root, &folder, levels - 1, left, found);
        }
    }
}

/// Returns the folder of the project to which a link leads.
fn find_linked_folder(root: &Path, link: &Path) -> Option<PathBuf> {
    let is_link = fs::symlink_metadata(root.join(link)).is_ok_and(|about| about.is_symlink());
    let real = is_link.then(|| fs::canonicalize(root.join(link)).ok())??;
    let inside = real.strip_prefix(fs::canonicalize(root).ok()?).ok()?;
    Some(inside.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn jobs_of_projects_below_and_behind_links_decide_as_well() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        for folder in ["work", "apps/shop", "apps/plain", "node_modules/a"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for folder in ["apps/shop", "node_modules/a"] {
            fs::write(root.join(folder).join(FILE), "").unwrap();
        }
        symlink("work", root.join("jobs")).unwrap();
        let found = find_deciding_paths(root);
        assert_eq!(found.names, ["jobs", "apps/shop/jobs"]);
        let own = &found.globs[DECIDING.len()..];
        assert_eq!(own, ["jobs/*.md", "work/*.md", "apps/shop/jobs/*.md"]);
    }
}
