//! Carries out tool calls and composes their responses.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use unstuck_core::engine::{Command, Note, Reconciled, Recorded, Work};
use unstuck_core::fault::{Code, Fault, Input, Work as Kind};
use unstuck_core::plan::MutationKind;
use unstuck_world::commands::{Commands, Rules};
use unstuck_world::mcp::{DECLARABLE, ReportFailure, Wanted};
use unstuck_world::redact::Redactor;
use unstuck_world::tool::{Declarable, Declaration, Speak};

use super::check::check;
use super::desk::{Desk, No};
use super::words;
use crate::project;
use crate::settings::variable;

/// The source of faults that an agent states.
const SOURCE: &str = "agent";

/// The response to a call.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) failed: bool,
    /// The fault code that it is about.
    pub(super) about: Option<Code>,
    pub(super) then: Then,
}

/// The fate of the run around this process after a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// The run goes on, or there is none.
    GoesOn,
    /// The agent has stated that it is done, and may write a last message.
    LastWord,
    /// The run has ended, and the agent is being stopped.
    Over,
}

/// The response to a successful call.
struct Said {
    text: String,
    about: Option<Code>,
    then: Then,
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Self { text, about: None, then: Then::GoesOn }
    }
}

/// The response about a declared action.
#[derive(Serialize)]
struct Declared<'a> {
    key: &'a str,
    kind: MutationKind,
    state: &'static str,
    runs: &'static str,
}

/// Carries out a call.
pub(super) async fn answer(
    desk: &mut Desk,
    redactor: &Redactor,
    tool: &str,
    input: &Value,
) -> Answer {
    let said = match Wanted::read(tool, input) {
        Ok(wanted) => carry_out(desk, redactor, wanted).await,
        Err(fault) => Err(fault.into()),
    };
    match said {
        Ok(Said { text, about, then }) => Answer { text, failed: false, about, then },
        Err(No(code, text)) => Answer { text, failed: true, about: Some(code), then: Then::GoesOn },
    }
}

async fn carry_out(desk: &mut Desk, redactor: &Redactor, wanted: Wanted) -> Result<Said, No> {
    let text = match wanted {
        Wanted::Speak(Speak::Narrate(said)) => narrate(desk, redactor, &said.text).await,
        Wanted::Speak(Speak::AskHuman(ask)) => {
            return asks(desk, ask.input(|words| redactor.text(words).into_owned())).await;
        }
        Wanted::Speak(Speak::Blocked(blocked)) => {
            let asked = redactor.text(&blocked.reason).into_owned();
            return asks(desk, Input { asked, ..Input::default() }).await;
        }
        Wanted::Speak(Speak::Mutate(declaration)) => declare(desk, &declaration).await,
        Wanted::Speak(Speak::Done(done)) => return finish(desk, redactor, &done.summary).await,
        Wanted::ReportFailure(report) => return reports(desk, redactor, &report).await,
        Wanted::CheckAnswer(asked) => check(desk, &asked.question).await,
    };
    text.map(Said::from)
}

async fn narrate(desk: &mut Desk, redactor: &Redactor, text: &str) -> Result<String, No> {
    let text: Arc<str> = Arc::from(&*redactor.text(text));
    let note = |effect| Command::Note { effect, note: Note::Narrated { text: Arc::clone(&text) } };
    desk.command(note).await.map(|_| words::SAID.to_owned())
}

/// Raises a question to a person. The agent's words are part of the fault and are shown as they are.
async fn asks(desk: &mut Desk, input: Input) -> Result<Said, No> {
    let work = for_agents(desk).await?;
    let fault = Arc::new(Fault::precondition_input(SOURCE, input.asked.clone(), input));
    let events =
        desk.command(|effect| Command::Raise { effect, fault: Arc::clone(&fault) }).await?;
    Ok(decided(desk, &events, &fault, work))
}

/// Reports a failure. A stated code is raised; a failure that was only read from a program's output may be
/// a step on the way, and is observed.
async fn reports(desk: &mut Desk, redactor: &Redactor, report: &ReportFailure) -> Result<Said, No> {
    let work = for_agents(desk).await?;
    let message = redactor.text(&report.message).into_owned();
    let report = ReportFailure { message, ..report.clone() };
    let fault = Arc::new(report.fault()?);
    let events = desk
        .command(|effect| {
            let fault = Arc::clone(&fault);
            match report.code {
                Some(_) => Command::Raise { effect, fault },
                None => Command::Observe { effect, fault, tree: None },
            }
        })
        .await?;
    Ok(decided(desk, &events, &fault, work))
}

/// Composes the response about the decision on a failure.
fn decided(desk: &Desk, events: &[Recorded], fault: &Fault, work: Kind) -> Said {
    let in_run = matches!(desk, Desk::Run(_));
    let text = words::decided(events, project::now(), in_run, work);
    let then = if in_run && words::ends_a_run(events) { Then::Over } else { Then::GoesOn };
    Said { text, about: Some(fault.code()), then }
}

/// Declares an irreversible action, which runs after the checks of the task.
async fn declare(desk: &mut Desk, declaration: &Declaration) -> Result<String, No> {
    if let Desk::Sessions(_) = desk {
        return Err(No::not_now(words::ONLY_IN_A_RUN));
    }
    for_agents(desk).await?;
    let commands = Commands::new(&Rules::default());
    let declarable = declarable();
    let spec = declarable.action(declaration, &commands)?;
    let events = desk.command(|effect| Command::Mutate { effect, mutation: spec.clone() }).await?;
    if let Some(fault) = events.iter().find_map(|recorded| recorded.event.met()) {
        return Err(No(fault.code(), fault.message.clone()));
    }
    let key = spec.key.as_str();
    let kind = spec.kind;
    let before = events.iter().find_map(|recorded| recorded.event.declared_before());
    let state = match before {
        Some(Reconciled::Applied) => "applied",
        Some(Reconciled::Skipped) => "left_out",
        Some(Reconciled::NotApplied) | None => "declared",
    };
    let declared = Declared { key, kind, state, runs: declarable.when_run(&spec, before) };
    // The serialization cannot fail.
    Ok(serde_json::to_string(&declared).unwrap_or_default())
}

/// Returns the resources that actions of this run may use; none if the run does not state them.
fn declarable() -> Declarable {
    let told = variable(DECLARABLE);
    told.and_then(|told| serde_json::from_str(&told).ok()).unwrap_or_default()
}

/// Records that the agent is done. Its statement decides nothing: its work is checked when it has ended.
async fn finish(desk: &mut Desk, redactor: &Redactor, summary: &str) -> Result<Said, No> {
    for_agents(desk).await?;
    narrate(desk, redactor, summary).await?;
    match desk {
        Desk::Run(_) => {
            let text = words::CHECKED_NOW.to_owned();
            Ok(Said { text, about: None, then: Then::LastWord })
        }
        Desk::Sessions(sessions) => {
            sessions.end().await?;
            Ok(words::SESSION_OVER.to_owned().into())
        }
    }
}

/// Requires an agent's attempt or repair; scripts have other ways to ask and declare.
async fn for_agents(desk: &mut Desk) -> Result<Kind, No> {
    match desk.effect().await?.what {
        Work::Attempt { .. } => Ok(Kind::Task),
        Work::Repair { .. } => Ok(Kind::Job),
        _ => Err(No::not_now(words::ONLY_A_SCRIPT)),
    }
}
