//! Carries out tool calls and composes their responses.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use unstuck_core::engine::{Command, EffectKind, QuestionId, Reconciled, RecordedEvent, RunNote};
use unstuck_core::fault::{Code, Fault, Input, Work as Kind};
use unstuck_core::plan::MutationKind;
use unstuck_store::tables::QuestionRow;
use unstuck_world::commands::{CommandPolicy, CommandRules};
use unstuck_world::mcp::{ParsedMcpCall, ReportFailure};
use unstuck_world::redact::Redactor;
use unstuck_world::tool::{Declaration, ModelStatement};

use super::target::CallTarget;
use super::words::{self, ToolError};
use crate::error::{CliError, internal_fault};
use crate::project::{self, LocalProject};

/// The source of faults that an agent states.
const SOURCE: &str = "agent";

pub(super) struct ToolAnswer {
    pub(super) text: String,
    pub(super) failed: bool,
    /// The fault code that it is about.
    pub(super) about: Option<Code>,
    pub(super) then: AfterCall,
}

impl ToolAnswer {
    /// The answer to a call after the agent has stated that it is done.
    pub(super) fn after_end() -> Self {
        let text = words::DONE_ALREADY.to_owned();
        Self { text, failed: true, about: None, then: AfterCall::LastWord }
    }
}

/// The fate of the run around this process after a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterCall {
    /// The run goes on, or there is none.
    GoesOn,
    /// The agent has stated that it is done, and may write a last message.
    LastWord,
    /// The run has ended, and the agent is being stopped.
    Over,
}

/// The response to a successful call.
struct ToolSuccess {
    text: String,
    about: Option<Code>,
    then: AfterCall,
}

impl From<String> for ToolSuccess {
    fn from(text: String) -> Self {
        Self { text, about: None, then: AfterCall::GoesOn }
    }
}

/// The response about a declared action.
#[derive(Serialize)]
struct DeclarationAnswer<'a> {
    key: &'a str,
    kind: MutationKind,
    state: &'static str,
    runs: &'static str,
    /// The recorded result of an action that was performed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Arc<str>>,
}

pub(super) async fn answer_call(
    target: &mut CallTarget,
    redactor: &Redactor,
    tool: &str,
    input: &Value,
) -> ToolAnswer {
    let said = match ParsedMcpCall::parse(tool, input) {
        Ok(wanted) => carry_out_call(target, redactor, wanted).await,
        Err(fault) => Err(fault.into()),
    };
    match said {
        Ok(ToolSuccess { text, about, then }) => ToolAnswer { text, failed: false, about, then },
        Err(ToolError(code, text)) => {
            ToolAnswer { text, failed: true, about: Some(code), then: AfterCall::GoesOn }
        }
    }
}

async fn carry_out_call(
    target: &mut CallTarget,
    redactor: &Redactor,
    wanted: ParsedMcpCall,
) -> Result<ToolSuccess, ToolError> {
    let text = match wanted {
        ParsedMcpCall::Speak(ModelStatement::Narrate(said)) => {
            record_narration(target, redactor, &said.text).await
        }
        ParsedMcpCall::Speak(ModelStatement::AskHuman(ask)) => {
            return raise_question(
                target,
                ask.to_input(|words| redactor.redact_text(words).into_owned()),
            )
            .await;
        }
        ParsedMcpCall::Speak(ModelStatement::Blocked(blocked)) => {
            let asked = redactor.redact_text(&blocked.reason).into_owned();
            return raise_question(target, Input { asked, ..Input::default() }).await;
        }
        ParsedMcpCall::Speak(ModelStatement::Mutate(declaration)) => {
            declare_action(target, &declaration).await
        }
        ParsedMcpCall::Speak(ModelStatement::Done(done)) => {
            return finish_work(target, redactor, &done.summary).await;
        }
        ParsedMcpCall::ReportFailure(report) => {
            return report_failure(target, redactor, &report).await;
        }
        ParsedMcpCall::CheckAnswer(asked) => check_answer(target, &asked.question).await,
    };
    text.map(ToolSuccess::from)
}

async fn record_narration(
    target: &mut CallTarget,
    redactor: &Redactor,
    text: &str,
) -> Result<String, ToolError> {
    let text: Arc<str> = Arc::from(&*redactor.redact_text(text));
    let note =
        |effect| Command::Note { effect, note: RunNote::Narrated { text: Arc::clone(&text) } };
    target.submit_command(note).await.map(|_| words::SAID.to_owned())
}

/// Raises a question to a person. The agent's words are part of the fault and are shown as they are.
async fn raise_question(target: &mut CallTarget, input: Input) -> Result<ToolSuccess, ToolError> {
    let work = require_agent_work(target).await?;
    let fault = Arc::new(Fault::precondition_input(SOURCE, input.asked.clone(), input));
    let events = target
        .submit_command(|effect| Command::Raise { effect, fault: Arc::clone(&fault) })
        .await?;
    Ok(decision_answer(target, &events, &fault, work))
}

