//! The complete readable content of a project in a store.

use unstuck_core::engine::{RecordedEvent, State, TaskId};
use unstuck_store::tables::{
    BuildRow, CostRow, GateRow, MutationRow, QuestionRow, QuestionStatus, RunRow, SignatureRow,
    TaskRow,
};
use unstuck_store::{EventPage, Store, StoredConversation};

use super::{SuiteResult, check_equal, check_holds};

/// The complete readable content of a project in a store.
#[derive(Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "one field per table")]
pub struct StoreDump {
    pub events: Vec<RecordedEvent>,
    pub builds: Vec<BuildRow>,
    pub tasks: Vec<TaskRow>,
    pub runs: Vec<RunRow>,
    pub decisions: Vec<RecordedEvent>,
    pub questions: Vec<QuestionRow>,
    pub mutations: Vec<MutationRow>,
    pub checkpoints: Vec<(TaskId, StoredConversation)>,
    pub gates: Vec<GateRow>,
    pub signatures: Vec<SignatureRow>,
    pub costs: Vec<CostRow>,
}

impl StoreDump {
    /// Reads everything about a project.
    pub async fn read_project(store: &dyn Store, project: &str) -> SuiteResult<Self> {
        let builds = store.load_builds(project).await?;
        let mut tasks = Vec::new();
        for build in &builds {
            tasks.extend(store.load_build_tasks(project, build.id).await?);
        }
        let mut runs = Vec::new();
        let mut mutations = Vec::new();
        let mut decisions = Vec::new();
        let mut checkpoints = Vec::new();
        for task in &tasks {
            check_equal(
                "one task is the same",
                &store.load_task(project, task.id).await?.as_ref(),
                &Some(task),
            )?;
            runs.extend(store.load_task_runs(project, task.id).await?);
            mutations.extend(store.load_task_mutations(project, task.id).await?);
            let kept = store.load_checkpoint(project, task.id).await?;
            checkpoints.extend(kept.map(|kept| (task.id, kept)));
        }
        for run in &runs {
            check_equal(
                "one run is the same",
                &store.load_run(project, run.id).await?.as_ref(),
                &Some(run),
            )?;
            decisions.extend(store.load_run_decisions(project, run.id).await?);
        }
        for mutation in &mutations {
            let alone = store.load_mutation(project, mutation.id).await?;
            check_equal("one action is the same", &alone.as_ref(), &Some(mutation))?;
        }
        let questions = store.load_questions(project, None).await?;
        for question in &questions {
            let alone = store.load_question(project, question.id).await?;
            check_equal("one question is the same", &alone.as_ref(), &Some(question))?;
        }
        let page = EventPage { after: 0, limit: u32::MAX };
        Ok(Self {
            events: store.load_events(project, page).await?,
            builds,
            tasks,
            runs,
            decisions,
            questions,
            mutations,
            checkpoints,
            gates: store.load_gates(project).await?,
            signatures: store.load_signatures(project).await?,
            costs: store.load_costs(project, 0).await?,
        })
    }

    /// Checks that the rows agree with the state, for everything that is alive in it.
    pub fn check_against(&self, state: &State) -> SuiteResult {
        for build in state.builds() {
            let row = self.builds.iter().find(|row| row.id == build.id);
            let row = row.map(|row| (row.state, row.open_questions));
            check_equal(
                "builds stand in their rows",
                &row,
                &Some((build.state, build.open_questions)),
            )?;
        }
        for task in state.tasks() {
            let row = self.tasks.iter().find(|row| row.id == task.id);
            let row = row.map(|row| (&row.spec, &row.moved.state, row.moved.counters));
            let wanted = (&task.spec, &task.state, task.counters);
            check_equal("tasks stand in their rows, with their counters", &row, &Some(wanted))?;
        }
        for run in state.runs() {
            let row = self.runs.iter().find(|row| row.id == run.id);
            let row = row.map(|row| (row.task, row.phase, row.iterations, row.tool_calls));
            let wanted = (run.task, run.phase, run.iterations, run.tool_calls);
            check_equal("runs stand in their rows", &row, &Some(wanted))?;
        }
        for (signature, record) in state.signatures().iter() {
            let row = self.signatures.iter().find(|row| row.signature == signature);
            let row = row.map(|row| (row.count, row.total, row.last_seen));
            let wanted = (record.count, record.total, record.last_seen);
            check_equal("the tries of an error stand in its row", &row, &Some(wanted))?;
        }
        for (id, _) in &self.checkpoints {
            let ended = state.task(*id).is_none_or(|task| task.state.has_ended());
            check_holds("what was said is kept for the living only", !ended)?;
        }
        self.check_questions(state)
    }

    fn check_questions(&self, state: &State) -> SuiteResult {
        for question in state.questions() {
            let row = self.questions.iter().find(|row| row.id == question.id);
            let row = row.map(|row| (row.status, row.kind));
            let wanted = (QuestionStatus::Pending, question.kind);
            check_equal("open questions stand in their rows", &row, &Some(wanted))?;
        }
        for row in self.questions.iter().filter(|row| row.status == QuestionStatus::Pending) {
            check_holds("no other question is open", state.question(row.id).is_some())?;
        }
        Ok(())
    }
}
