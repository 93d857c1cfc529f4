//! The answer to a tool call of the model: the call is carried out, reported, and described to the
//! model.

use std::sync::Arc;

use serde::Serialize;
use unstuck_core::attempt::{Action, Observation, Outcome, Step, Verdict, diff_digest};
use unstuck_core::engine::{Note, Progress, Reconciled};
use unstuck_core::fault::{Code, Fault, Input, Kind, Logic};
use unstuck_core::plan::MutationKind;
use unstuck_world::tool::{
    Act, Declaration, KeptFrom, SHOWN_BYTES_MAX, Shown, Speak, Wish, shorten,
};

use super::agent_loop::{End, Working};
use super::desk::{Declared, Over};
use super::memory::Called;
use super::prompt;
use crate::clean;

/// The source of faults that the agent raises itself.
const SOURCE: &str = "agent";
/// Maximum length of the output shown next to a decision.
const BESIDE_BYTES_MAX: usize = 8 * 1_024;

/// The answer to one call.
pub(super) struct Answered {
    /// The text for the model.
    pub(super) text: String,
    pub(super) outcome: Outcome,
    /// The end of the attempt, if this was its last call.
    pub(super) last: Option<End>,
    /// An additional hint to the model.
    pub(super) nudge: Option<String>,
}

/// The state of a declared action, serialized for the model.
#[derive(Serialize)]
struct Standing {
    key: String,
    kind: MutationKind,
    #[serde(flatten)]
    state: Stands,
}

