//! Applies question events to the state.

use crate::engine::ids::{BuildId, QuestionId, TaskId};
use crate::engine::invariant::count_down;
use crate::engine::question::{Question, QuestionEnd, Subject};
use crate::engine::state::State;
use crate::question::Decision;

/// What a build counts, in the report of a count that does not agree.
const OPEN_QUESTIONS: &str = "open questions of a build";

impl State {
    pub(super) fn question_asked(&mut self, question: &Question) {
        let id = question.id;
        self.subjects.insert(question.subject, id);
        self.question_ends.resize(id.0 as usize, Some(QuestionEnd::Withdrawn));
        self.question_ends.push(None);
        let mut question = question.clone();
        if let Subject::Job(_) = question.subject {
            // The job does not wait for the answer.
            self.questions.insert(id, question);
            return;
        }
        let tasks = std::mem::take(&mut question.tasks);
        self.questions.insert(id, question);
        for task in tasks {
            self.question_joined(id, task);
        }
    }

    pub(super) fn question_joined(&mut self, id: QuestionId, task: TaskId) {
        let build = self.tasks.get(&task).map(|task| task.build);
        let known = self.concerns_build(id, build);
        let Some(question) = self.questions.get_mut(&id) else { return };
        if !question.tasks.contains(&task) {
            question.tasks.push(task);
        }
        if !known && let Some(build) = build.and_then(|build| self.builds.get_mut(&build)) {
            build.open_questions += 1;
        }
    }

    /// Removes a task from those that wait for the answer.
    pub(super) fn leave_question(&mut self, id: QuestionId, task: TaskId) {
        let Some(question) = self.questions.get_mut(&id) else { return };
        question.tasks.retain(|waiting| *waiting != task);
        let build = self.tasks.get(&task).map(|task| task.build);
        if !self.concerns_build(id, build)
            && let Some(build) = build.and_then(|build| self.builds.get_mut(&build))
        {
            count_down(&mut build.open_questions, OPEN_QUESTIONS, &mut self.broken);
        }
    }

    /// Returns whether a task of `build` waits for the answer.
    fn concerns_build(&self, id: QuestionId, build: Option<BuildId>) -> bool {
        self.questions.get(&id).is_some_and(|question| {
            question.tasks.iter().any(|task| self.tasks.get(task).map(|task| task.build) == build)
        })
    }

    pub(super) fn question_closed(&mut self, id: QuestionId, end: QuestionEnd, said: Decision) {
        match self.close_question(id, end) {
            Some(Subject::Error(signature)) => {
                self.signatures.reset(signature);
                if !said.asks_for_another_way() {
                    self.signatures.allow_repetition(signature);
                }
            }
            // The operator knows of the failures, so later ones count anew.
            Some(Subject::Job(task)) => {
                if let Some(task) = self.tasks.get_mut(&task) {
                    task.failing = None;
                }
            }
            Some(Subject::Action(_) | Subject::Build(_)) | None => {}
        }
    }

    pub(super) fn question_withdrawn(&mut self, id: QuestionId) {
        self.close_question(id, QuestionEnd::Withdrawn);
    }

    fn close_question(&mut self, id: QuestionId, end: QuestionEnd) -> Option<Subject> {
        let question = self.questions.remove(&id)?;
        self.subjects.remove(&question.subject);
        if let Some(slot) = self.question_ends.get_mut(id.0 as usize) {
            *slot = Some(end);
        }
        if let Subject::Job(_) = question.subject {
            return Some(question.subject);
        }
        let mut builds: Vec<BuildId> = question
            .tasks
            .iter()
            .filter_map(|task| self.tasks.get(task))
            .map(|task| task.build)
            .collect();
        builds.sort_unstable();
        builds.dedup();
        for id in builds {
            if let Some(build) = self.builds.get_mut(&id) {
                count_down(&mut build.open_questions, OPEN_QUESTIONS, &mut self.broken);
            }
            self.reschedule_build(id);
        }
        Some(question.subject)
    }
}
