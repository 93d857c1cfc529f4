//! A question's words: what I was doing, what is in the way, what I tried, what you can choose.
//!
//! Made by rules from [`Asked`]. The public text never sees a fault's message; the operator text
//! does, and is never shown to the public.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::advice::advice;
use super::options::{QuestionOption, label, options};
use super::{Asked, Decision, QuestionKind, Reason, TriedAttempt};
use crate::fault::{BudgetSpan, Category, Code, ErrorType, Work};
use crate::text::{
    capital, count, failed, lint, noun, obstacle, plain_question, said, sentence_or, span, tasks,
    title,
};

/// An operator text is cut at this length; the whole message is in the log.
pub const OPERATOR_TEXT_BYTES_MAX: usize = 4 * 1_024;

/// What a person is told when the fault is ours.
const OURS: &str = "Internal error. Please contact support.";

/// What a person is told about a repair that is not used by itself.
const REPAIR_READY: &str = "It broke, and I have a repair ready. I have not put it to use: your own \
                            files are as they were.";

/// A question's public words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionText {
    /// What I was doing, what is in the way, what I tried.
    pub problem: String,
    /// The choice that is recommended.
    pub recommended: Decision,
    /// Why it is recommended, or what to do first.
    pub recommended_text: String,
    /// The choices and what each leads to.
    pub options: Vec<QuestionOption>,
    /// What was tried: one entry per attempt, oldest first.
    pub attempts: Vec<String>,
}

/// The public words of a question. They pass the linter whatever the titles and names hold.
pub fn text(asked: &Asked<'_>) -> QuestionText {
    let (recommended, recommended_text) = recommended(asked);
    QuestionText {
        problem: problem(asked),
        recommended,
        recommended_text: recommended_text.into_owned(),
        options: options(asked.kind, &asked.options_context()),
        attempts: attempts(asked),
    }
}

/// The choice that is recommended; it names the account where that stays plain.
fn recommended(asked: &Asked<'_>) -> (Decision, Cow<'static, str>) {
    let named = advice(asked, plain(asked.account).as_deref());
    if lint(&named.1).is_empty() { named } else { advice(asked, None) }
}

/// A name when it is fit for the public.
fn plain(name: Option<&str>) -> Option<String> {
    name.map(|name| sentence_or(name, "").into_owned()).filter(|name| !name.is_empty())
}

/// The operator's words for a question: reason, code, type and the fault's own message.
pub fn operator_text(asked: &Asked<'_>, message: &str) -> String {
    let mut text = asked.reason.operator();
    if let Some(code) = asked.code {
        let _ = write!(text, ": {code} ({})", code.row().error_type);
    }
    if asked.tasks > 1 {
        let _ = write!(text, ", {}", tasks(asked.tasks, asked.work));
    }
    if !message.is_empty() {
        text.push_str(": ");
        text.push_str(message);
    }
    text.truncate(text.floor_char_boundary(OPERATOR_TEXT_BYTES_MAX));
    text
}

/// Each value is plain by itself; together they may still be too hard to read. Then the neutral
/// forms stand in for all of them.
fn problem(asked: &Asked<'_>) -> String {
    let named = Problem::named(asked).write();
    if lint(&named).is_empty() { named } else { Problem::neutral(asked).write() }
}

struct Problem<'a> {
    asked: &'a Asked<'a>,
    doing: String,
    account: Option<String>,
    what: Option<String>,
    question: Option<String>,
}

impl<'a> Problem<'a> {
    fn named(asked: &'a Asked<'a>) -> Self {
        Self {
            asked,
            doing: doing(asked, asked.titles.first().copied().unwrap_or_default()),
            account: plain(asked.account),
            what: plain(asked.what),
            question: asked.agent_question.and_then(plain_question).map(Cow::into_owned),
        }
    }

    fn neutral(asked: &'a Asked<'a>) -> Self {
        Self { asked, doing: doing(asked, ""), account: None, what: None, question: None }
    }

    fn write(&self) -> String {
        let mut sentences = Vec::new();
        if self.is_ours() {
            sentences.push(OURS.to_owned());
        }
        sentences.push(self.doing.clone());
        sentences.extend(self.in_the_way());
        sentences.extend(tried(self.asked));
        sentences.push(self.meanwhile());
        sentences.extend(self.unanswered());
        sentences.join(" ")
    }

