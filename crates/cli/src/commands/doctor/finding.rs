//! A finding of the doctor, with its remedy.

use serde::Serialize;
use unstuck_core::fault::Code;

use crate::build::{ConcernSeverity, PreflightConcern};
use crate::error::CliError;
use crate::exit::Exit;
use crate::problem::InputProblem;

/// A finding of the doctor.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct DoctorFinding {
    /// The topic, in one word.
    pub(super) about: &'static str,
    pub(super) verdict: DoctorVerdict,
    /// The finding itself.
    pub(super) says: String,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) todo: Option<String>,
    /// The fault code of a run, if it would fail with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<Code>,
    /// The exit code of a run, if it could not begin.
    #[serde(skip)]
    pub(super) exit: Option<Exit>,
}

/// The verdict on a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DoctorVerdict {
    /// As it should be.
    Good,
    /// A run could begin; the finding is worth a look.
    Warning,
    /// A run could not begin.
    Bad,
    /// The check was not possible because of another finding.
    Skipped,
}

impl DoctorFinding {
    pub(super) fn good(about: &'static str, says: impl Into<String>) -> Self {
        Self {
            about,
            verdict: DoctorVerdict::Good,
            says: says.into(),
            todo: None,
            code: None,
            exit: None,
        }
    }

    pub(super) fn skipped(about: &'static str, says: impl Into<String>) -> Self {
        Self { verdict: DoctorVerdict::Skipped, ..Self::good(about, says) }
    }

    pub(super) fn warning(
        about: &'static str,
        says: impl Into<String>,
        todo: impl Into<String>,
    ) -> Self {
        let todo = Some(todo.into());
        Self { verdict: DoctorVerdict::Warning, todo, ..Self::good(about, says) }
    }

    /// Creates a finding that prevents a run; its exit code is that of the environment unless changed.
    pub(super) fn bad(
        about: &'static str,
        says: impl Into<String>,
        todo: impl Into<String>,
    ) -> Self {
        let exit = Some(Exit::Config);
        Self { verdict: DoctorVerdict::Bad, exit, ..Self::warning(about, says, todo) }
    }

    /// Creates a finding from the error that a run would end with. The remedy is its first hint unless a
    /// better one is given.
    pub(super) fn from_error(about: &'static str, error: &CliError, todo: Option<String>) -> Self {
        let todo = todo.or_else(|| error.hints().into_iter().next()).unwrap_or_default();
        let says = match error {
            CliError::Fault(fault) => fault.message.clone(),
            error => error.to_string(),
        };
        let code = match error {
            CliError::Fault(fault) => Some(fault.code()),
            _ => None,
        };
        let exit = match error.exit() {
            Exit::Denied => Exit::Denied,
            _ => Exit::Config,
        };
        Self { code, exit: Some(exit), ..Self::bad(about, says, todo) }
    }

    /// Creates a finding from a concern of the preflight.
    pub(super) fn from_concern(concern: PreflightConcern) -> Self {
        let PreflightConcern { about, weight, code, says, todo } = concern;
        match weight {
            ConcernSeverity::Notes => Self::good(about, says),
            ConcernSeverity::Warns => Self::warning(about, says, todo),
            ConcernSeverity::Stops => Self { code: Some(code), ..Self::bad(about, says, todo) },
        }
    }

    /// Creates the findings of an error, with one for each mistake in files that a person wrote.
    pub(super) fn list_from_error(about: &'static str, error: &CliError) -> Vec<Self> {
        match error {
            CliError::Problems(problems) => {
                problems.iter().map(|problem| Self::from_problem(about, problem)).collect()
            }
            error => vec![Self::from_error(about, error, None)],
        }
    }

    fn from_problem(about: &'static str, problem: &InputProblem) -> Self {
        let plain = InputProblem { hint: None, ..problem.clone() };
        let todo = problem
            .hint
            .clone()
            .unwrap_or_else(|| format!("`unstuck explain {}` says what helps", problem.code));
        Self { code: Some(problem.code), ..Self::bad(about, plain.to_string(), todo) }
    }
}