/// Reports a failure. A stated code is raised; a failure that was only read from a program's output may be
/// a step on the way, and is observed.
async fn report_failure(
    target: &mut CallTarget,
    redactor: &Redactor,
    report: &ReportFailure,
) -> Result<ToolSuccess, ToolError> {
    let work = require_agent_work(target).await?;
    let message = redactor.redact_text(&report.message).into_owned();
    let report = ReportFailure { message, ..report.clone() };
    let fault = Arc::new(report.to_fault()?);
    let events = target
        .submit_command(|effect| {
            let fault = Arc::clone(&fault);
            match report.code {
                Some(_) => Command::Raise { effect, fault },
                None => Command::Observe { effect, fault, tree: None },
            }
        })
        .await?;
    Ok(decision_answer(target, &events, &fault, work))
}

/// Composes the response about the decision on a failure.
fn decision_answer(
    target: &CallTarget,
    events: &[RecordedEvent],
    fault: &Fault,
    work: Kind,
) -> ToolSuccess {
    let in_run = target.is_run();
    let text = words::render_decision(events, project::now(), in_run, work);
    let then = if in_run && words::ends_run(events) { AfterCall::Over } else { AfterCall::GoesOn };
    ToolSuccess { text, about: Some(fault.code()), then }
}

/// Declares an irreversible action, which runs after the checks of the task.
async fn declare_action(
    target: &mut CallTarget,
    declaration: &Declaration,
) -> Result<String, ToolError> {
    if let CallTarget::Sessions(_) = target {
        return Err(ToolError::not_now(words::ONLY_IN_A_RUN));
    }
    require_agent_work(target).await?;
    let commands = CommandPolicy::new(&CommandRules::default());
    let declarable = project::declarable_resources()?;
    let spec = declarable.build_spec(declaration, &commands)?;
    let events =
        target.submit_command(|effect| Command::Mutate { effect, mutation: spec.clone() }).await?;
    if let Some(fault) = events.iter().find_map(|recorded| recorded.event.met_fault()) {
        return Err(ToolError(fault.code(), fault.message.clone()));
    }
    let key = spec.key.as_str();
    let kind = spec.kind;
    let result = target.find_result(&spec).await?;
    let before = events.iter().find_map(|recorded| recorded.event.declared_before());
    let before = if result.is_some() { Some(Reconciled::Applied) } else { before };
    let state = match before {
        Some(Reconciled::Applied) => "applied",
        Some(Reconciled::Skipped) => "left_out",
        Some(Reconciled::NotApplied) | None => "declared",
    };
    let runs = declarable.explain_timing(&spec, before, false);
    let declared = DeclarationAnswer { key, kind, state, runs, result };
    serde_json::to_string(&declared)
        .map_err(|error| CliError::from(internal_fault("mcp", error.to_string())).into())
}

/// Records that the agent is done. Its statement decides nothing: its work is checked when it has ended.
async fn finish_work(
    target: &mut CallTarget,
    redactor: &Redactor,
    summary: &str,
) -> Result<ToolSuccess, ToolError> {
    require_agent_work(target).await?;
    record_narration(target, redactor, summary).await?;
    match target {
        CallTarget::Run(_) => {
            let text = words::CHECKED_NOW.to_owned();
            Ok(ToolSuccess { text, about: None, then: AfterCall::LastWord })
        }
        CallTarget::Sessions(sessions) => {
            sessions.end_all().await?;
            Ok(words::SESSION_OVER.to_owned().into())
        }
    }
}

/// Requires an agent's attempt or repair; scripts have other ways to ask and declare.
async fn require_agent_work(target: &mut CallTarget) -> Result<Kind, ToolError> {
    match target.current_effect().await?.what {
        EffectKind::Attempt { .. } => Ok(Kind::Task),
        EffectKind::Repair { .. } => Ok(Kind::Job),
        _ => Err(ToolError::not_now(words::ONLY_A_SCRIPT)),
    }
}

/// Returns the state of a question that was asked before.
async fn check_answer(target: &mut CallTarget, name: &str) -> Result<String, ToolError> {
    let digits = name.trim().trim_start_matches(['q', 'Q']);
    let question = digits.parse().map(QuestionId).map_err(|_| unknown_question(name))?;
    let row = match target {
        CallTarget::Sessions(sessions) => load_question(sessions.project(), question).await?,
        CallTarget::Run(run) => {
            let project = LocalProject::find(run.project_root())?;
            let task = run.current_effect().await?.task;
            // A run sees only its own questions.
            load_question(&project, question).await?.filter(|row| row.tasks.contains(&task))
        }
    };
    row.map(|row| words::render_question_state(&row)).ok_or_else(|| unknown_question(name))
}

async fn load_question(
    project: &LocalProject,
    question: QuestionId,
) -> Result<Option<QuestionRow>, ToolError> {
    let store = project.open_store()?;
    store
        .load_question(project.name(), question)
        .await
        .map_err(|error| ToolError::from(CliError::from(error)))
}

fn unknown_question(name: &str) -> ToolError {
    ToolError(Code::LogicBadInput, format!("There is no question {name:?} that you asked."))
}
