//! Narration: a plain sentence for each event that a person sees.

use crate::engine::{NOTE_CHARS_MAX, RedCheck};
use crate::fault::{BudgetSpan, Code, Fault, Work};
use crate::question::Decision;
use crate::text::{
    QUESTION_CHARS_MAX, VALUE_CHARS_MAX, capitalize_first, count_noun, count_tasks, failure_phrase,
    failure_phrase_with_step, failure_reason, number_word, push_refusal, quote_title, quote_words,
    span_words, telling_line, verbatim_line, work_noun,
};
use crate::time::Span;

/// Maximum length of the reason beside the name of a failed test, in characters.
const REASON_CHARS_MAX: usize = 100;

/// An event that a person sees. Titles may contain any text; a span counts from now.
#[derive(Clone, Copy, Debug)]
#[expect(
    missing_docs,
    reason = "the fields are named after what they hold: titles, numbers, spans"
)]
pub enum Narration<'a> {
    /// Work on a task begins.
    Started { title: &'a str },
    /// The agent's own remark about its work.
    Remark { title: &'a str, words: &'a str },
    /// A note of the worker, in whole sentences.
    Noted { words: &'a str },
    /// A new attempt with approach `attempt` of `of`, with a last one to follow; `code` is the failure of the
    /// one before it.
    Retrying { title: &'a str, attempt: u32, of: u32, code: Code },
    /// A job's script is being repaired.
    Repairing { title: &'a str, attempt: u32, of: u32, code: Code },
    /// The conversation was shortened.
    Shortened { title: &'a str },
    /// Work waits at a gate shared by all work on the account.
    Waiting { code: Code, resumes_in: Option<Span> },
    /// The gate is open again.
    GateOpen,
    /// The same operation is retried after a short delay.
    BackingOff { title: &'a str, code: Code, wait: Span, fault: Option<&'a Fault> },
    /// A task waits for a person; `code` is `None` for an unknown outcome.
    Parked { title: &'a str, code: Option<Code>, dependants: u32 },
    /// A task joined a question that is already open.
    Joined { title: &'a str },
    /// A person answered a question.
    Answered { title: &'a str, decision: Decision, words: Option<&'a str>, tasks: u32 },
    /// A person denied an action, and the work continues without it.
    WithoutAction { title: &'a str },
    /// A task continues.
    Resumed { title: &'a str },
    /// A task is done.
    Done { title: &'a str, attempts: u32 },
    /// A task is done and nothing had to be changed.
    Unchanged { title: &'a str },
    /// The agent ended without a change and is asked to do the work or to say why none is needed.
    Nudged { title: &'a str },
    /// A check is red before any agent has worked.
    RedBase { red: &'a RedCheck },
    /// A task is skipped by a person's choice.
    LeftOut { title: &'a str },
    /// A task is skipped because it needs another one.
    Skipped { title: &'a str, needs: &'a str },
    /// A task failed for good.
    Failed { title: &'a str, code: Code },
    /// A person cancelled a task.
    Cancelled { title: &'a str },
    /// A probe checks whether an action happened.
    Reconciling { title: &'a str },
    /// The outcome of an action is known.
    Reconciled { title: &'a str, happened: bool },
    /// The build is paused because too many questions are open.
    BuildPaused { open: u32 },
    /// A person paused the work.
    PausedByPerson,
    /// A budget has no room left.
    BudgetSpent { span: BudgetSpan },
    /// The work sleeps until the next budget window.
    Sleeping { wakes_in: Span },
    /// The sleep is over.
    Waking,
    /// Unstuck or the machine crashed, and work continues.
    CrashedAndResumed { title: &'a str },
    /// Unstuck was stopped and started again, and work continues.
    TakenUpAgain { title: &'a str },
    /// Changes outside the allowed files were reverted.
    TakenBack { title: &'a str, files: u32 },
    /// Files were taken back that change how the checks run.
    CheckFilesTakenBack { title: &'a str, files: u32 },
    /// A push did not arrive and is sent again.
    PushedAgain { title: &'a str },
    /// A push arrived although git reported a failure.
    PushArrived { title: &'a str },
    /// The finished work could not be pushed because of git's `output`; it stays in the worktree.
    NotSent { title: &'a str, output: Option<&'a str> },
    /// The build is over.
    BuildDone { done: u32, left_out: u32, waiting: u32 },
}

/// Returns the sentence for an event. Titles are quoted verbatim.
#[expect(clippy::too_many_lines, reason = "a table: one sentence for each thing")]
pub fn render_narration(narration: &Narration<'_>, work: Work) -> String {
    use Narration as N;
    let name = |given: &str| quote_title(given, work);
    let start = |given: &str| capitalize_first(&name(given));
    match *narration {
        N::Started { title } => format!("Working on {}.", name(title)),
        N::Remark { title, words } => render_remark(&start(title), words),
        N::Noted { words } => verbatim_line(words, NOTE_CHARS_MAX),
        N::Retrying { title, attempt, of, code } => format!(
            "Trying a different approach ({}) for {}: {}.",
            approach_phrase(attempt, of),
            name(title),
            failure_phrase(code, false)
        ),
        N::Repairing { title, attempt, of, code } => format!(
            "Repairing {} ({attempt} of {of}): {}.",
            name(title),
            failure_phrase(code, false)
        ),
        N::Shortened { title } => {
            format!("Shortened the conversation about {} and continued.", name(title))
        }
        N::Waiting { code, resumes_in } => render_waiting(code, resumes_in),
        N::GateOpen => "The AI service is available again; work continues.".to_owned(),
        N::BackingOff { title, code, wait, fault } => format!(
            "Trying {} again in {}: {}.",
            name(title),
            span_words(wait),
            fault.map_or_else(|| failure_phrase(code, false).to_owned(), failure_phrase_with_step)
        ),
        N::Parked { title, code, dependants } => {
            render_parked(&name(title), code, dependants, work)
        }
        N::Joined { title } => {
            format!("{} met the same problem and waits for the same answer.", start(title))
        }
        N::Answered { title, decision, words, tasks } => {
            let words = words.and_then(|words| quote_words(words, QUESTION_CHARS_MAX));
            render_answered(&name(title), decision, words.as_deref(), tasks, work)
        }
        N::WithoutAction { title } => {
            format!("You said no; continuing {} without it.", name(title))
        }
        N::Resumed { title } | N::TakenUpAgain { title } => format!("Continuing {}.", name(title)),
        N::Done { title, attempts: 0 | 1 } => format!("{} is done.", start(title)),
        N::Done { title, attempts } => {
            format!("{} is done after {} attempts.", start(title), number_word(attempts))
        }
        N::Unchanged { title } => format!("{} needs no change.", start(title)),
        N::Nudged { title } => format!(
            "The agent changed nothing for {}; asked it to do the work or to say why none is needed.",
            name(title)
        ),
        N::RedBase { red } => render_red_base(red),
        N::LeftOut { title } => format!("Skipped {}, as you chose.", name(title)),
        N::Skipped { title, needs } => {
            let needed = quote_words(needs, VALUE_CHARS_MAX);
            let needed = needed.unwrap_or_else(|| format!("another {}", work_noun(work)));
            format!("Skipped {}: it needs {needed}.", name(title))
        }
        N::Failed { title, code } => {
            format!("{} failed: {}.", start(title), failure_phrase(code, false))
        }
        N::Cancelled { title } => format!("Cancelled {}, as you asked.", name(title)),
        N::Reconciling { title } => {
            format!("Checking whether the last action of {} went through.", name(title))
        }
        N::Reconciled { title, happened: true } => {
            format!("The last action of {} went through; it is not repeated.", name(title))
        }
        N::Reconciled { title, happened: false } => {
            format!("The last action of {} did not go through.", name(title))
        }
        N::BuildPaused { open } => format!(
            "Paused the build: {} wait for your answer.",
            count_noun(open, "question", "questions")
        ),
        N::PausedByPerson => "Paused, as you asked.".to_owned(),
        N::BudgetSpent { span } => match span {
            BudgetSpan::Task => {
                format!("The budget for this {} has no room for the next step.", work_noun(work))
            }
            BudgetSpan::Build => {
                "The budget for this build has no room for the next step.".to_owned()
            }
            BudgetSpan::Day => "The budget for today has no room for the next step.".to_owned(),
        },
        N::Sleeping { wakes_in } => {
            format!("Sleeping; work continues in {}.", span_words(wakes_in))
        }
        N::Waking => "Awake again; work continues.".to_owned(),
        N::CrashedAndResumed { title } => {
            format!("Unstuck was interrupted during {}; continuing where it stopped.", name(title))
        }
        N::TakenBack { title, files } => format!(
            "Reverted a change to {} outside what {} may touch; a copy is kept.",
            count_noun(files.max(1), "file", "files"),
            name(title)
        ),
        N::CheckFilesTakenBack { title, files } => format!(
            "Reverted {} of {} that would change how the checks run; a copy is kept.",
            count_noun(files.max(1), "file", "files"),
            name(title)
        ),
        N::PushedAgain { title } => {
            format!("The push of {} did not arrive; trying it again.", name(title))
        }
        N::PushArrived { title } => format!("The push of {} arrived after all.", name(title)),
        N::NotSent { title, output } => {
            let reason = output.and_then(push_refusal);
            let reason = reason.and_then(|reason| quote_words(&reason, VALUE_CHARS_MAX));
            let because = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
            format!(
                "{} is done, but could not be pushed{because}; its branch stays local.",
                start(title)
            )
        }
        N::BuildDone { done, left_out, waiting } => {
            render_build_done(done, left_out, waiting, work)
        }
    }
}

/// Formats the command and the failed tests verbatim, with the line that states the reason. If no test is
/// named, it shows the most informative line of the output.
fn render_red_base(red: &RedCheck) -> String {
    let command = &red.command;
    let named = match &red.tests[..] {
        [] => None,
        [one] => Some(one.clone()),
        [first, rest @ ..] => Some(format!("{first} and {} more", rest.len())),
    };
    let said = match &named {
        None => telling_line(&red.output).and_then(|line| quote_words(line, VALUE_CHARS_MAX)),
        Some(_) => failure_reason(&red.output, &red.tests)
            .and_then(|line| quote_words(line, REASON_CHARS_MAX)),
    };
    let facts: Vec<String> = named.into_iter().chain(said).collect();
    let failing = match &facts[..] {
        [] => String::new(),
        facts => format!(" ({})", facts.join(": ")),
    };
    let then = if red.compared {
        "What fails there now may still fail when the work is done, and nothing else."
    } else {
        "It has to pass when the work is done."
    };
    format!("`{command}` fails before any work has begun{failing}. {then}")
}

/// Formats the number of an approach: `2 of 3`, or `4, the last one`. Journals of early versions do not
/// have the number of all approaches; it is then zero.
pub fn approach_phrase(number: u32, of: u32) -> String {
    match of {
        0 => number.to_string(),
        of if number > of => format!("{number}, the last one"),
        of => format!("{number} of {of}"),
    }
}

fn render_remark(start: &str, words: &str) -> String {
    match quote_words(words, VALUE_CHARS_MAX) {
        None => format!("{start} is moving along."),
        Some(words) => format!("{start}: {words}."),
    }
}

fn render_waiting(code: Code, resumes_in: Option<Span>) -> String {
    let what = match code {
        Code::ProviderUsageLimit => "Waiting for the usage limit to reset",
        Code::ProviderRateLimit | Code::NetworkRateLimit | Code::ToolRateLimit => {
            "Waiting: the service asked to slow down"
        }
        Code::ProviderOverloaded => "Waiting: the AI service is overloaded",
        Code::ProviderApiError => "Waiting: the AI service has errors on its side",
        Code::BudgetExhausted => "Waiting: the budget has no room for the next step",
        _ => "Waiting: the service is not available",
    };
    match resumes_in {
        Some(wait) => format!("{what} ({}).", span_words(wait)),
        None => format!("{what}."),
    }
}

fn render_parked(name: &str, code: Option<Code>, dependants: u32, work: Work) -> String {
    let why = match code {
        Some(code) => failure_phrase(code, false),
        None => "I cannot tell whether its last action went through",
    };
    let needed = match dependants {
        0 => String::new(),
        1 => format!(", which {} needs", count_tasks(1, work)),
        many => format!(", which {} need", count_tasks(many, work)),
    };
    format!("Asked you about {name}{needed}: {why}.")
}

fn render_answered(
    name: &str,
    decision: Decision,
    words: Option<&str>,
    number: u32,
    work: Work,
) -> String {
    let what = match number {
        0 | 1 => name.to_owned(),
        many => count_tasks(many, work),
    };
    let (said, then) = match decision {
        Decision::ProvideCredentials => ("You fixed it", "continuing"),
        Decision::SkipFeature => ("You answered", "skipping"),
        Decision::AllowOnce => ("You allowed it this once", "continuing"),
        Decision::AlwaysAllow => ("You allowed it for good", "continuing"),
        Decision::Deny => ("You said no", "reverting the change and skipping"),
        Decision::ProvideGuidance => ("You gave a hint", "continuing"),
        Decision::SimplerVersion => ("You answered", "working on a simpler version of"),
        Decision::ItHappened => ("You said that it happened", "continuing"),
        Decision::ItDidNot => ("You said that it did not happen", "doing it now for"),
        Decision::Skip => ("You answered", "leaving that step out and continuing"),
        Decision::TryAgain => ("You answered", "trying again with"),
        Decision::Continue => ("You answered", "continuing"),
        Decision::RaiseLimit => ("You raised the limit", "continuing"),
        Decision::Stop => ("You answered", "stopping"),
        Decision::Unrelated => ("You said that the failure is not part of the work", "continuing"),
        Decision::Belongs => ("You said that the failure belongs to the work", "continuing"),
    };
    match (decision, words) {
        (Decision::ProvideGuidance, Some(words)) => format!("You said {words}; {then} {what}."),
        (_, Some(words)) => format!("{said} ({words}); {then} {what}."),
        (_, None) => format!("{said}; {then} {what}."),
    }
}

fn render_build_done(done: u32, left_out: u32, waiting: u32, work: Work) -> String {
    let mut parts = vec![format!("{} done", count_tasks(done, work))];
    if left_out > 0 {
        parts.push(format!("{} skipped", number_word(left_out)));
    }
    if waiting > 0 {
        parts.push(format!("{} waiting for you", number_word(waiting)));
    }
    format!("Build finished: {}.", join_parts(&parts))
}

/// Joins parts as `a, b and c`.
fn join_parts(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Narration as N;
    use super::*;
    use crate::text::{lint_text, our_words};

    /// Returns every form, with the given title and code.
    fn all(title: &str, code: Code) -> Vec<N<'_>> {
        let mut all = vec![
            N::Started { title },
            N::Remark { title, words: "the checks are green now" },
            N::Retrying { title, attempt: 2, of: 3, code },
            N::Repairing { title, attempt: 1, of: 3, code },
            N::Shortened { title },
            N::Waiting { code, resumes_in: Some(Span::from_mins(107)) },
            N::Waiting { code, resumes_in: None },
            N::GateOpen,
            N::BackingOff { title, code, wait: Span::from_secs(32), fault: None },
            N::Parked { title, code: Some(code), dependants: 0 },
            N::Parked { title, code: Some(code), dependants: 1 },
            N::Parked { title, code: None, dependants: 2 },
            N::Joined { title },
            N::Resumed { title },
            N::Done { title, attempts: 1 },
            N::Done { title, attempts: 2 },
            N::LeftOut { title },
            N::Skipped { title, needs: title },
            N::Skipped { title, needs: "" },
            N::Failed { title, code },
            N::Cancelled { title },
            N::WithoutAction { title },
            N::Reconciling { title },
            N::Reconciled { title, happened: true },
            N::Reconciled { title, happened: false },
            N::BuildPaused { open: 5 },
            N::PausedByPerson,
            N::BudgetSpent { span: BudgetSpan::Task },
            N::BudgetSpent { span: BudgetSpan::Build },
            N::BudgetSpent { span: BudgetSpan::Day },
            N::Sleeping { wakes_in: Span::from_hours(6) },
            N::Waking,
            N::CrashedAndResumed { title },
            N::TakenUpAgain { title },
            N::TakenBack { title, files: 1 },
            N::TakenBack { title, files: 3 },
            N::CheckFilesTakenBack { title, files: 2 },
            N::NotSent { title, output: None },
            N::NotSent { title, output: Some("hook declined") },
            N::PushedAgain { title },
            N::PushArrived { title },
            N::BuildDone { done: 5, left_out: 0, waiting: 0 },
            N::BuildDone { done: 1, left_out: 2, waiting: 1 },
        ];
        all.push(N::Remark { title: "", words: title });
        for &decision in Decision::ALL {
            all.push(N::Answered { title, decision, words: None, tasks: 1 });
            all.push(N::Answered { title, decision, words: Some("use `httpx`"), tasks: 3 });
        }
        all
    }

    #[track_caller]
    fn one_plain_sentence(said: &str) {
        let said = &our_words(said);
        assert_eq!(lint_text(said), [], "{said:?}");
        assert!(said.ends_with('.') && !said.contains(". "), "{said:?}");
        assert!(!said.starts_with(char::is_lowercase), "{said:?}");
    }

    #[test]
    fn each_event_is_one_plain_sentence() {
        // T2.7, T1.6, B8
        for &code in Code::ALL {
            for work in [Work::Task, Work::Job] {
                for title in ["Payment webhook", "", "fix src/main.rs"] {
                    for narration in all(title, code) {
                        one_plain_sentence(&render_narration(&narration, work));
                    }
                }
            }
        }
    }

    #[test]
    fn a_retry_says_which_approach_and_why() {
        // T2.7
        let retry = N::Retrying {
            title: "Payment webhook",
            attempt: 2,
            of: 3,
            code: Code::ValidationPreCommit,
        };
        assert_eq!(
            render_narration(&retry, Work::Task),
            "Trying a different approach (2 of 3) for “Payment webhook”: a check failed."
        );
    }

    #[test]
    fn a_red_base_names_its_tests_or_the_line_that_says_most() {
        let tests = ["test_add".to_owned(), "test_sub".to_owned()];
        let output = "AssertionError: -1 != 5\nRan 2 tests in 0.001s\n";
        let red = |tests: &[String], output: &str, compared| RedCheck {
            command: "make test".into(),
            exit: 1,
            output: output.into(),
            tests: tests.to_vec(),
            compared,
        };
        let tell = |red: RedCheck| render_narration(&N::RedBase { red: &red }, Work::Task);
        let said = |tests: &[String], output| tell(red(tests, output, false));
        let end = "It has to pass when the work is done.";
        assert_eq!(
            said(&tests, output),
            format!(
                "`make test` fails before any work has begun (test_add and 1 more: “AssertionError: -1 \
                 != 5”). {end}"
            )
        );
        assert_eq!(
            said(&tests[..1], "FAIL: test_add\nRan 2 tests in 0.001s\n"),
            format!("`make test` fails before any work has begun (test_add). {end}")
        );
        assert_eq!(
            said(&[], output),
            format!(
                "`make test` fails before any work has begun (“AssertionError: -1 != 5”). {end}"
            )
        );
        assert_eq!(said(&[], ""), format!("`make test` fails before any work has begun. {end}"));
        let end = "What fails there now may still fail when the work is done, and nothing else.";
        let compared = format!("`make test` fails before any work has begun. {end}");
        assert_eq!(tell(red(&[], "", true)), compared);
    }

    #[test]
    fn the_sentences() {
        let said: Vec<String> = all("Payment webhook", Code::ProviderUsageLimit)
            .iter()
            .map(|narration| render_narration(narration, Work::Task))
            .collect();
        insta::assert_snapshot!(said.join("\n"));
    }

    proptest! {
        #[test]
        fn a_hostile_title_changes_nothing(title in "\\PC*|(.|\n){0,80}|[a-z]{1,14}( [a-z]{1,14}){0,9}") {
            for narration in all(&title, Code::LogicError) {
                one_plain_sentence(&render_narration(&narration, Work::Task));
            }
        }
    }
}
