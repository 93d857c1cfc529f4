//! Equality of two states of a search.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher as _};

use unstuck_core::engine::{State, Subject, TaskId};
use unstuck_core::question::QuestionKind;

use super::SearchNode;

impl SearchNode {
    /// Hashes everything but ids of runs and effects, times and history.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut told = String::new();
        for task in self.state.tasks() {
            let counters = &task.counters;
            let run = task.state.run().and_then(|run| self.state.run(run));
            write!(
                told,
                "{} {} {} {:?} {:?} {} {} {} {:?} {:?} {:?} {:?};",
                task.id,
                task.state.kind().as_str(),
                task.needs_left,
                task.next,
                run.map(|run| (run.phase, run.status, run.step, run.owes.is_some())),
                counters.consecutive,
                counters.crashes,
                counters.git,
                counters.transient.map(|transient| transient.count),
                task.charged,
                task.unsettled.as_ref().map(|fault| fault.code()),
                task.retrying,
            )
            .ok();
            if let Some(question) = find_task_question(&self.state, task.id) {
                write!(told, "{question:?};").ok();
            }
        }
        for build in self.state.builds() {
            write!(
                told,
                "{} {} {:?} {} {:?};",
                build.id,
                build.state.as_str(),
                build.merging.and_then(|run| self.state.run(run)).map(|run| run.task),
                build.questions_allowed,
                build.held.len(),
            )
            .ok();
        }
        for mutation in self.state.mutations() {
            let state = format!("{:?}", mutation.state);
            let name = state.split([' ', '{']).next().unwrap_or_default();
            let known = mutation.probes.min(5);
            write!(told, "{} {name} {known} {:?};", mutation.id, self.outside.get(&mutation.id))
                .ok();
        }
        for (signature, record) in self.state.signatures().iter() {
            write!(told, "{signature} {};", record.count).ok();
        }
        let mut hasher = DefaultHasher::new();
        (told, self.depth, self.crashes, self.buttons).hash(&mut hasher);
        hasher.finish()
    }
}

fn find_task_question(state: &State, task: TaskId) -> Option<(Subject, QuestionKind)> {
    state
        .questions()
        .find(|question| question.tasks.contains(&task))
        .map(|question| (question.subject, question.kind))
}
