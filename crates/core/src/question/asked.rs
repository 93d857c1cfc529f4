//! The facts a question is made from: plain values, no engine types; and the sentences about the attempts before it.

use super::{BudgetFacts, Decision, OptionsContext, QuestionKind, RaiseFacts, Reason, Risk};
use crate::attempt::CHANGED_NOTHING;
use crate::fault::{Class, Code, ExpiredCertificate, Work};
use crate::text::{
    SpecificCause, VALUE_CHARS_MAX, count_noun, failure_phrase, number_word, quote_words,
    span_words,
};
use crate::time::Span;

/// All facts that a question's text may depend on.
///
/// Titles, names, commands and an agent's words may contain any text: they are quoted verbatim.
#[derive(Clone, Copy, Debug)]
pub struct QuestionFacts<'a> {
    /// The kind of question.
    pub kind: QuestionKind,
    /// The code of the last fault; `None` for *happened* and *paused*.
    pub code: Option<Code>,
    /// The kind of work that waits: tasks or jobs.
    pub work: Work,
    /// Titles of the waiting tasks; the text names the first one.
    pub titles: &'a [&'a str],
    /// Number of waiting tasks, the named ones included.
    pub tasks: u32,
    /// Number of other tasks that depend on them.
    pub dependants: u32,
    /// The state of all other work while the question is open.
    pub other_work: OtherWork,
    /// The attempts that actually ran, oldest first.
    pub attempts: &'a [TriedAttempt<'a>],
    /// The reason for asking now.
    pub reason: Reason,
    /// The account or service concerned.
    pub account: Option<&'a str>,
    /// The program that uses the account, if it is not the service's own.
    pub program: Option<&'a str>,
    /// The subject: the check that fails, the missing or refused thing, the action whose outcome is unknown.
    pub what: Option<&'a str>,
    /// The output of an action whose outcome is unknown.
    pub came_back: Option<&'a str>,
    /// The place where a person can see whether an action happened.
    pub look_at: Option<&'a str>,
    /// The environment variable that should hold the credential.
    pub variable: Option<&'a str>,
    /// The command that logs in.
    pub login: Option<&'a str>,
    /// The exhausted budget.
    pub budget: Option<&'a BudgetFacts>,
    /// The amount a person adds to it by letting the work continue.
    pub raise: Option<&'a RaiseFacts>,
    /// The model that the service does not know.
    pub model: Option<&'a str>,
    /// The result of the setup command, if its failure kept the work from beginning.
    pub setup_ended: Option<&'a str>,
    /// The result of a check that exceeded its time limit before the work began.
    pub check_ended: Option<&'a str>,
    /// The access that the sandbox denied to a check or a hook, as a sentence; `what` is then the line of the
    /// settings that allows it.
    pub kept: Option<&'a str>,
    /// Why a check does not start before the work, and what helps, as sentences.
    pub broken: Option<&'a str>,
    /// Why a change needs a person's yes, or where the work is that no commit covers, as a sentence.
    pub why: Option<&'a str>,
    /// `true` if the task's own words lead to that change.
    pub is_expected: bool,
    /// `true` if git did not accept a push, because the remote has commits that are not here.
    pub rejected_push: bool,
    /// The expired certificate of the server, which is then the account.
    pub expired_certificate: Option<&'a ExpiredCertificate>,
    /// The cause, if the code alone does not tell it.
    pub cause: Option<SpecificCause>,
    /// The phase in which a step is not allowed.
    pub phase: Option<&'a str>,
    /// The command that shows the whole change, where it is about one.
    pub whole_change: Option<&'a str>,
    /// The question of the agent itself.
    pub agent_question: Option<&'a str>,
    /// The person's previous answer to it.
    pub answered_before: Option<&'a str>,
    /// The options that the agent offered.
    pub agent_options: &'a [String],
    /// The risk of what a person is to allow.
    pub risk: Risk,
    /// The key of the action that a person is to allow.
    pub action_key: Option<&'a str>,
    /// `true` if the policy lets a person allow this permanently.
    pub always_allow: bool,
    /// The default answer after a timeout, if the operator configured one.
    pub default: Option<DefaultAnswer>,
}

