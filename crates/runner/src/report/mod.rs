//! The morning report: finished work and its checks, unfinished work with the reasons, open
//! questions to a person, and the cost.
//!
//! It is read from the store's tables alone ([`BuildFacts`]), and assembled by pure functions
//! ([`BuildReport::from_facts`]); rendering is left to the views. All its texts are plain English
//! that passes the linter, except in the fields that are marked for operators:
//! [`BuildReport::into_public`] leaves those out.
//!
//! Design: `docs/design/report.md`.

mod assemble;
mod checks;
mod facts;
pub mod headings;
mod missing_push;
#[expect(clippy::module_inception, reason = "the file is named after the thing")]
mod report;
mod wording;

#[cfg(test)]
mod tests;

pub use facts::{BuildFacts, TaskFacts};
pub use missing_push::{MissingPush, find_missing_push};
pub use report::{
    AccountWait, ActionSummary, AnsweredQuestion, BuildCost, BuildReport, CheckSummary,
    CostCoverage, HealedError, NotDoneTask, OngoingTask, RefusedRequest, ReportAction,
    ReportActionOutcome, ShippedTask, TaskCost, TaskCounts, TaskLanding, UnchangedTask,
    WaitingQuestion,
};
