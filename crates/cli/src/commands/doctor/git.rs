//! Checks git, and the repository from which agents get their worktrees.

use std::path::Path;

use unstuck_core::fault::{Code, Fault};
use unstuck_world::git::{Git, Person};

use super::finding::Finding;
use crate::error::Error;
use crate::render::words;

/// The oldest git version that can merge without touching a file.
const OLDEST: (u32, u32) = (2, 38);

const GIT: &str = "git";
const REPOSITORY: &str = "repository";
const PERSON: &str = "person";
const TREE: &str = "tree";

/// Runs the checks in order; checks that depend on a failed one are left out.
pub(super) async fn look(root: &Path, in_place: bool) -> Vec<Finding> {
    let git = Git::at("git", root);
    let program = program(&git).await;
    if program.exit.is_some() {
        return vec![program];
    }
    let repository = repository(&git).await.unwrap_or_else(|fault| of_fault(REPOSITORY, fault));
    if repository.exit.is_some() {
        return vec![program, repository];
    }
    let person = person(&git).await.unwrap_or_else(|fault| of_fault(PERSON, fault));
    let tree = tree(&git, in_place).await.unwrap_or_else(|fault| of_fault(TREE, fault));
    vec![program, repository, person, tree]
}

async fn program(git: &Git) -> Finding {
    let (major, minor) = OLDEST;
    let install = format!("install git {major}.{minor} or newer, on the path that Unstuck sees");
    match git.version().await {
        Err(fault) => Finding::of_error(GIT, &fault.into(), Some(install)),
        Ok(version) if is_older(&version) => {
            Finding::bad(GIT, format!("{version} is too old"), install)
        }
        Ok(version) => Finding::good(GIT, version),
    }
}

/// Returns whether a version is too old; one that cannot be parsed counts as new.
fn is_older(version: &str) -> bool {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < OLDEST,
        _ => false,
    }
}

async fn repository(git: &Git) -> Result<Finding, Fault> {
    let layout = match git.layout().await {
        Err(fault) if fault.code() == Code::PreconditionMissing => {
            let todo = "`git init && git add -A && git commit -m 'First commit'`";
            return Ok(Finding::of_error(REPOSITORY, &fault.into(), Some(todo.to_owned())));
        }
        layout => layout?,
    };
    if layout.bare {
        let todo = "clone it, and work in the clone";
        return Ok(Finding::bad(REPOSITORY, "it has no working tree: it is bare", todo));
    }
    if layout.shallow {
        let says = "its history is cut off (a shallow clone)";
        return Ok(Finding::bad(REPOSITORY, says, "`git fetch --unshallow`"));
    }
    if git.commit_of("HEAD").await?.is_none() {
        let todo = "`git add -A && git commit -m 'First commit'`";
        return Ok(Finding::bad(REPOSITORY, "it has no commit to start from", todo));
    }
    let branch = git.branch().await?;
    let short = branch.as_deref().map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
    Ok(Finding::good(
        REPOSITORY,
        short.map_or_else(
            || "on no branch; builds start from the commit that is checked out".to_owned(),
            |name| format!("on {}", words::plain_line(name)),
        ),
    ))
}

async fn person(git: &Git) -> Result<Finding, Fault> {
    Ok(match git.person().await? {
        Some(Person { name, email }) => {
            Finding::good(PERSON, words::plain_line(&format!("commits as {name} <{email}>")))
        }
        None => Finding::warning(
            PERSON,
            "git does not know who you are; commits are made as Unstuck <unstuck@localhost>",
            "`git config --global user.name 'Your Name'`, and user.email",
        ),
    })
}

/// Checks for uncommitted changes. They are in no worktree, and prevent a run only if agents work in this
/// very tree.
async fn tree(git: &Git, in_place: bool) -> Result<Finding, Fault> {
    let changed = git.status().await?.len();
    let paths = words::number(changed, "path differs", "paths differ");
    let says = format!("{paths} from the last commit");
    Ok(match (changed, in_place) {
        (0, _) => Finding::good(TREE, "clean"),
        (_, true) => {
            Finding::bad(TREE, format!("{says}, and run.in_place is set"), "commit or stash it")
        }
        (_, false) => Finding::warning(
            TREE,
            format!("{says}; agents start from that commit and do not see it"),
            "commit what they need",
        ),
    })
}

fn of_fault(about: &'static str, fault: Fault) -> Finding {
    Finding::of_error(about, &Error::from(fault), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for old in ["2.37.9", "2.9.5", "1.99"] {
            assert!(is_older(old), "{old}");
        }
        for new in ["2.38.0", "2.47.3", "2.100", "3.0.1", "2.39.5.windows.1", "next"] {
            assert!(!is_older(new), "{new}");
        }
    }
}
