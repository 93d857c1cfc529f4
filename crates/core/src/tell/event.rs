//! The sentence for each event, the same wherever people read it.
//!
//! [`describe_event`] is the only mapping from events to words: the terminal, the decision log, the pages,
//! the messages and the report differ in their markup, in how they show the time, and in which events they
//! leave out. The sentence has no ids and no codes; a log adds them behind it. Numbers and limits are those
//! of the event and of its decision.

use super::event_phrases::{
    applied_sentence, checked_sentence, describe_run_status, phase_phrase, question_cause,
    red_base_sentence, render_answered, reverted_sentence, step_sentence, waiting_phrase,
};
use super::evidence::describe_spent_day;
use super::tally::{BuildTally, render_build_done};
use crate::engine::{
    Event, NOTE_CHARS_MAX, PauseCause, Raised, Reconciled, RecordedEvent, Rule, SkipReason, Subject,
};
use crate::fault::{Charge, Code, Fault, Kind, Work};
use crate::plan::{MutationKind, TaskSpec};
use crate::text::brief::{render_amount, render_count};
use crate::text::{
    QUESTION_CHARS_MAX, VALUE_CHARS_MAX, capitalize_first, count_noun, count_tasks, failure_phrase,
    failure_phrase_with_facts, number_word, push_refusal, quote_title, quote_words, span_words,
    verbatim_line, work_noun,
};
use crate::time::Time;

/// The facts about the subject of an event that the event itself does not have. Titles may contain any text.
#[derive(Clone, Copy, Debug)]
pub struct EventFacts<'a> {
    /// The title or name of the task; empty if the event is about no task.
    pub title: &'a str,
    /// The kind of work.
    pub work: Work,
    /// Number of attempts at the task so far.
    pub attempts: u32,
    /// The title of the task that a skipped task needs.
    pub needs: &'a str,
    /// The latest failure of the task.
    pub failure: Option<&'a Fault>,
    /// The kind of the action that the event is about.
    pub action: Option<MutationKind>,
    /// The progress of the build that the event is about.
    pub tally: Option<BuildTally>,
}

impl Default for EventFacts<'_> {
    fn default() -> Self {
        Self {
            title: "",
            work: Work::Task,
            attempts: 0,
            needs: "",
            failure: None,
            action: None,
            tally: None,
        }
    }
}

impl<'a> EventFacts<'a> {
    /// Returns the facts of a task's specification.
    pub fn from_spec(spec: &'a TaskSpec) -> Self {
        Self { title: spec.display_name(), work: spec.work(), ..Self::default() }
    }
}

