//! The facts about a build, read from the store.

use unstuck_core::engine::BuildId;
use unstuck_core::time::Time;
use unstuck_store::tables::{
    BuildRow, GateRow, MutationRow, QuestionRow, QuestionStatus, RunRow, TaskRow,
};
use unstuck_store::{Answer, Store, StoreError};

/// All that a report needs to know about a build.
#[derive(Clone, Debug)]
pub struct BuildFacts {
    /// The project's name.
    pub project: String,
    /// The build's row.
    pub build: BuildRow,
    /// The build's tasks, in the order of the plan.
    pub tasks: Vec<TaskFacts>,
    /// The build's questions, oldest first, without withdrawn ones.
    pub questions: Vec<QuestionRow>,
    /// Answers that have not been taken up yet.
    pub answers: Vec<Answer>,
    /// The gates of the project's accounts.
    pub gates: Vec<GateRow>,
    /// Set if a process is at work on the project.
    pub at_work: bool,
    /// The time of the report.
    pub now: Time,
}

/// All that a report needs to know about a task.
#[derive(Clone, Debug)]
pub struct TaskFacts {
    /// The task's row.
    pub row: TaskRow,
    /// The task's runs, oldest first.
    pub runs: Vec<RunRow>,
    /// The task's actions, oldest first.
    pub actions: Vec<MutationRow>,
}

impl BuildFacts {
    /// Reads the facts about a build of a plan, by default the newest. Returns `None` if there is
    /// none: the standing build that contains all jobs is not a build of a plan.
    pub async fn load(
        store: &dyn Store,
        project: &str,
        build: Option<BuildId>,
        (at_work, now): (bool, Time),
    ) -> Result<Option<Self>, StoreError> {
        let mut builds = store.load_builds(project).await?;
        builds.retain(|row| !row.standing);
        // A build that is performed here takes precedence, because sessions come and go by the
        // hour.
        let wanted = match build {
            Some(id) => builds.iter().position(|row| row.id == id),
            None => builds.iter().position(BuildRow::is_performed_here).or(Some(0)),
        };
        let build = wanted.filter(|at| *at < builds.len()).map(|at| builds.swap_remove(at));
        let Some(build) = build else { return Ok(None) };
        let mut tasks = Vec::new();
        for row in store.load_build_tasks(project, build.id).await? {
            tasks.push(TaskFacts::load(store, project, row).await?);
        }
        let belongs = |row: &QuestionRow| {
            row.build == Some(build.id) || tasks.iter().any(|task| row.tasks.contains(&task.row.id))
        };
        let mut questions = store.load_questions(project, None).await?;
        questions.retain(|row| row.status != QuestionStatus::Withdrawn && belongs(row));
        Ok(Some(Self {
            project: project.to_owned(),
            tasks,
            questions,
            answers: store.load_pending_answers(project).await?,
            gates: store.load_gates(project).await?,
            build,
            at_work,
            now,
        }))
    }
}

impl TaskFacts {
    /// Returns the number of attempts that an agent has begun.
    pub(super) fn count_attempts(&self) -> u32 {
        let unbegun = self.runs.iter().filter(|run| !run.has_begun()).count();
        self.row.moved.attempts.saturating_sub(u32::try_from(unbegun).unwrap_or(u32::MAX))
    }

    async fn load(store: &dyn Store, project: &str, row: TaskRow) -> Result<Self, StoreError> {
        // A task that was never begun has neither runs nor actions.
        if row.moved.last_run.is_none() {
            return Ok(Self { row, runs: Vec::new(), actions: Vec::new() });
        }
        let runs = store.load_task_runs(project, row.id).await?;
        let actions = store.load_task_mutations(project, row.id).await?;
        Ok(Self { row, runs, actions })
    }
}
