//! What is found in a project and on this machine. Nothing is changed by looking.

use std::env;
use std::path::Path;

use serde::Serialize;
use unstuck_core::fault::Code;
use unstuck_world::git::Git;

use super::tables::{CHECKS, FILLED, LANGUAGES, Row, SETUP, SHAREABLE, TARGETS, TEST_FOLDERS};
use super::when::Folder;
use crate::build::{KEYS, installed};
use crate::settings::Provider;

/// What was found.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    /// How the project stands to git.
    pub(super) git: Repository,
    /// Languages, or the tools they are known by.
    pub(super) languages: Vec<&'static str>,
    /// What tests it.
    pub(super) checks: Vec<&'static str>,
    /// What a new worktree needs.
    pub(super) setup: Vec<&'static str>,
    /// Folders with tests, as globs.
    pub(super) protect: Vec<String>,
    /// What worktrees may share with the person's own tree.
    pub(super) shareable: Vec<&'static str>,
    /// Folders that tools fill and git does not ignore.
    pub(super) not_ignored: Vec<&'static str>,
    /// Installed agent programs, the one that is taken first.
    pub(super) agents: Vec<Provider>,
    /// Variables that hold a key. Only their names are ever looked at here.
    pub(super) keys: Vec<&'static str>,
}

/// How a project stands to git.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Repository {
    /// Git itself is not there, or cannot be used.
    NoGit,
    /// It is in no repository.
    None,
    /// It is in one without a commit.
    NoCommit,
    /// A build could start from its last commit.
    Ready,
}

impl Found {
    pub(super) async fn look(root: &Path) -> Self {
        let git = Git::at("git", root);
        let repository = Repository::of(&git).await;
        let folder = Folder::open(root);
        let languages = languages(&folder);
        let filled = all(FILLED, &languages, &folder);
        Self {
            git: repository,
            checks: checks(&languages, &folder),
            setup: firsts(SETUP, &languages, &folder),
            protect: protect(&folder),
            shareable: shareable(&folder),
            not_ignored: not_ignored(&git, repository, filled).await,
            agents: installed().collect(),
            keys: KEYS.into_iter().filter(|name| env::var_os(name).is_some()).collect(),
            languages,
        }
    }
}

impl Repository {
    async fn of(git: &Git) -> Self {
        match git.layout().await {
            Ok(_) => match git.head().await {
                Ok(_) => Self::Ready,
                Err(_) => Self::NoCommit,
            },
            Err(fault) if fault.code() == Code::PreconditionMissing => {
                if git.version().await.is_ok() { Self::None } else { Self::NoGit }
            }
            Err(_) => Self::NoGit,
        }
    }
}

fn languages(folder: &Folder) -> Vec<&'static str> {
    let there = LANGUAGES.iter().filter(|language| {
        language.signs.iter().any(|sign| folder.has(std::slice::from_ref(sign)))
    });
    there.map(|language| language.name).collect()
}

fn checks(languages: &[&'static str], folder: &Folder) -> Vec<&'static str> {
    let own = firsts(CHECKS, languages, folder);
    if !own.is_empty() {
        return own;
    }
    let target = TARGETS.iter().find(|(sign, _)| folder.has(&[*sign]));
    target.map(|(_, command)| *command).into_iter().collect()
}

/// The first row that fits, of each language.
fn firsts(table: &[Row], languages: &[&'static str], folder: &Folder) -> Vec<&'static str> {
    let first = |language: &&str| {
        table.iter().find(|row| row.language == *language && folder.has(row.when))
    };
    languages.iter().filter_map(first).map(|row| row.what).collect()
}

/// Every row that fits.
fn all(table: &[Row], languages: &[&'static str], folder: &Folder) -> Vec<&'static str> {
    let fits = |row: &&Row| languages.contains(&row.language) && folder.has(row.when);
    let mut what: Vec<_> = table.iter().filter(fits).map(|row| row.what).collect();
    what.dedup();
    what
}

fn protect(folder: &Folder) -> Vec<String> {
    let there = TEST_FOLDERS.iter().filter(|path| folder.is_folder(path));
    there.map(|path| format!("{path}/**")).collect()
}

fn shareable(folder: &Folder) -> Vec<&'static str> {
    SHAREABLE.iter().filter(|(sign, _)| folder.has(&[*sign])).map(|(_, path)| *path).collect()
}

async fn not_ignored(
    git: &Git,
    repository: Repository,
    filled: Vec<&'static str>,
) -> Vec<&'static str> {
    let mut seen = Vec::new();
    if matches!(repository, Repository::NoCommit | Repository::Ready) {
        for path in filled {
            if git.ignores_folder(path).await == Ok(false) {
                seen.push(path);
            }
        }
    }
    seen
}
