//! The details of an event for the decision log: ids, the code, and what a person has to do. The log shows
//! them behind the sentence, which is the same on every surface.

use unstuck_core::engine::{Event, QuestionId, RecordedEvent};
use unstuck_core::fault::Fault;
use unstuck_core::tell::wanted_action;
use unstuck_core::text::slow_step;

use super::words;

/// Returns the details of an event, in the order in which they are shown.
pub(crate) fn event_details(recorded: &RecordedEvent) -> Vec<String> {
    let event = &recorded.event;
    let ids = event.subject_ids();
    let run = match event {
        Event::RunStarted { run, retry_of: Some(before), .. } => {
            Some(format!("{run} after {before}"))
        }
        _ => ids.run.map(|run| run.to_string()),
    };
    let build = ids.build.map(|build| build.to_string());
    let question = event_question(event).map(|question| question.to_string());
    let mutation = event.mutation().map(|mutation| mutation.to_string());
    let code = recorded.code().map(|code| code.to_string());
    let more = match event {
        Event::QuestionAsked { question } => {
            let fault = question.fault.as_deref();
            let wanted = wanted_action(question.kind, question.why.rule, fault);
            Some(words::plain_line(&wanted))
        }
        Event::QuestionResolved { decision, .. } => Some(decision.to_string()),
        Event::Forgotten { signature } => signature.map(|signature| signature.to_string()),
        Event::FaultMet { fault, .. } => slow_step_with_output(fault),
        _ => None,
    };
    [build, run, question, mutation, code, more].into_iter().flatten().collect()
}

/// Returns the question that an event is about.
fn event_question(event: &Event) -> Option<QuestionId> {
    match event {
        Event::QuestionAsked { question } => Some(question.id),
        Event::TaskParked { question, .. }
        | Event::QuestionJoined { question, .. }
        | Event::QuestionResolved { question, .. }
        | Event::QuestionWithdrawn { question } => Some(*question),
        _ => None,
    }
}

/// Returns the step that took too long, with the last line that it wrote.
fn slow_step_with_output(fault: &Fault) -> Option<String> {
    let step = slow_step(fault)?;
    let last = fault.message.lines().skip(1).filter(|line| !line.trim().is_empty()).last();
    let last = last.map_or_else(String::new, |last| format!("; last written: {}", last.trim()));
    Some(words::plain_line(&format!("{step}{last}")))
}