    fn is_ours(&self) -> bool {
        self.asked.kind == QuestionKind::Ours
            || matches!(self.asked.code, Some(Code::InternalError | Code::InternalStore))
    }

    fn in_the_way(&self) -> Option<String> {
        match (self.asked.kind, self.asked.code) {
            (QuestionKind::Happened, _) => Some(self.unknown_outcome()),
            (QuestionKind::Paused, _) => Some(limit(self.asked.reason)),
            // "Internal error" has said it; the details are for the operator.
            (_, None | Some(Code::InternalError | Code::InternalStore)) => None,
            _ if self.asked.reason == Reason::RepairProposed => Some(REPAIR_READY.to_owned()),
            (_, Some(Code::PreconditionInput)) => Some(match &self.question {
                Some(words) => format!("The AI helper needs a word from you: “{words}”"),
                None => obstacle(Code::PreconditionInput, None, None),
            }),
            (_, Some(code)) => Some(obstacle(code, self.account.as_deref(), self.what.as_deref())),
        }
    }

    fn unknown_outcome(&self) -> String {
        let step = match &self.what {
            Some(what) => format!("one step that cannot be undone: “{what}”"),
            None => "one step that cannot be undone".to_owned(),
        };
        format!(
            "It came to {step}. I was cut off before I heard back, so I do not know if it \
             happened. I have not done it again."
        )
    }

    /// What waits and what goes on, so that nobody has to guess.
    fn meanwhile(&self) -> String {
        let asked = self.asked;
        if asked.holds_build() {
            return "The build waits for you. What is done is safe.".to_owned();
        }
        let them = if asked.tasks > 1 { "them" } else { "it" };
        let waiting = tasks(asked.dependants, asked.work);
        if let Reason::KeepsFailing { .. } = asked.reason {
            return "Nothing waits for you: this question goes away when it works again."
                .to_owned();
        }
        let rest = if asked.code.is_some_and(reaches_further) {
            "All work that this does not hold up goes on."
        } else {
            "All other work goes on."
        };
        match asked.dependants {
            0 => rest.to_owned(),
            1 => format!("{waiting} that needs {them} waits too. {rest}"),
            _ => format!("{waiting} that need {them} wait too. {rest}"),
        }
    }

    fn unanswered(&self) -> Option<String> {
        self.asked.default.map(|default| {
            format!(
                "If nobody answers within {}, I choose “{}”, as it is set up here.",
                span(default.within),
                label(default.decision)
            )
        })
    }
}

fn doing(asked: &Asked<'_>, first: &str) -> String {
    if asked.holds_build() {
        return "I have paused the build.".to_owned();
    }
    let name = title(first, asked.work);
    let verb = match asked.work {
        Work::Task => "I was working on",
        Work::Job => "I was running",
    };
    let neutral = !name.starts_with('“');
    match asked.tasks {
        0 | 1 => format!("{verb} {name}."),
        many if neutral => format!("{verb} {}.", tasks(many, asked.work)),
        2 => format!("{verb} {name} and 1 other {}.", noun(asked.work)),
        many => format!("{verb} {name} and {} other {}s.", many - 1, noun(asked.work)),
    }
}

/// Whether other work may meet the same trouble: it is about a service, an account or the machine.
const fn reaches_further(code: Code) -> bool {
    let row = code.row();
    match row.error_type {
        ErrorType::Auth | ErrorType::Network => true,
        ErrorType::Precondition | ErrorType::Internal => {
            matches!(row.category, Category::Provider | Category::Internal)
        }
        ErrorType::Permission | ErrorType::Logic | ErrorType::Config => false,
    }
}