/// Returns the sentence for an event. Titles and foreign words are quoted verbatim.
#[expect(clippy::too_many_lines, reason = "a table: one sentence for each event")]
pub fn describe_event(recorded: &RecordedEvent, facts: &EventFacts<'_>) -> String {
    let work = facts.work;
    let name = quote_title(facts.title, work);
    let start = capitalize_first(&name);
    let wait = |until: &Time| span_words(until.since(recorded.at));
    let because = || recorded.code().map_or_else(String::new, |code| format!(": {}", why(code)));
    match &recorded.event {
        Event::BuildStarted { plan, .. } if plan.session_task().is_some() => {
            "Another program opened a session.".to_owned()
        }
        Event::BuildStarted { plan, .. } => {
            format!("Build started with {}.", render_count(plan.len(), "task", "tasks"))
        }
        Event::BuildWaiting { .. } => BUILD_WAITS.to_owned(),
        Event::BuildResumed { .. } => "The build continues.".to_owned(),
        Event::BuildCompleted { .. } => render_build_done(facts.tally),
        Event::BuildFailed { fault, .. } => describe_build_failure(fault.code()),
        Event::BuildCancelled { .. } => "Cancelled the build, as you asked.".to_owned(),
        Event::BuildPaused { cause, open_questions, .. } => match cause {
            PauseCause::Person => BUILD_PAUSED.to_owned(),
            PauseCause::Questions => format!(
                "Paused the build: {} wait for your answer.",
                count_noun(*open_questions, "question", "questions")
            ),
            PauseCause::Budget => {
                "Paused the build: its budget has no room for the next step.".to_owned()
            }
        },
        Event::Sleeping { until, fault, .. } => {
            let spent = fault.as_deref().and_then(describe_spent_day);
            let said = spent.map_or_else(|| "Sleeping".to_owned(), |said| capitalize_first(&said));
            format!("{said}; work continues in {}.", wait(until))
        }
        Event::Waking { .. } => "Awake again; work continues.".to_owned(),

        Event::BaseChecked { red, .. } => red_base_sentence(red),
        Event::BaseJudged { belongs: true, .. } => {
            "You said that the failure belongs to the work.".to_owned()
        }
        Event::BaseJudged { .. } => "You said that the failure is not part of the work.".to_owned(),

        Event::JobDefined { .. } => format!("Defined the job {name}."),
        Event::JobFired { .. } => format!("{start} is due."),
        Event::JobHeld { .. } => format!("Paused {name}, as you asked."),
        Event::JobReleased { .. } => format!("{start} runs on its schedule again."),
        Event::JobFireLater { .. } => {
            format!("{start} is still running and runs once more afterwards.")
        }
        Event::JobMissed { code, .. } => {
            format!("Gave up on {name} this time: {}; the next run tries again.", why(*code))
        }
        Event::Reported { .. } => format!("{start} reported a failure."),

        Event::TaskBackingOff { until: Some(until), .. } => {
            let failure = facts.failure.filter(|fault| recorded.code() == Some(fault.code()));
            let why = failure.map(|fault| format!(": {}", failure_phrase_with_facts(fault)));
            format!("Trying {name} again in {}{}.", wait(until), why.unwrap_or_else(because))
        }
        Event::TaskBackingOff { .. } => format!("{start} waits for its account{}.", because()),
        Event::TaskReconciling { .. } => {
            format!("Checking whether the last action of {name} went through.")
        }
        Event::TaskDone { unchanged: Some(reason), .. } => {
            quote_after(&format!("{start} needs no change"), reason, VALUE_CHARS_MAX)
        }
        Event::TaskDone { .. } => match facts.attempts {
            0 | 1 => format!("{start} is done."),
            _ if work == Work::Job => format!("{start} is done."),
            many => format!("{start} is done after {} attempts.", number_word(many)),
        },
        Event::TaskFailed { code, .. } => task_failed(facts.title, work, *code),
        Event::TaskSkipped { left, .. } => match left {
            SkipReason::Decided => format!("Skipped {name}, as you chose."),
            SkipReason::Denied => format!("Skipped {name}: you did not allow what it needs."),
            SkipReason::Needs { .. } => {
                let needed = quote_words(facts.needs, VALUE_CHARS_MAX);
                let needed = needed.unwrap_or_else(|| format!("another {}", work_noun(work)));
                format!("Skipped {name}: it needs {needed}.")
            }
        },
        Event::TaskCancelled { .. } if work == Work::Job => {
            format!("Cancelled {name}, as you asked.")
        }
        Event::TaskCancelled { .. } => format!("Cancelled {name} with its build."),
        Event::TaskParked { .. } => format!("{start} waits for your answer."),
        Event::TaskUnparked { guidance: Some(guidance), next, .. } => {
            render_answered(&name, guidance, next.step)
        }
        Event::TaskUnparked { .. } => format!("Continuing {name}."),
        Event::TaskReady { .. } => ready_sentence(recorded, &name, &start),
        Event::TaskRevived { .. } => format!("{start} is scheduled again."),

        Event::RunStarted { retry_of, .. } => {
            let verb = if work == Work::Job { "Running" } else { "Working on" };
            let again = if retry_of.is_some() { " again" } else { "" };
            format!("{verb} {name}{again}.")
        }
        Event::RunStep { step, .. } => step_sentence(*step, &name, &start),
        Event::StepDone { .. } => format!("The current step of {name} succeeded."),
        Event::RunPhase { phase, .. } => format!("{start} {}.", phase_phrase(*phase)),
        Event::RunPaused { status, .. } | Event::RunFailed { status, .. } => {
            format!("The run of {name} {}.", describe_run_status(*status))
        }
        Event::RunResumed { .. } => format!("The run of {name} continues."),
        Event::RunCommitted { .. } => format!("The run of {name} succeeded."),
        Event::RunCrashed { clean: false, .. } => format!("The run of {name} was interrupted."),
        Event::RunCrashed { .. } => format!("The run of {name} was stopped with Unstuck."),
        Event::RunCancelled { .. } => format!("The run of {name} was cancelled."),
        Event::RunProgress { iterations: 0, tool_calls: 0, .. } => {
            format!("The progress of the agent on {name} is saved.")
        }
        Event::RunProgress { iterations, tool_calls, .. } => {
            let rounds = render_count(*iterations as usize, "more round", "more rounds");
            let calls = render_count(*tool_calls as usize, "tool call", "tool calls");
            let made = [(*iterations, rounds), (*tool_calls, calls)];
            let made = made.into_iter().filter(|(count, _)| *count > 0).map(|(_, said)| said);
            let made = made.collect::<Vec<_>>().join(", ");
            format!("The agent made progress on {name}: {made}.")
        }
        Event::FaultMet { fault, .. } => fault_sentence(fault, &name, &start),
        Event::Observed { .. } => {
            format!("A command of the agent of {name} failed; it is not counted yet.")
        }
        Event::Blamed { fault, .. } => {
            format!("The script of {name} says why it fails: {}.", why(fault.code()))
        }
        Event::ToolWaiting { code, until, .. } => {
            format!("A command of {name} waits {}: {}.", wait(until), why(*code))
        }
        Event::Warned { code: Code::GitPushFailed, .. } => not_pushed_sentence(facts, &start),
        Event::Warned { code, .. } => {
            format!("{start} continues despite a failure: {}.", why(*code))
        }
        Event::ApproachTaken { approach, .. } => format!(
            "The agent says that {name} is done; it changed {}.",
            render_count(approach.files_changed as usize, "file", "files")
        ),
        Event::Checked { checked, .. } => checked_sentence(checked, &name, &start),
        Event::Declared { mutation, .. } => {
            format!("{start} declared {} for after its checks.", quote_key(&mutation.key))
        }
        Event::Nudged { .. } => format!(
            "The agent changed nothing for {name}; asked it to do the work or to say why none is needed."
        ),
        Event::Thinking { .. } => format!("The agent of {name} is thinking."),
        Event::ToolCalled { label, .. } => {
            let label = quote_words(label, VALUE_CHARS_MAX).unwrap_or_else(|| "a tool".to_owned());
            format!("The agent of {name} called {label}.")
        }
        Event::Refused { what, why, .. } => {
            let what = quote_words(what, VALUE_CHARS_MAX).unwrap_or_else(|| "an action".to_owned());
            let why = verbatim_line(why, VALUE_CHARS_MAX);
            format!("The agent of {name} was denied {what}: {}.", why.trim_end_matches('.'))
        }
        Event::Narrated { text, .. } => {
            quote_after(&format!("The agent of {name} says"), text, QUESTION_CHARS_MAX)
        }
        Event::Remarked { text, .. } => verbatim_line(text, NOTE_CHARS_MAX),
        // The agent is told, and goes on.
        Event::Retrying { code: Code::LogicPhaseViolation, .. } => {
            format!("{start} continues without it: {}.", why(Code::LogicPhaseViolation))
        }
        Event::Retrying { code, .. } => {
            let failure = facts.failure.filter(|fault| fault.code() == *code);
            format!(
                "Trying a different approach ({}) for {name}: {}.",
                next_approach(recorded),
                failure.map_or_else(|| why(*code).to_owned(), failure_phrase_with_facts)
            )
        }
        Event::Recovered { signatures, .. } => {
            let errors = render_count(signatures.len(), "error", "errors");
            format!("{start} got past {errors}; its retry counters are reset.")
        }
        Event::Forgotten { signature: Some(_) } => {
            "The retry counter of one error was reset, as you asked.".to_owned()
        }
        Event::Forgotten { signature: None } => {
            "All retry counters were reset, as you asked.".to_owned()
        }
        Event::LossAccepted { kept, actions, .. } => format!(
            "The journal after event {kept} was lost, and you continued without it; {} may have \
             happened.",
            render_count(actions.len(), "action", "actions")
        ),
        Event::Ordered { by, wish, .. } => {
            let by = verbatim_line(by, VALUE_CHARS_MAX);
            let by = if by.is_empty() { "You".to_owned() } else { capitalize_first(&by) };
            let about = if facts.title.is_empty() { String::new() } else { format!(" ({name})") };
            format!("{by} {}{about}.", wish.as_str())
        }

        Event::QuestionAsked { question } => match question.subject {
            Subject::Job(_) => {
                format!("{start} keeps failing{}; the next run tries again.", because())
            }
            Subject::Build(_) => "Asked you how to continue with the build.".to_owned(),
            Subject::Error(_) | Subject::Action(_) => {
                format!("Asked you about {name}: {}.", question_cause(question))
            }
        },
        Event::QuestionJoined { .. } => {
            format!("{start} met the same problem and waits for the same answer.")
        }
        Event::QuestionResolved { by, .. } => {
            let by = verbatim_line(by, VALUE_CHARS_MAX);
            let by = if by.is_empty() { "You".to_owned() } else { capitalize_first(&by) };
            format!("{by} answered a question.")
        }
        Event::QuestionWithdrawn { .. } => {
            "Withdrew a question, because it needs no answer any more.".to_owned()
        }

        Event::MutationIntended { spec, .. } => {
            format!("About to perform {} for {name}.", quote_key(&spec.key))
        }
        Event::MutationInFlight { .. } => format!("Performing an action of {name}."),
        Event::MutationProbing { .. } => {
            format!("Checking whether an action of {name} went through.")
        }
        Event::MutationSettling { until, .. } => {
            format!("An action of {name} may still show up; checking again in {}.", wait(until))
        }
        Event::MutationApplied { .. } => applied_sentence(facts.action, &name, &start),
        Event::MutationFailed { .. } => format!("An action of {name} did not go through."),
        Event::MutationIndeterminate { .. } => {
            format!("It is not known whether an action of {name} went through.")
        }
        Event::MutationReconciled { to, .. } => match (to, facts.action) {
            (Reconciled::Applied, Some(MutationKind::Push)) => {
                format!("The push of {name} arrived after all.")
            }
            (Reconciled::NotApplied, Some(MutationKind::Push)) => {
                format!("The push of {name} did not arrive.")
            }
            (Reconciled::Applied, _) => {
                format!("The last action of {name} went through; it is not repeated.")
            }
            (Reconciled::NotApplied, _) => format!("The last action of {name} did not go through."),
            (Reconciled::Skipped, _) => format!("Skipped the last action of {name}."),
        },

        Event::GateWaiting { until, code, .. } => {
            format!("{} ({}).", waiting_phrase(*code), wait(until))
        }
        Event::GateProbing { .. } => format!("{start} is the first to try the account again."),
        Event::GatePassing { untried: true, .. } => {
            "The wait for the account is over; it was not tried yet.".to_owned()
        }
        Event::GatePassing { .. } => {
            "The AI service is available again; work continues.".to_owned()
        }
        Event::GateReleased { group: 1, .. } => "1 waiting task continues.".to_owned(),
        Event::GateReleased { group, .. } => {
            format!("{} that waited continue.", count_tasks(*group, Work::Task))
        }
        Event::GateGivenUp { .. } => "The wait for the account took too long.".to_owned(),

        Event::BudgetUpdated { spent, .. } if spent.is_zero() => {
            format!("Reserved budget for the next step of {name}.")
        }
        Event::BudgetUpdated { spent, .. } => match render_amount(*spent) {
            nothing if nothing.is_empty() => format!("{start} spent almost nothing."),
            spent => format!("{start} spent {spent}."),
        },
        Event::LimitRaised { raised } => match raised {
            Raised::Questions { .. } => {
                "You raised the number of questions that may be open.".to_owned()
            }
            Raised::Build { .. } => "You raised the budget of the build.".to_owned(),
            Raised::Day { .. } => "You raised the budget of the day for the build.".to_owned(),
            Raised::Task { .. } => format!("You raised the budget of {name}."),
        },
    }
}