/// The state of an action.
#[derive(Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum Stands {
    Declared { runs: &'static str },
    LeftOut { runs: &'static str },
    Applied { result: Arc<str> },
}

impl Answered {
    fn of(text: impl Into<String>, outcome: Outcome) -> Self {
        Self { text: text.into(), outcome, last: None, nudge: None }
    }

    fn fine(text: impl Into<String>) -> Self {
        Self::of(text, Outcome::Succeeded)
    }

    fn ends(self, end: End) -> Self {
        Self { last: Some(end), ..self }
    }
}

impl Working<'_> {
    /// Carries out one call. `failed` is set if an earlier call of the same turn failed, which the
    /// model cannot know yet.
    pub(super) async fn answer(&mut self, call: &Called, failed: bool) -> Result<Answered, Over> {
        let tool = Wish::kind(&call.name);
        let input = clean::brief(self.redactor, &call.input);
        let unseen = Observation::of(Outcome::Waiting, "", "");
        let mut action = Action { tool, input, observation: unseen };
        let worktree = self.workspace.directory().display().to_string();
        let label = Arc::from(action.label_of(&call.name, &worktree));
        let running = action.command().map(Arc::from).into_iter().collect();
        self.desk.note(Note::ToolCalled { tool, label, running }).await;
        let mut answered = match Wish::read(&call.name, &call.input) {
            Err(fault) => self.failed(call, *fault, None).await?,
            Ok(Wish::Speak(speak)) => self.spoken(call, speak, failed).await?,
            Ok(Wish::Act(act)) => self.acted(call, act).await?,
        };
        action.observation = Observation::of(answered.outcome, &answered.text, &worktree);
        self.watched(action, &mut answered);
        Ok(answered)
    }

    /// Records an action with the watch for circles: the agent is warned once, and then the attempt
    /// ends.
    fn watched(&mut self, action: Action, answered: &mut Answered) {
        let verdict = self.memory.watch.observe(Step::Action(&action));
        self.memory.actions.push(action);
        match verdict {
            Verdict::Stuck(evidence) if answered.last.is_none() => {
                answered.last = Some(End::Failed(Box::new(evidence.fault(SOURCE))));
            }
            Verdict::Nudge(evidence) => answered.nudge = Some(prompt::nudge(&evidence)),
            Verdict::Fine | Verdict::Stuck(_) => {}
        }
    }

    async fn acted(&mut self, call: &Called, act: Act) -> Result<Answered, Over> {
        let began = self.desk.clock.now();
        let came = self.tools.act(act, self.stop).await;
        self.took(began);
        match came {
            Ok(Shown { text, outcome, verdict: None, kept_from }) => {
                if let Some(kept_from) = kept_from {
                    let clean = |text: &str| Arc::from(&*self.redactor.text(text));
                    let note = match kept_from {
                        KeptFrom::Reaching(told) => Note::Remarked { text: clean(&told) },
                        KeptFrom::Running { command, why } => {
                            Note::Refused { what: clean(&command), why: clean(&why) }
                        }
                    };
                    self.desk.note(note).await;
                }
                Ok(Answered::of(text, outcome))
            }
            Ok(Shown { text, verdict: Some(fault), .. }) => {
                self.failed(call, *fault, Some(text)).await
            }
            Err(fault) => self.failed(call, *fault, None).await,
        }
    }

    /// Reports a failed call and returns the engine's decision as the answer, next to the output. A
    /// certain failure is raised; one that may be a step on the way is observed, together with the
    /// digest of the working tree's diff.
    async fn failed(
        &mut self,
        call: &Called,
        fault: Fault,
        output: Option<String>,
    ) -> Result<Answered, Over> {
        let fault = Arc::new(clean::fault(self.redactor, &fault));
        if let Kind::PermissionCommandBlocked(refused) | Kind::PermissionFileAccess(refused) =
            &fault.kind
        {
            let why = fault.message.strip_prefix(&refused.what).unwrap_or(&fault.message);
            let why = Arc::from(why.trim_start_matches([':', ' ']));
            self.desk.note(Note::Refused { what: Arc::from(refused.what.as_str()), why }).await;
        }
        if fault.code() == Code::PermissionFileAccess {
            let seen = format!("{}. {}", fault.message, prompt::ONLY_INSIDE);
            return Ok(Answered::of(seen, Outcome::Failed));
        }
        let seen = output.clone().unwrap_or_else(|| format!("{}: {}", fault.code(), fault.message));
        // The decision may end the run: a resumed conversation has to contain the outcome of this
        // call.
        self.memory.answer(&call.id, &self.redactor.text(&seen), true);
        self.checkpoint(Progress::default()).await?;
        let observes = output.is_some() || fault.code() == Code::LogicError;
        let decided = if observes {
            let patch = self.workspace.patch().await.map_err(|f| Over::Failed(Box::new(f)))?;
            self.desk.observe(Arc::clone(&fault), diff_digest(&patch)).await?
        } else {
            self.desk.raise(Arc::clone(&fault)).await?
        };
        let text = match (decided, output) {
            (None, _) => seen,
            (Some(decided), None) => decided,
            (Some(decided), Some(output)) => {
                format!("{decided}\n\nOUTPUT\n{}", shorten(&output, BESIDE_BYTES_MAX))
            }
        };
        Ok(Answered::of(shorten(&text, 2 * SHOWN_BYTES_MAX), Outcome::Failed))
    }

    async fn spoken(
        &mut self,
        call: &Called,
        speak: Speak,
        failed: bool,
    ) -> Result<Answered, Over> {
        Ok(match speak {
            Speak::Narrate(narrate) => {
                let text = Arc::from(&*self.redactor.text(&narrate.text));
                self.desk.note(Note::Narrated { text }).await;
                Answered::fine("said.")
            }
            Speak::Mutate(declaration) => self.declared(call, &declaration).await?,
            Speak::Done(_) if failed => Answered::of(prompt::DONE_TOO_SOON, Outcome::Failed),
            Speak::Done(done) => {
                let summary = self.redactor.text(&done.summary).into_owned();
                Answered::fine("your work is checked now.").ends(End::Done { summary })
            }
            Speak::AskHuman(ask) => asks(ask.input(|words| self.redactor.text(words).into_owned())),
            Speak::Blocked(blocked) => {
                let asked = self.redactor.text(&blocked.reason).into_owned();
                asks(Input { asked, ..Input::default() })
            }
        })
    }

    /// Declares an irreversible action, which runs after the checks.
    async fn declared(
        &mut self,
        call: &Called,
        declaration: &Declaration,
    ) -> Result<Answered, Over> {
        let spec = match self.tools.declared(declaration) {
            // The declaration is stored unchanged, so it must not contain secrets.
            Ok(_) if clean::value(self.redactor, &call.input) != call.input => {
                Err(refused("it holds a secret; name the variable instead"))
            }
            other => other,
        };
        let spec = match spec {
            Ok(spec) => spec,
            Err(fault) => return self.failed(call, *fault, None).await,
        };
        let key = spec.key.clone();
        let kind = spec.kind;
        let state = match self.desk.declare(spec.clone()).await? {
            Declared::Noted(before) => {
                let runs = self.tools.when_run(&spec, before);
                match before {
                    Some(Reconciled::Skipped) => Stands::LeftOut { runs },
                    _ => Stands::Declared { runs },
                }
            }
            Declared::Before(result) => Stands::Applied { result },
            Declared::Refused(why) => return self.failed(call, *refused(&why), None).await,
            Declared::OutOfPhase(why) => return Ok(Answered::of(why, Outcome::Failed)),
        };
        // Serialization cannot fail for these types.
        let answer = serde_json::to_string(&Standing { key, kind, state }).unwrap_or_default();
        Ok(Answered::fine(answer))
    }
}

fn refused(why: &str) -> Box<Fault> {
    let context = Logic { step: Some("mutate".to_owned()), exit: None };
    Box::new(Fault::logic_bad_input("tool.mutate", why, context))
}

/// Returns the answer that ends the attempt with a question to the operator. The agent's words are
/// part of the fault and are shown unchanged.
fn asks(input: Input) -> Answered {
    let fault = Fault::precondition_input(SOURCE, input.asked.clone(), input);
    Answered::fine(prompt::ASKED).ends(End::Failed(Box::new(fault)))
}