/// The state of the work that does not wait for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherWork {
    /// The other work continues.
    #[default]
    GoesOn,
    /// No other work can continue now.
    None,
    /// There is no other work.
    NotThere,
    /// The build is paused.
    Paused,
    /// The build sleeps until its next budget window.
    Rests,
}

/// The answer that the operator configured for a question without an answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultAnswer {
    /// The decision then taken.
    pub decision: Decision,
    /// The time a person has to answer.
    pub within: Span,
}

/// An attempt that ran.
#[derive(Clone, Copy, Debug)]
pub struct TriedAttempt<'a> {
    /// The number of the attempt, counted from 1.
    pub number: u32,
    /// The agent's summary of its work; may be empty.
    pub summary: &'a str,
    /// Number of files it changed.
    pub files_changed: u32,
    /// Number of commands it ran.
    pub commands: u32,
    /// The code of its failure.
    pub code: Code,
}

impl<'a> QuestionFacts<'a> {
    /// Creates a question about one task with no further facts; set the other fields as needed.
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
            model: None,
            setup_ended: None,
            check_ended: None,
            kept: None,
            broken: None,
            why: None,
            is_expected: false,
            rejected_push: false,
            expired_certificate: None,
            cause: None,
            phase: None,
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

    /// Returns whether the question pauses the whole build, not single tasks.
    pub(super) fn holds_build(&self) -> bool {
        self.kind == QuestionKind::Paused && self.reason.holds_build()
    }

    /// Returns the facts that the options depend on.
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

    /// Returns whether the question is about project files that the work has changed.
    pub(super) fn is_about_edits(&self) -> bool {
        self.kind == QuestionKind::Ok
            && self.code == Some(Code::PermissionFileAccess)
            && self.risk == Risk::Usual
    }

    /// Returns whether the fault may well be transient: a service, the network or the machine failed.
    pub(super) fn is_passing(&self) -> bool {
        self.code.is_some_and(|code| code.row().class == Class::EnvError)
    }
}

/// Returns why the question is asked. (T1.4: a first occurrence says nothing about further attempts.)
pub(super) fn explain_asking(asked: &QuestionFacts<'_>) -> Option<String> {
    Some(match asked.reason {
        Reason::FirstOccurrence => return explain_no_retry(asked).map(str::to_owned),
        Reason::AttemptsUsedUp { tried, ways } => attempts_used_up(tried, ways),
        Reason::MaxRetriesExceeded { retries: 0 | 1 } | Reason::RetriedOnce => {
            "I tried it one more time, and that did not help.".to_owned()
        }
        Reason::MaxRetriesExceeded { retries } => format!(
            "I tried it {} more times, with breaks in between, and that did not help.",
            number_word(retries)
        ),
        Reason::WaitedTooLong { span: waited } => {
            format!("I waited for {}, and that did not help.", span_words(waited))
        }
        Reason::RepairBudgetExhausted { repairs: 0 } => {
            "No repairs are set up for it, so I am asking you right away.".to_owned()
        }
        Reason::RepairBudgetExhausted { repairs } => {
            format!("I tried to repair it {}, and it still fails.", times_phrase(repairs))
        }
        Reason::ShortenedTooOften { times: shortened } => {
            format!("I shortened it {}, and it is still too long.", times_phrase(shortened))
        }
        Reason::TooManyDifferentErrors => {
            "Many attempts in a row failed here, for different reasons.".to_owned()
        }
        Reason::TooManyCrashes { times: killed } => format!(
            "Unstuck or the machine crashed {} during this work. I stopped, because the work \
             itself may be the cause.",
            in_a_row(killed)
        ),
        Reason::KeepsFailing { firings, span: failing } => format!(
            "It has not worked for {}, and failed {}. I keep its schedule and try again each time.",
            span_words(failing),
            in_a_row(firings)
        ),
        Reason::RepairProposed
        | Reason::TooManyQuestions { .. }
        | Reason::BudgetSpent { .. }
        | Reason::OutcomeUnknown
        | Reason::AgentAsked => return None,
    })
}

