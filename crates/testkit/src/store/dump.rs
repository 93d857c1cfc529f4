//! The complete readable content of a project in a store.

use unstuck_core::engine::{Recorded, State, TaskId};
use unstuck_store::tables::{
    BuildRow, CostRow, GateRow, MutationRow, QuestionRow, QuestionStatus, RunRow, SignatureRow,
    TaskRow,
};
use unstuck_store::{Conversation, Page, Store};

use super::{Checked, holds, same};

/// The complete readable content of a project in a store.
#[derive(Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "one field per table")]
pub struct Dump {
    pub events: Vec<Recorded>,
    pub builds: Vec<BuildRow>,
    pub tasks: Vec<TaskRow>,
    pub runs: Vec<RunRow>,
    pub decisions: Vec<Recorded>,
    pub questions: Vec<QuestionRow>,
    pub mutations: Vec<MutationRow>,
    pub checkpoints: Vec<(TaskId, Conversation)>,
    pub gates: Vec<GateRow>,
    pub signatures: Vec<SignatureRow>,
    pub costs: Vec<CostRow>,
}

impl Dump {
    /// Reads everything about a project.
    pub async fn of(store: &dyn Store, project: &str) -> Checked<Self> {
        let builds = store.builds(project).await?;
        let mut tasks = Vec::new();
        for build in &builds {
            tasks.extend(store.tasks(project, build.id).await?);
        }
        let mut runs = Vec::new();
        let mut mutations = Vec::new();
        let mut decisions = Vec::new();
        let mut checkpoints = Vec::new();
        for task in &tasks {
            same(
                "one task is the same",
                &store.task(project, task.id).await?.as_ref(),
                &Some(task),
            )?;
            runs.extend(store.runs(project, task.id).await?);
            mutations.extend(store.mutations(project, task.id).await?);
            let kept = store.checkpoint(project, task.id).await?;
            checkpoints.extend(kept.map(|kept| (task.id, kept)));
        }
        for run in &runs {
            same("one run is the same", &store.run(project, run.id).await?.as_ref(), &Some(run))?;
            decisions.extend(store.decisions(project, run.id).await?);
        }
        for mutation in &mutations {
            let alone = store.mutation(project, mutation.id).await?;
            same("one action is the same", &alone.as_ref(), &Some(mutation))?;
        }
        let questions = store.questions(project, None).await?;
        for question in &questions {
            let alone = store.question(project, question.id).await?;
            same("one question is the same", &alone.as_ref(), &Some(question))?;
        }
        let page = Page { after: 0, limit: u32::MAX };
        Ok(Self {
            events: store.events(project, page).await?,
            builds,
            tasks,
            runs,
            decisions,
            questions,
            mutations,
            checkpoints,
            gates: store.gates(project).await?,
            signatures: store.signatures(project).await?,
            costs: store.costs(project, 0).await?,
        })
    }

    /// Checks that the rows agree with the state, for everything that is alive in it.
    pub fn agrees(&self, state: &State) -> Checked {
        for build in state.builds() {
            let row = self.builds.iter().find(|row| row.id == build.id);
            let row = row.map(|row| (row.state, row.open_questions));
            same("builds stand in their rows", &row, &Some((build.state, build.open_questions)))?;
        }
        for task in state.tasks() {
            let row = self.tasks.iter().find(|row| row.id == task.id);
            let row = row.map(|row| (&row.spec, &row.moved.state, row.moved.counters));
            let wanted = (&task.spec, &task.state, task.counters);
            same("tasks stand in their rows, with their counters", &row, &Some(wanted))?;
        }
        for run in state.runs() {
            let row = self.runs.iter().find(|row| row.id == run.id);
            let row = row.map(|row| (row.task, row.phase, row.iterations, row.tool_calls));
            let wanted = (run.task, run.phase, run.iterations, run.tool_calls);
            same("runs stand in their rows", &row, &Some(wanted))?;
        }
        for (signature, record) in state.signatures().iter() {
            let row = self.signatures.iter().find(|row| row.signature == signature);
            let row = row.map(|row| (row.count, row.total, row.last_seen));
            let wanted = (record.count, record.total, record.last_seen);
            same("the tries of an error stand in its row", &row, &Some(wanted))?;
        }
        for (id, _) in &self.checkpoints {
            let ended = state.task(*id).is_none_or(|task| task.state.has_ended());
            holds("what was said is kept for the living only", !ended)?;
        }
        self.questions_agree(state)
    }

    fn questions_agree(&self, state: &State) -> Checked {
        for question in state.questions() {
            let row = self.questions.iter().find(|row| row.id == question.id);
            let row = row.map(|row| (row.status, row.kind));
            let wanted = (QuestionStatus::Pending, question.kind);
            same("open questions stand in their rows", &row, &Some(wanted))?;
        }
        for row in self.questions.iter().filter(|row| row.status == QuestionStatus::Pending) {
            holds("no other question is open", state.question(row.id).is_some())?;
        }
        Ok(())
    }
}
