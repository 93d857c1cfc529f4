//! What a model's call comes to: done, reported, and put into words for the model.

use std::sync::Arc;

use unstuck_core::attempt::{Action, Observation, Outcome, Step, Verdict, diff_digest};
use unstuck_core::engine::{Note, Progress};
use unstuck_core::fault::{Code, Fault, Input, Logic};
use unstuck_core::plan::{MutationKind, MutationSpec, ProbeCommand};
use unstuck_world::tool::{Act, Declaration, SHOWN_BYTES_MAX, Shown, Speak, Wish, shorten};

use super::agent_loop::{End, Working};
use super::clean;
use super::desk::{Declared, Over};
use super::memory::Called;
use super::prompt;

/// Where the agent's own words are raised.
const SOURCE: &str = "agent";
/// Beside a decision, this much of an output is shown.
const BESIDE_BYTES_MAX: usize = 8 * 1_024;

/// The answer to one call.
pub(super) struct Answered {
    /// What the model reads.
    pub(super) text: String,
    /// How it came out.
    pub(super) outcome: Outcome,
    /// The attempt's end, where this was its last call.
    pub(super) last: Option<End>,
    /// What the model should be told beside it.
    pub(super) nudge: Option<String>,
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
    /// Carries out one call. `failed` says that one before it in the same turn failed, of which the
    /// model cannot know yet.
    pub(super) async fn answer(&mut self, call: &Called, failed: bool) -> Result<Answered, Over> {
        let tool = Wish::kind(&call.name);
        let input = clean::brief(self.redactor, &call.input);
        let unseen = Observation::of(Outcome::Waiting, "", "");
        let mut action = Action { tool, input, observation: unseen };
        let worktree = self.workspace.directory().display().to_string();
        let label = Arc::from(action.label(&worktree));
        self.desk.note(Note::ToolCalled { tool, label }).await;
        let mut answered = match Wish::read(&call.name, &call.input) {
            Err(fault) => self.failed(call, *fault, None).await?,
            Ok(Wish::Speak(speak)) => self.spoken(call, speak, failed).await?,
            Ok(Wish::Act(act)) => self.acted(call, act).await?,
        };
        action.observation = Observation::of(answered.outcome, &answered.text, &worktree);
        self.watched(action, &mut answered);
        Ok(answered)
    }

    /// An agent that goes in circles is told once, and then it is over.
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
            Ok(Shown { text, outcome, verdict: None }) => Ok(Answered::of(text, outcome)),
            Ok(Shown { text, verdict: Some(fault), .. }) => {
                self.failed(call, *fault, Some(text)).await
            }
            Err(fault) => self.failed(call, *fault, None).await,
        }
    }

    /// Something failed. What is certain is raised; what may be a step on the way is observed, with
    /// the tree it came from. What the engine decides is the answer, beside what there is to see.
    async fn failed(
        &mut self,
        call: &Called,
        fault: Fault,
        output: Option<String>,
    ) -> Result<Answered, Over> {
        let fault = Arc::new(clean::fault(self.redactor, fault));
        let seen = output.clone().unwrap_or_else(|| format!("{}: {}", fault.code(), fault.message));
        // The decision may end the run: whoever goes on has to know how this call came out.
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
            Speak::Mutate(declaration) => self.declared(call, declaration).await?,
            Speak::Done(_) if failed => Answered::of(prompt::DONE_TOO_SOON, Outcome::Failed),
            Speak::Done(done) => {
                let summary = self.redactor.text(&done.summary).into_owned();
                Answered::fine("your work is checked now.").ends(End::Done { summary })
            }
            Speak::AskHuman(ask) => self.asks(&ask.question),
            Speak::Blocked(blocked) => self.asks(&blocked.reason),
        })
    }

    /// The agent needs a person. Its words go with the fault; who reads them sees to their form.
    fn asks(&self, words: &str) -> Answered {
        let asked = self.redactor.text(words).into_owned();
        let fault = Fault::precondition_input(SOURCE, asked.clone(), Input { asked });
        Answered::fine(prompt::ASKED).ends(End::Failed(Box::new(fault)))
    }

    /// An irreversible action is declared: it runs after the checks.
    async fn declared(
        &mut self,
        call: &Called,
        declaration: Declaration,
    ) -> Result<Answered, Over> {
        match self.desk.declare(mutation(&declaration)).await? {
            Declared::Taken => {
                self.memory.declared.retain(|known| known.key != declaration.key);
                self.memory.declared.push(declaration);
                Ok(Answered::fine("declared; it runs after the checks, once."))
            }
            Declared::Refused(why) => {
                let context = Logic { step: Some("mutate".to_owned()), exit: None };
                let fault = Fault::logic_bad_input("tool.mutate", why, context);
                self.failed(call, fault, None).await
            }
        }
    }
}

fn mutation(declaration: &Declaration) -> MutationSpec {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(declaration.command.as_bytes()).as_bytes()[..8]);
    let spec = MutationSpec {
        key: declaration.key.clone(),
        kind: MutationKind::Command,
        arguments: u64::from_be_bytes(first),
        ..MutationSpec::default()
    };
    match &declaration.probe {
        None => spec,
        Some(line) => spec.looked_up_by(ProbeCommand {
            program: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), line.clone()],
            ..ProbeCommand::default()
        }),
    }
}
