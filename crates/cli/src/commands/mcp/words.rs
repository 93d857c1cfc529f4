//! Texts for agents: the instructions, the refusals, and the responses about decisions.

use std::fmt::Write as _;

use unstuck_core::engine::{Event, QuestionId, RecordedEvent};
use unstuck_core::fault::{Charge, Code, Fault, Work as Kind};
use unstuck_core::tell;
use unstuck_core::time::Time;
use unstuck_store::tables::{QuestionRow, QuestionStatus};

use crate::error::CliError;
use crate::render::when;

/// The title of a client's session, for people.
pub(super) const TITLE: &str = "A session of an AI helper";
pub(super) const GOAL: &str = "whatever the client works on";

pub(super) const SAID: &str = "said.";
pub(super) const HELD_UP: &str = "The project is held up just now, so this was not taken. Go on \
     without it, or try again later.";
pub(super) const ONLY_A_SCRIPT: &str = "not taken: the run around you is a script, and this is for agents \
     that work on a task. End with an error that says what is missing; a person is then asked.";
pub(super) const ONLY_IN_A_RUN: &str = "not taken: an action is declared for after the checks of a task, \
     and there is no task around you. Ask a person with ask_human before you do what cannot be taken \
     back.";
pub(super) const CHECKED_NOW: &str = "noted. Stop here: your work is checked when you have ended.";
pub(super) const DONE_ALREADY: &str =
    "not done: you have said that the task is done, and your work is being checked. Stop here.";
pub(super) const SESSION_OVER: &str = "noted.";
const NEXT_BEGINS_SO: &str = "This run ends here, and the next one begins with this. Stop here.";
const LEFT_OUT: &str = "The task is left out. Stop here.";
const TAKEN_BACK: &str = "What you changed is taken back, and the task is left out. Stop here.";
const NOTHING_YET: &str = "noted; this alone changes nothing. Go on.";

/// The reason of a refusal: its code, and the text for the caller.
#[derive(Debug)]
pub(super) struct ToolError(pub(super) Code, pub(super) String);

impl ToolError {
    /// Creates a refusal for a call that does not fit the current state.
    pub(super) fn not_now(words: impl Into<String>) -> Self {
        Self(Code::LogicPhaseViolation, words.into())
    }
}

impl From<CliError> for ToolError {
    fn from(error: CliError) -> Self {
        let code = error.code().unwrap_or(Code::LogicBadInput);
        let hints = error.hints().join("; ");
        let words = if hints.is_empty() { error.to_string() } else { format!("{error} ({hints})") };
        Self(code, words)
    }
}

impl From<Box<Fault>> for ToolError {
    fn from(fault: Box<Fault>) -> Self {
        Self(fault.code(), fault.message)
    }
}

/// Returns the instructions of the server for a client's model.
pub(super) fn server_instructions(in_run: bool) -> &'static str {
    if in_run {
        "You work unattended; no one reads along. Tell what you do with narrate. When only a person \
         can decide, use ask_human and stop: your work goes on with the answer. What reaches outside \
         and cannot be taken back is declared with mutate and runs after your work has been checked; \
         never do it yourself. End with task_done or task_blocked, and then stop."
    } else {
        "Questions that only a person can decide go to their inbox with ask_human; check_answer looks \
         for the answer. report_failure says what to do about a failure: another way, a wait, or a \
         question. task_done ends the session."
    }
}

/// Returns whether a decision ends or pauses a run.
pub(super) fn ends_run(events: &[RecordedEvent]) -> bool {
    events.iter().any(|recorded| recorded.event.ended_run().is_some())
}

/// Returns the question that a decision led to, new or existing.
fn parked_question(events: &[RecordedEvent]) -> Option<QuestionId> {
    events.iter().find_map(|recorded| match &recorded.event {
        Event::TaskParked { question, .. } => Some(*question),
        _ => None,
    })
}

