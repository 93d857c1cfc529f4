//! The person of a scenario: sees every question after a while, acts on it and answers truthfully.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::{Instant, sleep_until};
use unstuck_core::engine::{Question, QuestionId, State, Subject};
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_runner::Handle;
use unstuck_store::{Answer, MemoryStore, Store as _};

use super::Stuck;
use crate::healing::site::{ANSWER, Site};

/// Number of answers after which the person skips the work.
const PATIENCE: u32 = 12;

/// The simulated person.
pub(super) struct Person {
    site: Arc<Site>,
    /// Questions that were seen, and when they are answered.
    seen: BTreeMap<QuestionId, Instant>,
    answered: u32,
}

/// A question as a person reads it.
struct Read {
    question: Question,
    /// The names of the waiting tasks.
    tasks: Vec<String>,
    /// The task and key of the action it is about.
    action: Option<(String, String)>,
}

impl Person {
    pub(super) fn new(site: Arc<Site>) -> Self {
        Self { site, seen: BTreeMap::new(), answered: 0 }
    }

    /// Records which questions are open.
    pub(super) async fn reads(&mut self, handle: &Handle) -> Result<(), Stuck> {
        let open = |state: &State| state.questions().map(|question| question.id).collect();
        let open: Vec<QuestionId> = handle.look(open).await?;
        self.seen.retain(|id, _| open.contains(id));
        for id in open {
            self.seen.entry(id).or_insert_with(|| Instant::now() + ANSWER);
        }
        Ok(())
    }

    /// Waits for the next question whose answer is due.
    pub(super) async fn next(&self) -> QuestionId {
        match self.seen.iter().min_by_key(|(_, at)| **at) {
            Some((id, at)) => {
                sleep_until(*at).await;
                *id
            }
            None => std::future::pending().await,
        }
    }

    /// Acts on a question and answers it in the same way as any client: a row in the store.
    pub(super) async fn answers(
        &mut self,
        id: QuestionId,
        project: &str,
        handle: &Handle,
        store: &MemoryStore,
    ) -> Result<(), Stuck> {
        self.seen.remove(&id);
        let Some(read) = handle.look(move |state| Read::of(state, id)).await? else {
            return Ok(());
        };
        let decision = self.decides(&read);
        self.answered += 1;
        if let Some(code) = read.question.code() {
            read.tasks.iter().for_each(|task| self.site.decided(task, code, decision));
        }
        let by = Arc::from("a person");
        let at = self.site.now();
        let answer = Answer { question: id, decision, guidance: None, by, at };
        store.answer(project, answer).await.map_err(|error| Stuck(error.to_string()))?;
        Ok(handle.take_answers().await?)
    }

    fn decides(&self, read: &Read) -> Decision {
        let offered = read.question.kind.decisions();
        let helps = read
            .question
            .code()
            .and_then(|code| read.tasks.iter().find_map(|task| self.site.decision(task, code)));
        let truly = read.action.as_ref().map(|(task, key)| {
            let happened = self.site.has_happened(task, key);
            if happened { Decision::ItHappened } else { Decision::ItDidNot }
        });
        match helps.or(truly).filter(|decision| offered.contains(decision)) {
            _ if self.answered >= PATIENCE => leaves_out(read.question.kind),
            Some(decision) => decision,
            // An unnecessary question: choose whatever lets the work continue.
            None => offered.first().copied().unwrap_or(Decision::SkipFeature),
        }
    }
}

/// Returns the decision that ends the work.
const fn leaves_out(kind: QuestionKind) -> Decision {
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

impl Read {
    fn of(state: &State, id: QuestionId) -> Option<Self> {
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
