//! The facts a question is made from: plain values, no engine types.

use super::{Decision, OptionsContext, QuestionKind, Reason};
use crate::fault::{Code, Work};
use crate::time::Span;

/// Everything a question's text may depend on.
///
/// Titles, names and an agent's words may be anything: each passes the linter or is left out.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What is asked of the person.
    pub kind: QuestionKind,
    /// The code of the last fault; *happened* and *paused* have none.
    pub code: Option<Code>,
    /// Tasks or jobs.
    pub work: Work,
    /// Titles of the tasks that wait; the first is named in the text.
    pub titles: &'a [&'a str],
    /// How many tasks wait, the named ones among them.
    pub tasks: u32,
    /// How many other tasks need them.
    pub dependants: u32,
    /// The attempts that really ran, oldest first.
    pub attempts: &'a [TriedAttempt<'a>],
    /// Why it is asked now.
    pub reason: Reason,
    /// The account or service it is about.
    pub account: Option<&'a str>,
    /// The thing it is about: what is missing, refused, or was done with an unknown outcome.
    pub what: Option<&'a str>,
    /// What the agent itself asked.
    pub agent_question: Option<&'a str>,
    /// Whether the policy lets a person allow this for good.
    pub always_allow: bool,
    /// What happens by itself when nobody answers, where the operator configured that.
    pub default: Option<DefaultAnswer>,
}

/// An answer the operator configured for a question nobody answers in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultAnswer {
    /// What is then chosen.
    pub decision: Decision,
    /// How long a person has.
    pub within: Span,
}

/// One attempt that ran.
#[derive(Clone, Copy, Debug)]
pub struct TriedAttempt<'a> {
    /// Its number, counted from 1.
    pub number: u32,
    /// What it did, in the agent's words; may be empty or technical.
    pub summary: &'a str,
    /// How many files it changed.
    pub files_changed: u32,
    /// How many commands it ran.
    pub commands: u32,
    /// How it failed.
    pub code: Code,
}

impl Asked<'_> {
    /// A question about one task of which no more is known; set the other fields as needed.
    pub const fn new(kind: QuestionKind, code: Option<Code>, reason: Reason) -> Self {
        Self {
            kind,
            code,
            work: Work::Task,
            titles: &[],
            tasks: 1,
            dependants: 0,
            attempts: &[],
            reason,
            account: None,
            what: None,
            agent_question: None,
            always_allow: false,
            default: None,
        }
    }

    /// Whether the question holds the whole build, not single tasks.
    pub(super) fn holds_build(&self) -> bool {
        self.kind == QuestionKind::Paused && self.reason.holds_build()
    }

    /// What the choices depend on.
    pub const fn options_context(&self) -> OptionsContext {
        OptionsContext {
            work: self.work,
            tasks: self.tasks,
            dependants: self.dependants,
            always_allow: self.always_allow,
            reason: self.reason,
        }
    }
}
