//! The answer to a tool call of the model: the call is carried out, reported, and described to the
//! model.

use std::sync::Arc;

use serde::Serialize;
use unstuck_core::attempt::{
    ActionOutcome, AgentAction, AgentStep, Observation, StepVerdict, diff_digest,
};
use unstuck_core::engine::{ProgressReport, Reconciled, RunNote};
use unstuck_core::fault::{Code, Fault, Input, Kind, Logic};
use unstuck_core::plan::{MutationKind, MutationSpec};
use unstuck_world::tool::{
    Declaration, ModelStatement, PreventedAction, SHOWN_BYTES_MAX, ToolCall, ToolOutput,
    WorktreeAction, shorten_text,
};

use super::attempt::{AgentLoopEnd, AgentLoopState};
use super::memory::ModelToolCall;
use super::prompt;
use super::reporter::{AttemptAbort, DeclarationResult, internal_fault};
use crate::effects::{redact_fault, redact_tool_input, redact_value};

/// The source of faults that the agent raises itself.
const SOURCE: &str = "agent";
/// Maximum length of the output shown next to a decision.
const SHOWN_OUTPUT_BYTES_MAX: usize = 8 * 1_024;

/// The answer to one call.
pub(super) struct ToolCallAnswer {
    /// The text for the model.
    pub(super) text: String,
    pub(super) outcome: ActionOutcome,
    /// The end of the attempt, if this was its last call.
    pub(super) last: Option<AgentLoopEnd>,
    /// An additional hint to the model.
    pub(super) nudge: Option<String>,
}

/// The state of a declared action, serialized for the model.
#[derive(Serialize)]
struct DeclaredActionAnswer {
    key: String,
    kind: MutationKind,
    #[serde(flatten)]
    state: DeclaredActionState,
}

