//! The attempts before a question, with the numbers that actually ran.

use super::{QuestionFacts, QuestionKind, Reason, TriedAttempt};
use crate::fault::{Code, Work};
use crate::text::{
    VALUE_CHARS_MAX, count_noun, failure_phrase, number_word, quote_words, span_words,
};

/// Returns why the question is asked. (T1.4: a first occurrence says nothing about further attempts.)
pub(super) fn explain_asking(asked: &QuestionFacts<'_>) -> Option<String> {
    Some(match asked.reason {
        Reason::FirstOccurrence => return explain_no_retry(asked).map(str::to_owned),
        Reason::AttemptsUsedUp { tried, ways } => attempts_used_up(tried, ways),
        Reason::MaxRetriesExceeded { retries: 0 | 1 } | Reason::RetriedOnce => {
            "I tried it one more time, and that did not help.".to_owned()
        }
        Reason::MaxRetriesExceeded { retries } => format!(
            "I tried it {} more times, with longer and longer breaks, and that did not help.",
            number_word(retries)
        ),
        Reason::WaitedTooLong { span: waited } => {
            format!("I waited for {}, and that did not help.", span_words(waited))
        }
        Reason::RepairBudgetExhausted { repairs: 0 } => {
            "No repairs are set up for it, so I am asking you right away.".to_owned()
        }
        Reason::RepairBudgetExhausted { repairs } => {
            format!("I repaired it {}, and it still fails.", times_phrase(repairs))
        }
        Reason::ShortenedTooOften { times: shortened } => {
            format!("I shortened it {}, and it is still too long.", times_phrase(shortened))
        }
        Reason::TooManyDifferentErrors => {
            "Many things went wrong in a row here, and not all in the same way.".to_owned()
        }
        Reason::TooManyCrashes { times: killed } => format!(
            "Unstuck or the machine went down {} while I was at it. I stopped, because the work \
             itself may be what brings it down.",
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
        QuestionKind::Ours => Some("I stopped it at once."),
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
        attempt_line(asked.work, attempt, again)
    };
    asked.attempts.iter().enumerate().map(line).collect()
}

/// Formats `Approach 2 changed three files and the same check failed.`
fn attempt_line(work: Work, attempt: &TriedAttempt<'_>, again: bool) -> String {
    let number = attempt.number;
    let tried = match work {
        Work::Task => "Approach",
        Work::Job => "Repair",
    };
    let ended = failure_phrase(attempt.code, again);
    let did = match (attempt.files_changed, attempt.commands) {
        (0, 0) => None,
        (0, commands) => Some(format!("ran {}", count_noun(commands, "command", "commands"))),
        (files, _) => Some(format!("changed {}", count_noun(files, "file", "files"))),
    };
    match (quote_words(attempt.summary, VALUE_CHARS_MAX), did) {
        (None, None) => format!("{tried} {number}: {ended}."),
        (None, Some(did)) => format!("{tried} {number} {did} and {ended}."),
        (Some(summary), None) => format!("{tried} {number}: {summary}. Then {ended}."),
        (Some(summary), Some(did)) => {
            format!("{tried} {number}: {summary}. It {did} and {ended}.")
        }
    }
}