/// The sentence for a build without work that can continue.
pub const BUILD_WAITS: &str = "All remaining work waits for your answer.";
/// The sentence for a build that a person paused.
pub(super) const BUILD_PAUSED: &str = "Paused the build, as you asked.";

/// Returns the sentence for a task that failed for good.
pub(super) fn task_failed(title: &str, work: Work, code: Code) -> String {
    format!("{} failed: {}.", capitalize_first(&quote_title(title, work)), why(code))
}

/// Returns the sentence for a build that failed.
pub fn describe_build_failure(code: Code) -> String {
    format!("The build failed: {}.", why(code))
}

const fn why(code: Code) -> &'static str {
    failure_phrase(code, false)
}

/// Returns the sentence for a task that is ready for its next run, by the rule of the decision.
fn ready_sentence(recorded: &RecordedEvent, name: &str, start: &str) -> String {
    let Some(reason) = &recorded.why else { return format!("{start} is ready for its next run.") };
    let repair = || {
        let count = reason.counts.iter().find(|count| count.counter == Charge::Repair);
        let number = count.map(|count| format!(" ({} of {})", count.at, count.limit));
        let because = reason.code.map(|code| format!(": {}", why(code)));
        [number, because].into_iter().flatten().collect::<String>()
    };
    match reason.rule {
        Rule::RecoveredAfterCrash => {
            format!("Unstuck was interrupted during {name}; continuing where it stopped.")
        }
        Rule::TakenUpAgain => format!("Continuing {name}."),
        Rule::ConversationShortened => {
            format!("Shortened the conversation about {name} and continued.")
        }
        Rule::RepairScript => format!("Repairing {name}{}.", repair()),
        Rule::ProposeOnly => format!("Preparing a repair of {name}{}.", repair()),
        _ => format!("{start} is ready for its next run."),
    }
}