#[derive(Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum DeclaredActionState {
    Declared { runs: &'static str },
    LeftOut { runs: &'static str },
    Applied { result: Arc<str> },
}

impl ToolCallAnswer {
    fn new(text: impl Into<String>, outcome: ActionOutcome) -> Self {
        Self { text: text.into(), outcome, last: None, nudge: None }
    }

    fn with_success(text: impl Into<String>) -> Self {
        Self::new(text, ActionOutcome::Succeeded)
    }

    fn with_end(self, end: AgentLoopEnd) -> Self {
        Self { last: Some(end), ..self }
    }
}

impl AgentLoopState<'_> {
    /// Carries out one call. `failed` is set if an earlier call of the same turn failed, which the
    /// model cannot know yet.
    pub(super) async fn answer_call(
        &mut self,
        call: &ModelToolCall,
        failed: bool,
    ) -> Result<ToolCallAnswer, AttemptAbort> {
        let tool = ToolCall::tool_kind(&call.name);
        let input = redact_tool_input(self.redactor, &call.input);
        let unseen = Observation::from_output(ActionOutcome::Waiting, "", "");
        let mut action = AgentAction { tool, input, observation: unseen };
        let worktree = self.workspace.directory().display().to_string();
        let label = Arc::from(action.label_with_name(&call.name, &worktree));
        let running = action.command_line().map(Arc::from).into_iter().collect();
        self.reporter.send_note(RunNote::ToolCalled { tool, label, running }).await;
        let mut answered = match ToolCall::parse(&call.name, &call.input) {
            Err(fault) => self.report_failed_call(call, *fault, None).await?,
            Ok(ToolCall::Speak(speak)) => self.answer_speech(call, speak, failed).await?,
            Ok(ToolCall::Act(act)) => match self.tools.find_allowed_action(&act) {
                Some(allowed) => self.declare_allowed_command(call, &allowed).await?,
                None => self.run_tool(call, act).await?,
            },
        };
        action.observation = Observation::from_output(answered.outcome, &answered.text, &worktree);
        self.watch_for_circles(action, &mut answered);
        Ok(answered)
    }

    /// Records an action with the watch for circles: the agent is warned once, and then the attempt
    /// ends.
    fn watch_for_circles(&mut self, action: AgentAction, answered: &mut ToolCallAnswer) {
        let verdict = self.memory.watch.observe(AgentStep::Action(&action));
        self.memory.actions.push(action);
        match verdict {
            StepVerdict::Stuck(evidence) if answered.last.is_none() => {
                answered.last = Some(AgentLoopEnd::Failed(Box::new(evidence.to_fault(SOURCE))));
            }
            StepVerdict::Nudge(evidence) => answered.nudge = Some(prompt::render_nudge(&evidence)),
            StepVerdict::Fine | StepVerdict::Stuck(_) => {}
        }
    }

    async fn run_tool(
        &mut self,
        call: &ModelToolCall,
        act: WorktreeAction,
    ) -> Result<ToolCallAnswer, AttemptAbort> {
        let began = self.reporter.clock.now();
        let came = self.tools.perform_action(act, self.stop).await;
        self.count_time_since(began);
        match came {
            Ok(ToolOutput { text, outcome, verdict: None, kept_from }) => {
                if let Some(kept_from) = kept_from {
                    let clean = |text: &str| Arc::from(&*self.redactor.redact_text(text));
                    let note = match kept_from {
                        PreventedAction::Reaching(told) => RunNote::Remarked { text: clean(&told) },
                        PreventedAction::Running { command, why } => {
                            RunNote::Refused { what: clean(&command), why: clean(&why) }
                        }
                    };
                    self.reporter.send_note(note).await;
                }
                Ok(ToolCallAnswer::new(text, outcome))
            }
            Ok(ToolOutput { text, verdict: Some(fault), .. }) => {
                self.report_failed_call(call, *fault, Some(text)).await
            }
            Err(fault) => self.report_failed_call(call, *fault, None).await,
        }
    }

    /// Reports a failed call and returns the engine's decision as the answer, next to the output. A
    /// certain failure is raised; one that may be a step on the way is observed, together with the
    /// digest of the working tree's diff.
    async fn report_failed_call(
        &mut self,
        call: &ModelToolCall,
        fault: Fault,
        output: Option<String>,
    ) -> Result<ToolCallAnswer, AttemptAbort> {
        let fault = Arc::new(redact_fault(self.redactor, &fault));
        if let Kind::PermissionCommandBlocked(refused) | Kind::PermissionFileAccess(refused) =
            &fault.kind
        {
            let why = fault.message.strip_prefix(&refused.what).unwrap_or(&fault.message);
            let why = Arc::from(why.trim_start_matches([':', ' ']));
            self.reporter
                .send_note(RunNote::Refused { what: Arc::from(refused.what.as_str()), why })
                .await;
        }
        if fault.code() == Code::PermissionFileAccess {
            let seen = format!("{}. {}", fault.message, prompt::ONLY_INSIDE);
            return Ok(ToolCallAnswer::new(seen, ActionOutcome::Failed));
        }
        let seen = output.clone().unwrap_or_else(|| format!("{}: {}", fault.code(), fault.message));
        // The decision may end the run: a resumed conversation has to contain the outcome of this
        // call.
        self.memory.set_call_result(&call.id, &self.redactor.redact_text(&seen), true);
        self.record_checkpoint(ProgressReport::default()).await?;
        let observes = output.is_some() || fault.code() == Code::LogicError;
        let decided = if observes {
            let patch = self
                .workspace
                .create_patch()
                .await
                .map_err(|f| AttemptAbort::Failed(Box::new(f)))?;
            self.reporter.observe_fault(Arc::clone(&fault), diff_digest(&patch)).await?
        } else {
            self.reporter.raise_fault(Arc::clone(&fault)).await?
        };
        let text = match (decided, output) {
            (None, _) => seen,
            (Some(decided), None) => decided,
            (Some(decided), Some(output)) => {
                format!("{decided}\n\nOUTPUT\n{}", shorten_text(&output, SHOWN_OUTPUT_BYTES_MAX))
            }
        };
        Ok(ToolCallAnswer::new(shorten_text(&text, 2 * SHOWN_BYTES_MAX), ActionOutcome::Failed))
    }

    async fn answer_speech(
        &mut self,
        call: &ModelToolCall,
        speak: ModelStatement,
        failed: bool,
    ) -> Result<ToolCallAnswer, AttemptAbort> {
        Ok(match speak {
            ModelStatement::Narrate(narrate) => {
                let text = Arc::from(&*self.redactor.redact_text(&narrate.text));
                self.reporter.send_note(RunNote::Narrated { text }).await;
                ToolCallAnswer::with_success("said.")
            }
            ModelStatement::Mutate(declaration) => self.declare_action(call, &declaration).await?,
            ModelStatement::Done(_) if failed => {
                ToolCallAnswer::new(prompt::DONE_TOO_SOON, ActionOutcome::Failed)
            }
            ModelStatement::Done(done) => {
                let summary = self.redactor.redact_text(&done.summary).into_owned();
                ToolCallAnswer::with_success("your work is checked now.")
                    .with_end(AgentLoopEnd::Done { summary })
            }
            ModelStatement::AskHuman(ask) => end_with_question(
                ask.to_input(|words| self.redactor.redact_text(words).into_owned()),
            ),
            ModelStatement::Blocked(blocked) => {
                let asked = self.redactor.redact_text(&blocked.reason).into_owned();
                end_with_question(Input { asked, ..Input::default() })
            }
        })
    }

    /// Declares an irreversible action, which runs after the checks.
    async fn declare_action(
        &mut self,
        call: &ModelToolCall,
        declaration: &Declaration,
    ) -> Result<ToolCallAnswer, AttemptAbort> {
        match self.build_spec(call, declaration) {
            Ok(spec) => self.declare_spec(call, spec).await,
            Err(fault) => self.report_failed_call(call, *fault, None).await,
        }
    }

    /// Declares an irreversible command that the operator allowed this once. Its key counts for this
    /// task only: the same command may be allowed again later.
    async fn declare_allowed_command(
        &mut self,
        call: &ModelToolCall,
        declaration: &Declaration,
    ) -> Result<ToolCallAnswer, AttemptAbort> {
        let spec = match self.build_spec(call, declaration) {
            Ok(spec) => MutationSpec { permanent: false, ..spec },
            Err(fault) => return self.report_failed_call(call, *fault, None).await,
        };
        let answer = self.declare_spec(call, spec).await?;
        let text = match answer.outcome {
            ActionOutcome::Succeeded => format!("{}\n{}", prompt::ALLOWED_ONCE, answer.text),
            _ => answer.text,
        };
        Ok(ToolCallAnswer { text, ..answer })
    }

    /// Builds the specification of a declared action. It is stored unchanged, so the declaration must
    /// not contain secrets.
    fn build_spec(
        &self,
        call: &ModelToolCall,
        declaration: &Declaration,
    ) -> Result<MutationSpec, Box<Fault>> {
        let spec = self.tools.build_declared_spec(declaration)?;
        if redact_value(self.redactor, &call.input) == call.input {
            Ok(spec)
        } else {
            Err(refused_declaration_fault("it holds a secret; name the variable instead"))
        }
    }

    async fn declare_spec(
        &mut self,
        call: &ModelToolCall,
        spec: MutationSpec,
    ) -> Result<ToolCallAnswer, AttemptAbort> {
        let key = spec.key.clone();
        let kind = spec.kind;
        let state = match self.reporter.declare_action(spec.clone()).await? {
            DeclarationResult::Noted(before) => {
                let runs = self.tools.explain_timing(&spec, before);
                match before {
                    Some(Reconciled::Skipped) => DeclaredActionState::LeftOut { runs },
                    _ => DeclaredActionState::Declared { runs },
                }
            }
            DeclarationResult::Before(result) => DeclaredActionState::Applied { result },
            DeclarationResult::Refused(why) => {
                return self.report_failed_call(call, *refused_declaration_fault(&why), None).await;
            }
            DeclarationResult::OutOfPhase(why) => {
                return Ok(ToolCallAnswer::new(why, ActionOutcome::Failed));
            }
        };
        let answer = serde_json::to_string(&DeclaredActionAnswer { key, kind, state })
            .map_err(|error| AttemptAbort::Failed(internal_fault(&error)))?;
        Ok(ToolCallAnswer::with_success(answer))
    }
}

fn refused_declaration_fault(why: &str) -> Box<Fault> {
    let context = Logic { step: Some("mutate".to_owned()), ..Logic::default() };
    Box::new(Fault::logic_bad_input("tool.mutate", why, context))
}

/// Returns the answer that ends the attempt with a question to the operator. The agent's words are
/// part of the fault and are shown unchanged.
fn end_with_question(input: Input) -> ToolCallAnswer {
    let fault = Fault::precondition_input(SOURCE, input.asked.clone(), input);
    ToolCallAnswer::with_success(prompt::ASKED).with_end(AgentLoopEnd::Failed(Box::new(fault)))
}
