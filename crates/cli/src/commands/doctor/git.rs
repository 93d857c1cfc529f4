//! Checks git, and the repository from which agents get their worktrees.

use std::path::Path;

use unstuck_core::fault::{Code, Fault};
use unstuck_world::git::{CommitAuthor, Git};

use super::DoctorFinding;
use crate::error::CliError;
use crate::render::words;

/// The oldest git version that can merge without touching a file.
const OLDEST: (u32, u32) = (2, 38);

const GIT: &str = "git";
const REPOSITORY: &str = "repository";
const PERSON: &str = "person";
const TREE: &str = "tree";

/// Runs the checks in order; checks that depend on a failed one are left out.
pub(super) async fn check_git(root: &Path, in_place: bool) -> Vec<DoctorFinding> {
    let git = Git::new("git", root);
    let program = check_program(&git).await;
    if program.exit.is_some() {
        return vec![program];
    }
    let repository =
        check_repository(&git).await.unwrap_or_else(|fault| finding_from_fault(REPOSITORY, fault));
    if repository.exit.is_some() {
        return vec![program, repository];
    }
    let person = check_person(&git).await.unwrap_or_else(|fault| finding_from_fault(PERSON, fault));
    let tree =
        check_tree(&git, in_place).await.unwrap_or_else(|fault| finding_from_fault(TREE, fault));
    vec![program, repository, person, tree]
}

async fn check_program(git: &Git) -> DoctorFinding {
    let (major, minor) = OLDEST;
    let install = format!("install git {major}.{minor} or newer, on the path that Unstuck sees");
    match git.read_version().await {
        Err(fault) => DoctorFinding::from_error(GIT, &fault.into(), Some(install)),
        Ok(version) if is_too_old(&version) => {
            DoctorFinding::bad(GIT, format!("{version} is too old"), install)
        }
        Ok(version) => DoctorFinding::good(GIT, version),
    }
}

/// Returns whether a version is too old; one that cannot be parsed counts as new.
fn is_too_old(version: &str) -> bool {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < OLDEST,
        _ => false,
    }
}

async fn check_repository(git: &Git) -> Result<DoctorFinding, Fault> {
    let layout = match git.read_layout().await {
        Err(fault) if fault.code() == Code::PreconditionMissing => {
            return Ok(DoctorFinding::from_error(REPOSITORY, &fault.into(), None));
        }
        layout => layout?,
    };
    if layout.bare {
        let todo = "clone it, and work in the clone";
        return Ok(DoctorFinding::bad(REPOSITORY, "it has no working tree: it is bare", todo));
    }
    if layout.shallow {
        let says = "its history is cut off (a shallow clone)";
        return Ok(DoctorFinding::bad(REPOSITORY, says, "`git fetch --unshallow`"));
    }
    if git.resolve_commit("HEAD").await?.is_none() {
        let todo = "`git add -A && git commit -m 'First commit'`";
        return Ok(DoctorFinding::bad(REPOSITORY, "it has no commit to start from", todo));
    }
    let branch = git.current_branch().await?;
    let short = branch.as_deref().map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
    Ok(DoctorFinding::good(
        REPOSITORY,
        short.map_or_else(
            || "builds start from the commit that is checked out".to_owned(),
            |name| format!("on {}", words::plain_line(name)),
        ),
    ))
}

async fn check_person(git: &Git) -> Result<DoctorFinding, Fault> {
    Ok(match git.read_author().await? {
        Some(CommitAuthor { name, email }) => {
            DoctorFinding::good(PERSON, words::plain_line(&format!("commits as {name} <{email}>")))
        }
        None => DoctorFinding::warning(
            PERSON,
            "git does not know who you are; commits are made as Unstuck <unstuck@localhost>",
            "`git config --global user.name 'Your Name'`, and user.email",
        ),
    })
}

/// Checks for uncommitted changes. They are in no worktree, and prevent a run only if agents work in this
/// very tree.
async fn check_tree(git: &Git, in_place: bool) -> Result<DoctorFinding, Fault> {
    let changed = git.status().await?.len();
    let paths = words::render_count(changed, "path differs", "paths differ");
    let says = format!("{paths} from the last commit");
    Ok(match (changed, in_place) {
        (0, _) => DoctorFinding::good(TREE, "clean"),
        (_, true) => DoctorFinding::bad(
            TREE,
            format!("{says}, and run.in_place is set"),
            "commit or stash it",
        ),
        (_, false) => DoctorFinding::warning(
            TREE,
            format!("{says}; agents start from that commit and do not see it"),
            "commit what they need",
        ),
    })
}

fn finding_from_fault(about: &'static str, fault: Fault) -> DoctorFinding {
    DoctorFinding::from_error(about, &CliError::from(fault), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for old in ["2.37.9", "2.9.5", "1.99"] {
            assert!(is_too_old(old), "{old}");
        }
        for new in ["2.38.0", "2.47.3", "2.100", "3.0.1", "2.39.5.windows.1", "next"] {
            assert!(!is_too_old(new), "{new}");
        }
    }
}
