//! The person of a scenario: sees every question after a while, acts on it and answers truthfully.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::{Instant, sleep_until};
use unstuck_core::engine::{Question, QuestionId, State, Subject};
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_runner::RunnerHandle;
use unstuck_store::{Answer, MemoryStore, Store as _};

use super::ScenarioPlayError;
use crate::healing::site::{ANSWER, ScenarioSite};

/// Number of answers after which the person skips the work.
const PATIENCE: u32 = 12;

pub(super) struct SimulatedPerson {
    site: Arc<ScenarioSite>,
    /// Questions that were seen, and when they are answered.
    seen: BTreeMap<QuestionId, Instant>,
    answered: u32,
}

/// A question as a person reads it.
struct ReadableQuestion {
    question: Question,
    /// The names of the waiting tasks.
    tasks: Vec<String>,
    /// The task and key of the action it is about.
    action: Option<(String, String)>,
}

impl SimulatedPerson {
    pub(super) fn new(site: Arc<ScenarioSite>) -> Self {
        Self { site, seen: BTreeMap::new(), answered: 0 }
    }

    pub(super) async fn note_open_questions(
        &mut self,
        handle: &RunnerHandle,
    ) -> Result<(), ScenarioPlayError> {
        let open = |state: &State| state.questions().map(|question| question.id).collect();
        let open: Vec<QuestionId> = handle.read_state(open).await?;
        self.seen.retain(|id, _| open.contains(id));
        for id in open {
            self.seen.entry(id).or_insert_with(|| Instant::now() + ANSWER);
        }
        Ok(())
    }

    pub(super) async fn wait_for_due_question(&self) -> QuestionId {
        match self.seen.iter().min_by_key(|(_, at)| **at) {
            Some((id, at)) => {
                sleep_until(*at).await;
                *id
            }
            None => std::future::pending().await,
        }
    }

    /// Acts on a question and answers it in the same way as any client: a row in the store.
    pub(super) async fn answer_question(
        &mut self,
        id: QuestionId,
        project: &str,
        handle: &RunnerHandle,
        store: &MemoryStore,
    ) -> Result<(), ScenarioPlayError> {
        self.seen.remove(&id);
        let Some(read) =
            handle.read_state(move |state| ReadableQuestion::from_state(state, id)).await?
        else {
            return Ok(());
        };
        let decision = self.choose_decision(&read);
        self.answered += 1;
        if let Some(code) = read.question.code() {
            read.tasks.iter().for_each(|task| self.site.record_decision(task, code, decision));
        }
        let by = Arc::from("a person");
        let at = self.site.now();
        let answer = Answer { question: id, decision, guidance: None, by, at };
        store
            .record_answer(project, answer)
            .await
            .map_err(|error| ScenarioPlayError(error.to_string()))?;
        Ok(handle.take_answers().await?)
    }

    fn choose_decision(&self, read: &ReadableQuestion) -> Decision {
        let offered = read.question.kind.decisions();
        let helps = read.question.code().and_then(|code| {
            read.tasks.iter().find_map(|task| self.site.find_decision(task, code))
        });
        let truly = read.action.as_ref().map(|(task, key)| {
            let happened = self.site.has_happened(task, key);
            if happened { Decision::ItHappened } else { Decision::ItDidNot }
        });
        match helps.or(truly).filter(|decision| offered.contains(decision)) {
            _ if self.answered >= PATIENCE => ending_decision(read.question.kind),
            Some(decision) => decision,
            // An unnecessary question: choose whatever lets the work continue.
            None => offered.first().copied().unwrap_or(Decision::SkipFeature),
        }
    }
}

/// Returns the decision that ends the work.
const fn ending_decision(kind: QuestionKind) -> Decision {
    match kind {
        QuestionKind::Hands
        | QuestionKind::Choice
        | QuestionKind::Ours
        | QuestionKind::RedBase
        | QuestionKind::Passing => Decision::SkipFeature,
        QuestionKind::Ok => Decision::Deny,
        QuestionKind::Happened => Decision::Skip,
        QuestionKind::Paused => Decision::Stop,
    }
}

impl ReadableQuestion {
    fn from_state(state: &State, id: QuestionId) -> Option<Self> {
        let question = state.question(id)?.clone();
        let named = |id| Some(state.task(id)?.spec.name.clone());
        let tasks = question.tasks.iter().filter_map(|task| named(*task)).collect();
        let action = match question.subject {
            Subject::Action(id) => state
                .mutation(id)
                .and_then(|mutation| Some((named(mutation.task)?, mutation.spec.key.clone()))),
            Subject::Error(_) | Subject::Build(_) | Subject::Job(_) => None,
        };
        Some(Self { question, tasks, action })
    }
}
