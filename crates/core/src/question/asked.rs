//! The facts a question is made from: plain values, no engine types.

use super::{BudgetFacts, Decision, OptionsContext, QuestionKind, RaiseFacts, Reason, Risk};
use crate::fault::{Class, Code, Work};
use crate::time::Span;

/// Everything a question's text may depend on.
///
/// Titles, names, commands and an agent's words may be anything: they are shown as they are, in
/// quotation marks.
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
    /// What becomes of all other work while a person is waited for.
    pub other_work: OtherWork,
    /// The attempts that really ran, oldest first.
    pub attempts: &'a [TriedAttempt<'a>],
    /// Why it is asked now.
    pub reason: Reason,
    /// The account or service it is about.
    pub account: Option<&'a str>,
    /// The program that uses the account, where it is another one than its service.
    pub program: Option<&'a str>,
    /// The thing it is about: the check that fails, what is missing or refused, the action whose
    /// outcome is unknown.
    pub what: Option<&'a str>,
    /// What came back of an action whose outcome is unknown.
    pub came_back: Option<&'a str>,
    /// Where a person can see whether an action happened.
    pub look_at: Option<&'a str>,
    /// The environment variable that should hold the credential.
    pub variable: Option<&'a str>,
    /// The command that logs in.
    pub login: Option<&'a str>,
    /// The budget that has no room left.
    pub budget: Option<&'a BudgetFacts>,
    /// How much a person adds to it by letting the work go on.
    pub raise: Option<&'a RaiseFacts>,
    /// How the setup command ended, where it is what did not let the work begin.
    pub setup_ended: Option<&'a str>,
    /// How a check ended that took too long before the work began.
    pub check_ended: Option<&'a str>,
    /// What our own fence kept a check or a hook from, as a sentence; `what` is then the line of the
    /// settings that allows it.
    pub kept: Option<&'a str>,
    /// Why a change needs a person's yes, as a sentence.
    pub why: Option<&'a str>,
    /// The command that shows the whole change, where it is about one.
    pub whole_change: Option<&'a str>,
    /// What the agent itself asked.
    pub agent_question: Option<&'a str>,
    /// What the person answered it before.
    pub answered_before: Option<&'a str>,
    /// The choices that the agent offered.
    pub agent_options: &'a [String],
    /// How dangerous it is what a person is to allow.
    pub risk: Risk,
    /// The key of the action that a person is to allow.
    pub action_key: Option<&'a str>,
    /// Whether the policy lets a person allow this for good.
    pub always_allow: bool,
    /// What happens by itself when nobody answers, where the operator configured that.
    pub default: Option<DefaultAnswer>,
}

/// What becomes of the work that does not wait for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherWork {
    /// It goes on.
    #[default]
    GoesOn,
    /// There is none that could go on now.
    None,
    /// The build is paused.
    Paused,
    /// The build rests until its next budget window.
    Rests,
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
    /// What it did, in the agent's words; may be empty.
    pub summary: &'a str,
    /// How many files it changed.
    pub files_changed: u32,
    /// How many commands it ran.
    pub commands: u32,
    /// How it failed.
    pub code: Code,
}

impl<'a> Asked<'a> {
    /// A question about one task of which no more is known; set the other fields as needed.
    pub const fn new(kind: QuestionKind, code: Option<Code>, reason: Reason) -> Self {
        Self {
            kind,
            code,
            work: Work::Task,
            titles: &[],
            tasks: 1,
            dependants: 0,
            other_work: OtherWork::GoesOn,
            attempts: &[],
            reason,
            account: None,
            program: None,
            what: None,
            came_back: None,
            look_at: None,
            variable: None,
            login: None,
            budget: None,
            raise: None,
            setup_ended: None,
            check_ended: None,
            kept: None,
            why: None,
            whole_change: None,
            agent_question: None,
            answered_before: None,
            agent_options: &[],
            risk: Risk::Usual,
            action_key: None,
            always_allow: false,
            default: None,
        }
    }

    /// Whether the question holds the whole build, not single tasks.
    pub(super) fn holds_build(&self) -> bool {
        self.kind == QuestionKind::Paused && self.reason.holds_build()
    }

    /// What the choices depend on.
    pub fn options_context(&self) -> OptionsContext<'a> {
        OptionsContext {
            work: self.work,
            title: self.titles.first().copied().unwrap_or_default(),
            tasks: self.tasks,
            dependants: self.dependants,
            other_work: self.other_work,
            always_allow: self.always_allow,
            reason: self.reason,
            passing: self.is_passing(),
            risk: self.risk,
            what: self.what,
            agent_options: self.agent_options,
            edits: self.is_about_edits(),
            raise: self.raise,
        }
    }

    /// Whether it is about files of the project that the work has changed.
    pub(super) fn is_about_edits(&self) -> bool {
        self.kind == QuestionKind::Ok
            && self.code == Some(Code::PermissionFileAccess)
            && self.risk == Risk::Usual
    }

    /// Whether it may well pass by itself: a service, the network or the machine stood in the way.
    pub(super) fn is_passing(&self) -> bool {
        self.code.is_some_and(|code| code.row().class == Class::EnvError)
    }
}