/// Formats the response to the agent about a question to a person.
fn render_asked(question: QuestionId, in_run: bool) -> String {
    if in_run {
        return format!(
            "A person is asked (question {question}). Stop here: your work rests, and goes on with \
             their answer."
        );
    }
    format!(
        "A person is asked: question {question}. Look for the answer with check_answer, and do only what \
         does not depend on it meanwhile."
    )
}

/// Formats the response to the agent about the decision on a failure.
pub(super) fn render_decision(
    events: &[RecordedEvent],
    now: Time,
    in_run: bool,
    work: Kind,
) -> String {
    if let Some(question) = parked_question(events) {
        return render_asked(question, in_run);
    }
    let said = events.iter().find_map(|recorded| match &recorded.event {
        Event::ToolWaiting { code, until, .. } => Some(format!(
            "{code}: {}. Wait for {}, then try again if it is safe to. If it may have had an effect \
             (sent, paid, published), check that first.",
            code.summary(),
            until.since(now),
        )),
        Event::TaskBackingOff { until: Some(until), .. } => {
            Some(format!("This passes by itself. Stop here; it goes on in {}.", until.since(now)))
        }
        Event::Retrying { attempt, code, .. } => Some(render_advice(recorded, *attempt, *code, work)),
        _ => None,
    });
    let ended = ends_run(events);
    match said {
        Some(said) if ended && in_run => format!("{said}\n{NEXT_BEGINS_SO}"),
        Some(said) => said,
        None if is_denied(events) && in_run => TAKEN_BACK.to_owned(),
        None if is_denied(events) => LEFT_OUT.to_owned(),
        None if ended => {
            "This run ends here; it is taken up again by itself. Stop here.".to_owned()
        }
        None => NOTHING_YET.to_owned(),
    }
}

/// Returns whether a person has denied the change, which ends the task.
pub(super) fn is_denied(events: &[RecordedEvent]) -> bool {
    let mut met = events.iter().filter_map(|recorded| recorded.event.met_fault());
    met.any(|fault| fault.code() == Code::ScopeUserDenied)
}

/// Formats the advice of the next prompt.
fn render_advice(recorded: &RecordedEvent, attempt: u32, code: Code, work: Kind) -> String {
    let counts = recorded.why.iter().flat_map(|why| &why.counts);
    let of = counts.filter(|count| count.counter == Charge::Signature).map(|count| count.limit);
    let of = of.max().unwrap_or(u32::MAX);
    let summary = code.summary();
    let advice = tell::retry_advice(code, work, (attempt, of));
    format!("{code}: {summary}. This is attempt {attempt} at it.\n{advice}")
}

/// Formats the state of a question.
pub(super) fn render_question_state(row: &QuestionRow) -> String {
    let id = row.id;
    let chosen = row.decision.map_or("", |decision| decision.as_str());
    let taken = |decision| row.text.find_chosen(decision, row.guidance.as_deref());
    let option = row.decision.and_then(taken);
    let label = option.map_or(chosen, |option| option.label.as_str());
    match row.status {
        QuestionStatus::Pending => {
            let mut said = format!("Question {id} is not answered yet.\n{}", row.text.problem);
            for entry in row.evidence.entries() {
                let at = entry.at.map(when::render_minute).unwrap_or_default();
                let _ = write!(said, "\n{}: {at}{}", entry.label, entry.lines.join("\n"));
            }
            said
        }
        QuestionStatus::Withdrawn => {
            format!("Question {id} was withdrawn: the answer is no longer needed.")
        }
        QuestionStatus::Skipped => {
            format!("Question {id} is answered: {chosen} ({label}). Leave it out.")
        }
        QuestionStatus::Resolved => match &row.guidance {
            Some(words) => {
                format!("Question {id} is answered: {chosen} ({label}). They say:\n{words}")
            }
            None => format!("Question {id} is answered: {chosen} ({label})."),
        },
    }
}