fn attempts_used_up(tried: u32, ways: u32) -> String {
    match (tried, ways) {
        (0 | 1, _) => "I tried it once, and it failed.".to_owned(),
        (tried, 0) => format!("I tried it {}, and it failed each time.", times_phrase(tried)),
        (2, 1) => "I tried it twice, the same way both times.".to_owned(),
        (tried, 1) => format!("I tried it {}, each time the same way.", times_phrase(tried)),
        (tried, ways) if tried > ways => format!(
            "I tried it {}, in {} different ways, and it failed each time.",
            times_phrase(tried),
            number_word(ways)
        ),
        (tried, _) => {
            format!("I tried {} different ways, and each one failed.", number_word(tried))
        }
    }
}

/// Formats `once`, `three times in a row`.
fn in_a_row(number: u32) -> String {
    match number {
        0 | 1 => "once".to_owned(),
        many => format!("{} in a row", times_phrase(many)),
    }
}

fn times_phrase(number: u32) -> String {
    match number {
        0 | 1 => "once".to_owned(),
        2 => "twice".to_owned(),
        many => format!("{} times", number_word(many)),
    }
}

/// Returns why the question is asked without a retry.
fn explain_no_retry(asked: &QuestionFacts<'_>) -> Option<&'static str> {
    match asked.kind {
        QuestionKind::Hands | QuestionKind::Choice
            if asked.code != Some(Code::PreconditionInput) =>
        {
            Some("Trying again would not help, so I am asking you right away.")
        }
        QuestionKind::Ours => Some("I stopped at once."),
        _ => None,
    }
}

/// Returns a line for each attempt, oldest first.
pub(super) fn attempt_lines(asked: &QuestionFacts<'_>) -> Vec<String> {
    // Only attempts at the same error can be said to have failed the same way.
    let same_error = matches!(asked.reason, Reason::AttemptsUsedUp { .. });
    let line = |(at, attempt): (usize, &TriedAttempt<'_>)| {
        let again =
            same_error && asked.attempts[..at].iter().any(|before| before.code == attempt.code);
        attempt_line(asked, attempt, again)
    };
    asked.attempts.iter().enumerate().map(line).collect()
}

/// Formats `Approach 2 changed three files and the same check failed.`
fn attempt_line(asked: &QuestionFacts<'_>, attempt: &TriedAttempt<'_>, again: bool) -> String {
    let number = attempt.number;
    let tried = match asked.work {
        Work::Task => "Approach",
        Work::Job => "Repair",
    };
    if asked.cause == Some(SpecificCause::MisplacedWork) && attempt.files_changed == 0 {
        return format!("{tried} {number} {CHANGED_NOTHING} that git commits.");
    }
    let ended = failure_phrase(attempt.code, again);
    // These words are no words of the agent.
    let summary = Some(attempt.summary).filter(|summary| *summary != CHANGED_NOTHING);
    let did = match (attempt.files_changed, attempt.commands) {
        // Nothing is known of an attempt that never came to work.
        (0, 0) if attempt.summary.is_empty() => None,
        (0, 0) => Some(CHANGED_NOTHING.to_owned()),
        (0, commands) => {
            let ran = count_noun(commands, "command", "commands");
            Some(format!("ran {ran}, {CHANGED_NOTHING}"))
        }
        (files, _) => Some(format!("changed {}", count_noun(files, "file", "files"))),
    };
    let summary = summary.and_then(|summary| quote_words(summary, VALUE_CHARS_MAX));
    match (summary.map(end_sentence), did) {
        (summary, _) if attempt.code == Code::LogicNoProgress && attempt.files_changed == 0 => {
            let said = summary.map_or_else(String::new, |summary| format!(" It said: {summary}"));
            format!("{tried} {number} {CHANGED_NOTHING}.{said}")
        }
        (None, None) => format!("{tried} {number}: {ended}."),
        (None, Some(did)) => format!("{tried} {number} {did} and {ended}."),
        (Some(summary), None) => format!("{tried} {number}: {summary} Then {ended}."),
        (Some(summary), Some(did)) => format!("{tried} {number}: {summary} It {did} and {ended}."),
    }
}

/// Adds a full stop to quoted words, unless they end a sentence themselves.
fn end_sentence(quoted: String) -> String {
    let said = quoted.trim_end_matches('\u{201d}');
    if said.ends_with(['.', '!', '?', '\u{2026}']) { quoted } else { quoted + "." }
}
