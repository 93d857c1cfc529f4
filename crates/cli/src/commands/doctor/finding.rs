//! One thing that was looked at, and what to do about it.

use serde::Serialize;
use unstuck_core::fault::Code;

use crate::build::{Concern, Weight};
use crate::error::Error;
use crate::exit::Exit;
use crate::problem::Problem;

/// One thing that was looked at.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What it is about, in one word.
    pub(super) about: &'static str,
    pub(super) verdict: Verdict,
    /// What was found.
    pub(super) says: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) todo: Option<String>,
    /// What a run would fail with, where that has a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<Code>,
    /// What a run would end with, where it could not begin.
    #[serde(skip)]
    pub(super) exit: Option<Exit>,
}

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// As it should be.
    Good,
    /// A run could begin; it is worth a look.
    Warning,
    /// A run could not begin.
    Bad,
    /// It could not be looked at, because of something else that is in the way.
    Skipped,
}

impl Finding {
    pub(super) fn good(about: &'static str, says: impl Into<String>) -> Self {
        Self {
            about,
            verdict: Verdict::Good,
            says: says.into(),
            todo: None,
            code: None,
            exit: None,
        }
    }

    pub(super) fn skipped(about: &'static str, says: impl Into<String>) -> Self {
        Self { verdict: Verdict::Skipped, ..Self::good(about, says) }
    }

    pub(super) fn warning(
        about: &'static str,
        says: impl Into<String>,
        todo: impl Into<String>,
    ) -> Self {
        let todo = Some(todo.into());
        Self { verdict: Verdict::Warning, todo, ..Self::good(about, says) }
    }

    /// In the way of a run: of its surroundings, unless it is said to be otherwise.
    pub(super) fn bad(
        about: &'static str,
        says: impl Into<String>,
        todo: impl Into<String>,
    ) -> Self {
        let exit = Some(Exit::Config);
        Self { verdict: Verdict::Bad, exit, ..Self::warning(about, says, todo) }
    }

    /// What a run would end with. Its hint is what to do, unless something better is known.
    pub(super) fn of_error(about: &'static str, error: &Error, todo: Option<String>) -> Self {
        let todo = todo.or_else(|| error.hints().into_iter().next()).unwrap_or_default();
        let says = match error {
            Error::Fault(fault) => fault.message.clone(),
            error => error.to_string(),
        };
        let code = match error {
            Error::Fault(fault) => Some(fault.code()),
            _ => None,
        };
        let exit = match error.exit() {
            Exit::Denied => Exit::Denied,
            _ => Exit::Config,
        };
        Self { code, exit: Some(exit), ..Self::bad(about, says, todo) }
    }

    /// What a run says, or refuses with, before it begins.
    pub(super) fn of_concern(concern: Concern) -> Self {
        let Concern { about, weight, code, says, todo } = concern;
        match weight {
            Weight::Notes => Self::good(about, says),
            Weight::Warns => Self::warning(about, says, todo),
            Weight::Stops => Self { code: Some(code), ..Self::bad(about, says, todo) },
        }
    }

    /// The same, and one for each mistake in files that a person wrote.
    pub(super) fn all_of_error(about: &'static str, error: &Error) -> Vec<Self> {
        match error {
            Error::Problems(problems) => {
                problems.iter().map(|problem| Self::of_problem(about, problem)).collect()
            }
            error => vec![Self::of_error(about, error, None)],
        }
    }

    fn of_problem(about: &'static str, problem: &Problem) -> Self {
        let plain = Problem { hint: None, ..problem.clone() };
        let todo = problem
            .hint
            .clone()
            .unwrap_or_else(|| format!("`unstuck explain {}` says what helps", problem.code));
        Self { code: Some(problem.code), ..Self::bad(about, plain.to_string(), todo) }
    }
}