/// Why it came to a question, with the numbers that really ran. (T1.4: a first occurrence says
/// nothing about attempts.)
fn tried(asked: &Asked<'_>) -> Option<String> {
    Some(match asked.reason {
        Reason::FirstOccurrence => return at_once(asked).map(str::to_owned),
        Reason::AttemptsUsedUp { tried: 0 | 1 } => "I tried one way, and it failed.".to_owned(),
        Reason::AttemptsUsedUp { tried } => {
            format!("I tried {} different ways, and each one failed.", said(tried))
        }
        Reason::MaxRetriesExceeded { retries: 0 | 1 } => {
            "I tried it one more time, and that did not help.".to_owned()
        }
        Reason::MaxRetriesExceeded { retries } => format!(
            "I tried it {} more times, with longer and longer breaks, and that did not help.",
            said(retries)
        ),
        Reason::WaitedTooLong { span: waited } => {
            format!("I waited for {}, and that did not help.", span(waited))
        }
        Reason::RepairBudgetExhausted { repairs: 0 } => {
            "I have no way to repair it by myself.".to_owned()
        }
        Reason::RepairBudgetExhausted { repairs } => format!(
            "I repaired it {}, and it still fails.",
            if repairs <= 1 { "once".to_owned() } else { format!("{} times", said(repairs)) }
        ),
        Reason::ShortenedTooOften { times } => format!(
            "I shortened it {}, and it is still too long.",
            if times <= 1 { "once".to_owned() } else { format!("{} times", said(times)) }
        ),
        Reason::RetriedOnce => "I tried it one more time, and that did not help.".to_owned(),
        Reason::TooManyDifferentErrors => {
            "Many things went wrong in a row here, and not all in the same way.".to_owned()
        }
        Reason::TooManyCrashes { times } => {
            format!("The program was killed {} times in a row while it ran this.", said(times))
        }
        Reason::KeepsFailing { firings, span: failing } => format!(
            "It has not worked for {}, and failed {} in a row. I keep its schedule and try again \
             each time.",
            span(failing),
            count(firings, "time", "times"),
        ),
        Reason::RepairProposed
        | Reason::TooManyQuestions { .. }
        | Reason::BudgetSpent { .. }
        | Reason::OutcomeUnknown
        | Reason::AgentAsked => return None,
    })
}

/// Why it is asked without another try.
fn at_once(asked: &Asked<'_>) -> Option<&'static str> {
    match asked.kind {
        QuestionKind::Hands | QuestionKind::Choice
            if asked.code != Some(Code::PreconditionInput) =>
        {
            Some("Trying again would not help, so I am asking you right away.")
        }
        QuestionKind::Ours => Some("I stopped it at once."),
        _ => None,
    }
}

fn limit(reason: Reason) -> String {
    match reason {
        Reason::TooManyQuestions { open } => format!(
            "{} wait for you at once. When so much is stuck, there may be one cause behind it.",
            capital(&count(open, "question", "questions"))
        ),
        Reason::BudgetSpent { span: BudgetSpan::Day } => {
            "The budget for today is used up.".to_owned()
        }
        Reason::BudgetSpent { .. } => "Its budget is used up.".to_owned(),
        _ => "A limit is reached.".to_owned(),
    }
}

fn attempts(asked: &Asked<'_>) -> Vec<String> {
    // Only attempts at one and the same error may be said to have failed the same way.
    let same_error = matches!(asked.reason, Reason::AttemptsUsedUp { .. });
    let line = |(at, attempt): (usize, &TriedAttempt<'_>)| {
        let again =
            same_error && asked.attempts[..at].iter().any(|before| before.code == attempt.code);
        let named = attempt_line(asked.work, attempt, attempt.summary, again);
        if lint(&named).is_empty() { named } else { attempt_line(asked.work, attempt, "", again) }
    };
    asked.attempts.iter().enumerate().map(line).collect()
}

/// `Approach 2 changed three files and the same check failed.`
fn attempt_line(work: Work, attempt: &TriedAttempt<'_>, summary: &str, again: bool) -> String {
    let number = attempt.number;
    let tried = match work {
        Work::Task => "Approach",
        Work::Job => "Repair",
    };
    let ended = failed(attempt.code, again);
    let summary = sentence_or(summary, "");
    let did = match (attempt.files_changed, attempt.commands) {
        (0, 0) => None,
        (0, commands) => Some(format!("ran {}", count(commands, "command", "commands"))),
        (files, _) => Some(format!("changed {}", count(files, "file", "files"))),
    };
    match (summary.is_empty(), did) {
        (true, None) => format!("{tried} {number}: {ended}."),
        (true, Some(did)) => format!("{tried} {number} {did} and {ended}."),
        (false, None) => format!("{tried} {number}: “{summary}”. Then {ended}."),
        (false, Some(did)) => format!("{tried} {number}: “{summary}”. It {did} and {ended}."),
    }
}