/// Returns the sentence for a failure: the files that were reverted, or the failure with its cause.
fn fault_sentence(fault: &Fault, name: &str, start: &str) -> String {
    if let Kind::ScopeForbidden(of) | Kind::ScopeOutsideAllowed(of) = &fault.kind {
        return reverted_sentence(name, &of.files, fault.is_check_file_change());
    }
    let refusal = push_refusal(&fault.message).filter(|_| fault.code() == Code::GitPushFailed);
    match refusal.and_then(|refusal| quote_words(&refusal, VALUE_CHARS_MAX)) {
        Some(refusal) => format!("{start}: {} ({refusal}).", why(fault.code())),
        None => format!("{start}: {}.", failure_phrase_with_facts(fault)),
    }
}

/// Returns the sentence for finished work that could not be pushed, with git's reason if it is known.
fn not_pushed_sentence(facts: &EventFacts<'_>, start: &str) -> String {
    let reason = facts.failure.and_then(|fault| push_refusal(&fault.message));
    let reason = reason.and_then(|reason| quote_words(&reason, VALUE_CHARS_MAX));
    let because = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    format!("{start} is done, but could not be pushed{because}; its branch stays local.")
}

/// Formats the number of the next approach from the event, or for journals of early versions from the
/// counters of its decision.
fn next_approach(recorded: &RecordedEvent) -> String {
    let Event::Retrying { attempt, approach, of, .. } = &recorded.event else {
        return String::new();
    };
    let at_error = attempt.saturating_add(1);
    if *approach > 0 {
        return approach_phrase(*approach, at_error, *of);
    }
    let counts = recorded.why.iter().flat_map(|why| &why.counts);
    let limit = counts.filter(|count| count.counter == Charge::Signature).map(|count| count.limit);
    approach_phrase(at_error, at_error, limit.max().unwrap_or_default())
}

/// Formats the number of an approach: `2 of 3`, `4, the last one`, or `3; 2 of 3 for this error` after
/// approaches that met another one. Journals of early versions do not have the number of tries; it is then
/// zero.
fn approach_phrase(number: u32, at_error: u32, of: u32) -> String {
    match of {
        0 => number.to_string(),
        of if at_error > of => format!("{number}, the last one"),
        of if number > at_error => format!("{number}; {at_error} of {of} for this error"),
        of => format!("{number} of {of}"),
    }
}

/// Quotes the idempotency key of an action.
fn quote_key(key: &str) -> String {
    quote_words(key, VALUE_CHARS_MAX).unwrap_or_else(|| "an action".to_owned())
}

/// Ends a sentence with foreign words in quotation marks, and with a full stop unless the words have one.
fn quote_after(said: &str, words: &str, chars_max: usize) -> String {
    match quote_words(words, chars_max) {
        None => format!("{said}."),
        Some(quoted) if words.trim_end().ends_with(['.', '!', '?']) => format!("{said}: {quoted}"),
        Some(quoted) => format!("{said}: {quoted}."),
    }
}

#[cfg(test)]
mod tests;
