//! Inspects a project and this machine. The inspection changes nothing.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;

use serde::Serialize;
use unstuck_core::fault::Code;
use unstuck_world::git::Git;
use unstuck_world::validate::{find_defining_files, list_test_patterns};

use super::tables::{
    BY_PRODUCTS, CHECKS, DOWNLOADING_CHECKS, DOWNLOADS, LANGUAGES, LanguageRow, PIPELINES, SETUP,
    SHAREABLE, TARGETS, TEST_FILES,
};
use super::when::FolderInspector;
use crate::build::{KEYS, TEST_FOLDERS, find_test_globs, installed_providers};
use crate::settings::{FILE, Provider};

#[derive(Debug, Serialize)]
pub(super) struct ProjectFindings {
    pub(super) git: InitRepositoryState,
    /// Languages, or the tools by which they are known.
    pub(super) languages: Vec<&'static str>,
    /// Commands that test the project.
    pub(super) checks: Vec<String>,
    /// Commands that prepare a new worktree.
    pub(super) setup: Vec<String>,
    /// Download folders of which each task has its own.
    pub(super) private: Vec<&'static str>,
    /// Set if the checks download their dependencies.
    pub(super) checks_download: bool,
    /// Folders and files with tests, as globs, and the files that define the checks.
    pub(super) protect: Vec<String>,
    /// Paths about which a person is asked before a change.
    pub(super) ask_first: Vec<&'static str>,
    /// Paths of the person's own tree that worktrees may share.
    pub(super) shareable: Vec<&'static str>,
    /// By-products of tools that git does not ignore, as lines for `.gitignore`.
    pub(super) not_ignored: Vec<&'static str>,
    /// Installed agent programs, in the order of preference.
    pub(super) agents: Vec<Provider>,
    /// Variables that hold a key. Only their names are read here.
    pub(super) keys: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InitRepositoryState {
    /// Git is not installed, or cannot be used.
    NoGit,
    /// The project is in no repository.
    None,
    /// The repository has no commit.
    NoCommit,
    /// A build could start from the last commit.
    Ready,
}

impl ProjectFindings {
    pub(super) async fn inspect(root: &Path) -> Self {
        let git = Git::new("git", root);
        let repository = InitRepositoryState::inspect(&git).await;
        let folder = FolderInspector::open(root);
        let mut languages = detect_languages(&folder);
        let (checks, in_parts) = detect_all_checks(&languages, &folder);
        let mut setup = first_rows(SETUP, &languages, &folder);
        let mut protected = Vec::new();
        if in_parts {
            for (name, part) in folder.list_parts() {
                let of_part = detect_languages(&part);
                let there = |command: String| format!("cd {name} && {command}");
                setup.extend(first_rows(SETUP, &of_part, &part).into_iter().map(there));
                protected.extend(test_folders(&part).map(|path| format!("{name}/{path}/**")));
                languages.extend(of_part);
            }
            languages.sort_unstable();
            languages.dedup();
        }
        let left = all_rows(BY_PRODUCTS, &languages, &folder);
        let tests = find_test_globs(root).await;
        protected.extend(protected_paths(root, &folder, &languages, &checks, tests));
        let mut seen = BTreeSet::new();
        protected.retain(|path| seen.insert(path.clone()));
        Self {
            git: repository,
            setup,
            private: all_rows(DOWNLOADS, &languages, &folder),
            checks_download: languages.iter().any(|name| DOWNLOADING_CHECKS.contains(name)),
            protect: protected,
            ask_first: pipeline_paths(root),
            checks,
            shareable: shareable_paths(&folder),
            not_ignored: find_not_ignored(&git, repository, left).await,
            agents: installed_providers().collect(),
            keys: KEYS.into_iter().filter(|name| env::var_os(name).is_some()).collect(),
            languages,
        }
    }
}

impl InitRepositoryState {
    async fn inspect(git: &Git) -> Self {
        match git.read_layout().await {
            Ok(_) => match git.resolve_head().await {
                Ok(_) => Self::Ready,
                Err(_) => Self::NoCommit,
            },
            Err(fault) if fault.code() == Code::PreconditionMissing => {
                if git.read_version().await.is_ok() { Self::None } else { Self::NoGit }
            }
            Err(_) => Self::NoGit,
        }
    }
}

/// Returns the commands that test the project at `root`.
pub(crate) fn detect_checks_of(root: &Path) -> Vec<String> {
    let folder = FolderInspector::open(root);
    detect_all_checks(&detect_languages(&folder), &folder).0
}

/// Returns the test commands of a project in `languages`, and whether they are those of its folders, because
/// it has neither a language nor a command itself.
fn detect_all_checks(languages: &[&'static str], folder: &FolderInspector) -> (Vec<String>, bool) {
    let own = detect_checks(languages, folder);
    if !languages.is_empty() || !own.is_empty() {
        return (own, false);
    }
    let of_part = |(name, part): (&str, FolderInspector)| {
        let commands = detect_checks(&detect_languages(&part), &part).into_iter();
        commands.map(|command| format!("cd {name} && {command}")).collect::<Vec<_>>()
    };
    (folder.list_parts().into_iter().flat_map(of_part).collect(), true)
}

fn detect_languages(folder: &FolderInspector) -> Vec<&'static str> {
    let there = LANGUAGES.iter().filter(|language| {
        language.signs.iter().any(|sign| folder.has_signs(std::slice::from_ref(sign)))
    });
    there.map(|language| language.name).collect()
}

/// Returns the test command of each language, or else that of a target.
fn detect_checks(languages: &[&'static str], folder: &FolderInspector) -> Vec<String> {
    let own = first_rows(CHECKS, languages, folder);
    if !own.is_empty() {
        return own;
    }
    let target = TARGETS.iter().find(|(sign, _)| folder.has_signs(&[*sign]));
    target.map(|(_, command)| (*command).to_owned()).into_iter().collect()
}

/// Returns the first matching row of each language.
fn first_rows(
    table: &[LanguageRow],
    languages: &[&'static str],
    folder: &FolderInspector,
) -> Vec<String> {
    let first = |language: &&str| {
        table.iter().find(|row| row.language == *language && folder.has_signs(row.when))
    };
    languages.iter().filter_map(first).map(|row| row.what.to_owned()).collect()
}

/// Returns all matching rows.
fn all_rows(
    table: &[LanguageRow],
    languages: &[&'static str],
    folder: &FolderInspector,
) -> Vec<&'static str> {
    let fits = |row: &&LanguageRow| languages.contains(&row.language) && folder.has_signs(row.when);
    let mut what: Vec<_> = table.iter().filter(fits).map(|row| row.what).collect();
    what.sort_unstable();
    what.dedup();
    what
}

/// Returns the tests, and the files that define the checks: a check that an agent can rewrite proves
/// nothing.
fn protected_paths(
    root: &Path,
    folder: &FolderInspector,
    languages: &[&'static str],
    checks: &[String],
    tests: Vec<String>,
) -> Vec<String> {
    let mut protect: Vec<String> = test_folders(folder).map(|path| format!("{path}/**")).collect();
    if !checks.is_empty() {
        protect.extend(all_rows(TEST_FILES, languages, folder).into_iter().map(str::to_owned));
    }
    protect.extend(tests);
    protect.extend(list_test_patterns(root, checks));
    for file in find_defining_files(root, checks) {
        protect.extend(file.into_os_string().into_string());
    }
    if !checks.is_empty() {
        protect.push(FILE.to_owned());
    }
    protect
}

fn test_folders(folder: &FolderInspector) -> impl Iterator<Item = &'static str> {
    TEST_FOLDERS.iter().copied().filter(|path| folder.is_folder(path))
}

fn pipeline_paths(root: &Path) -> Vec<&'static str> {
    let there = |glob: &&&str| root.join(glob.trim_end_matches("/**")).exists();
    PIPELINES.iter().filter(there).copied().collect()
}

fn shareable_paths(folder: &FolderInspector) -> Vec<&'static str> {
    SHAREABLE.iter().filter(|(sign, _)| folder.has_signs(&[*sign])).map(|(_, path)| *path).collect()
}

/// Returns the lines that git does not ignore yet, and of which it tracks nothing.
async fn find_not_ignored(
    git: &Git,
    repository: InitRepositoryState,
    left: Vec<&'static str>,
) -> Vec<&'static str> {
    let tracked = match git.resolve_head().await {
        Ok(head) => {
            let folders = left.iter().map(|line| Path::new(line.trim_end_matches('/')));
            git.filter_folders(&head, folders).await.unwrap_or_default()
        }
        Err(_) => BTreeSet::new(),
    };
    let in_git = matches!(repository, InitRepositoryState::NoCommit | InitRepositoryState::Ready);
    let mut seen = Vec::new();
    for line in left {
        let ignored = in_git && git.ignores_folder(line).await != Ok(false);
        if !ignored && !tracked.contains(Path::new(line.trim_end_matches('/'))) {
            seen.push(line);
        }
    }
    seen
}
