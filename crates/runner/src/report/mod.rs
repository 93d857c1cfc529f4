//! The morning report: what shipped, what was checked, what was not done and why, what waits for a
//! person, and what it cost.
//!
//! It is read from the store's tables and from nothing else ([`Facts`]), and made of them by pure
//! functions ([`Report::of`]). How it looks is none of its business. Every text in it is plain
//! English that passes the linter, except in the fields that are said to be for operators:
//! [`Report::public`] leaves those out.
//!
//! Design: `docs/design/report.md`.

mod assemble;
mod checks;
mod cost;
mod facts;
mod healed;
mod push;
#[expect(clippy::module_inception, reason = "the file is named after the thing")]
mod report;
mod waits;
mod words;

#[cfg(test)]
mod tests;

pub use facts::{Facts, TaskFacts};
pub use push::{PushLeft, push_left};
pub use report::{
    Action, Actions, Answered, ChecksTold, Cost, Counts, Healed, Landed, NotDone, Outcome, Priced,
    RefusedTo, Report, Shipped, Spending, Still, Unchanged, Wait, Waiting,
};
