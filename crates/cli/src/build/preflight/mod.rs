//! Checks, before money is spent, that the checks can run, that they test the code of their own worktree,
//! and that the start commit is usable.
//!
//! `doctor` shows all concerns; `run` prints them and does not begin if one of them stops it. The preflight
//! changes nothing and runs no check.

mod checkout;
mod programs;
mod python;
mod repository;
mod wall;

use std::path::Path;

use unstuck_core::fault::Code;
use unstuck_world::workspace::own_links;

use crate::error::Error;
use crate::problem::Problem;
use crate::settings::{FILE, Settings};

/// A finding of the preflight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Concern {
    /// The topic, in one or two words.
    pub(crate) about: &'static str,
    pub(crate) weight: Weight,
    pub(crate) code: Code,
    /// The finding itself.
    pub(crate) says: String,
    /// The remedy: a command, or the line to write.
    pub(crate) todo: String,
}

/// The severity of a concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// A run does not begin.
    Stops,
    /// A run begins, with a warning.
    Warns,
    /// Unstuck takes care of it; only `doctor` shows it.
    Notes,
}

pub(crate) const CHECKS: &str = "checks";
const OWN_CODE: &str = "own code";

impl Concern {
    fn stops(about: &'static str, code: Code, says: String, todo: impl Into<String>) -> Self {
        Self { about, weight: Weight::Stops, code, says, todo: todo.into() }
    }

    fn warns(about: &'static str, code: Code, says: String, todo: impl Into<String>) -> Self {
        Self { weight: Weight::Warns, ..Self::stops(about, code, says, todo) }
    }

    fn notes(about: &'static str, says: String) -> Self {
        let code = Code::PreconditionMissing;
        Self { weight: Weight::Notes, ..Self::stops(about, code, says, "") }
    }

    /// Formats the concern as one line for a person.
    pub(crate) fn line(&self) -> String {
        format!("{} → {}", self.says, self.todo)
    }
}

/// Inspects all that these checks need in the project at `root`.
pub(crate) async fn inspect(root: &Path, settings: &Settings, checks: &[String]) -> Vec<Concern> {
    let mut concerns = repository::inspect(root).await;
    concerns.extend(nothing_checked(checks));
    concerns.extend(programs::inspect(root, &settings.run.setup, checks).await);
    concerns.extend(python::inspect(root, &settings.run.setup, checks).await);
    concerns.extend(shared_links(root, settings));
    concerns.extend(checkout::inspect(root, checks).await);
    concerns.extend(wall::inspect(settings));
    concerns
}

/// Returns all concerns that stop a run as an error, or else the warnings.
pub(crate) fn refuse(concerns: Vec<Concern>) -> Result<Vec<Concern>, Error> {
    let (stops, mut warns): (Vec<Concern>, Vec<Concern>) =
        concerns.into_iter().partition(|concern| concern.weight == Weight::Stops);
    warns.retain(|concern| concern.weight == Weight::Warns);
    if stops.is_empty() {
        return Ok(warns);
    }
    let problem = |concern: Concern| {
        Problem::at(concern.code, concern.about, concern.says).hinting(concern.todo)
    };
    Err(Error::Problems(stops.into_iter().map(problem).collect()))
}

fn nothing_checked(checks: &[String]) -> Option<Concern> {
    checks.is_empty().then(|| {
        let says = "nothing is checked before a commit: an agent's work lands as it is".to_owned();
        let todo = format!("write `pre_commit = [\"make test\"]` below [validate] in {FILE}");
        Concern::warns(CHECKS, Code::ConfigMissing, says, todo)
    })
}

/// Returns a concern if a shared `node_modules` leads to the packages of the checkout.
fn shared_links(root: &Path, settings: &Settings) -> Option<Concern> {
    let shared = settings.run.share.iter().any(|path| path.trim_end_matches('/') == "node_modules");
    let links = if shared { own_links(root) } else { Vec::new() };
    let first = links.first()?;
    let link = first.strip_prefix(root).unwrap_or(first).display();
    let says = format!("{link} leads to your own checkout, and run.share gives it to worktrees");
    let todo = format!(
        "take node_modules out of run.share, and write `setup = [\"npm ci\"]` below [run] in {FILE}"
    );
    Some(Concern::stops(OWN_CODE, Code::ConfigInvalid, says, todo))
}
