//! Formats events about jobs in the terms that people use for jobs: a job runs, waits, needs a person, is
//! done.

use unstuck_core::engine::{Event, RecordedEvent, Rule, RunId, SkipReason, Step};
use unstuck_core::text::failure_phrase;

use super::{render_status, when};

/// Returns the phrase for an event about a job, to follow its name; `None` where the phrase for tasks
/// applies. `wanted` is the action that a person has to take, if known.
pub(crate) fn render_job_event(recorded: &RecordedEvent, wanted: Option<&str>) -> Option<String> {
    let rule = recorded.why.as_ref().map(|why| why.rule);
    let code = recorded.why.as_ref().and_then(|why| why.code);
    let because =
        code.map(|code| format!(", because {}", failure_phrase(code, false))).unwrap_or_default();
    Some(match &recorded.event {
        Event::JobDefined { .. } => "is set up".to_owned(),
        Event::JobFired { .. } => "runs".to_owned(),
        Event::JobFireLater { .. } => "still runs; runs once more afterwards".to_owned(),
        Event::JobMissed { .. } => format!("gave up this time{because}; the next one tries"),
        Event::JobHeld { .. } => "paused, as you asked".to_owned(),
        Event::JobReleased { .. } => "runs at its times again".to_owned(),
        Event::TaskBackingOff { until: Some(again), .. } => {
            let until = when::render_until(*again, recorded.at);
            format!("waits until {until} and tries again{because}")
        }
        Event::TaskBackingOff { until: None, .. } => {
            format!("waits until its account is ready{because}")
        }
        Event::TaskParked { question, .. } => match wanted {
            Some(wanted) => format!("needs you to {wanted}: question {question}"),
            None => format!("needs you: question {question}"),
        },
        Event::TaskReady { .. } => match rule {
            Some(Rule::RepairScript) => format!("is to be repaired{because}"),
            Some(Rule::ProposeOnly) => format!("a repair of it is to be proposed{because}"),
            Some(Rule::RecoveredAfterCrash) => "was cut off, and goes on".to_owned(),
            Some(Rule::TakenUpAgain) => "goes on".to_owned(),
            _ => "is about to run".to_owned(),
        },
        Event::TaskDone { .. } => "done".to_owned(),
        Event::TaskSkipped { left: SkipReason::Decided, .. } => {
            "left out this time, as you chose".to_owned()
        }
        Event::TaskCancelled { .. } => "ended, as you asked".to_owned(),
        Event::RunStarted { run, retry_of, .. } => render_start(*run, *retry_of),
        Event::RunStep { step: Step::Execute, .. } => "its script runs".to_owned(),
        Event::RunStep { step: Step::Repair { propose: false }, .. } => {
            "an agent repairs its script".to_owned()
        }
        Event::RunStep { step: Step::Repair { propose: true }, .. } => {
            "an agent works out a repair to propose".to_owned()
        }
        Event::RunPaused { run, status, .. } | Event::RunFailed { run, status, .. } => {
            format!("{} ({run})", render_status(*status))
        }
        Event::RunCommitted { run } => format!("succeeded ({run})"),
        Event::FaultMet { fault, .. } => {
            let code = fault.code();
            format!("failed, because {} ({code})", failure_phrase(code, false))
        }
        _ => return None,
    })
}

fn render_start(run: RunId, retry_of: Option<RunId>) -> String {
    match retry_of {
        None => format!("starts ({run})"),
        Some(before) => format!("starts again ({run}, after {before})"),
    }
}
