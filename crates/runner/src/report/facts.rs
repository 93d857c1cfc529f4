//! What the store knows about a build.

use unstuck_core::engine::BuildId;
use unstuck_core::time::Time;
use unstuck_store::tables::{
    BuildRow, GateRow, MutationRow, QuestionRow, QuestionStatus, RunRow, TaskRow,
};
use unstuck_store::{Answer, Store, StoreError};

/// What the store knows about a build.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The project.
    pub project: String,
    /// The build.
    pub build: BuildRow,
    /// Its tasks, in the order of the plan.
    pub tasks: Vec<TaskFacts>,
    /// Its questions, oldest first, without those that nobody needs any more.
    pub questions: Vec<QuestionRow>,
    /// Answers that nobody has taken up yet.
    pub answers: Vec<Answer>,
    /// The project's accounts.
    pub gates: Vec<GateRow>,
    /// Somebody is at work on the project.
    pub at_work: bool,
    /// What time it is.
    pub now: Time,
}

/// What the store knows about a task.
#[derive(Clone, Debug)]
pub struct TaskFacts {
    /// The task.
    pub row: TaskRow,
    /// Its runs, oldest first.
    pub runs: Vec<RunRow>,
    /// Its actions, oldest first.
    pub actions: Vec<MutationRow>,
}

impl Facts {
    /// Reads what is known about a build of a plan, the newest one without an id. There is none of
    /// it where nobody has started one: the home of all jobs is no build of a plan.
    pub async fn read(
        store: &dyn Store,
        project: &str,
        build: Option<BuildId>,
        (at_work, now): (bool, Time),
    ) -> Result<Option<Self>, StoreError> {
        let mut builds = store.builds(project).await?;
        builds.retain(|row| !row.standing);
        // A plan's build is what is meant where there is one: sessions come and go by the hour.
        let wanted = match build {
            Some(id) => builds.iter().position(|row| row.id == id),
            None => builds.iter().position(BuildRow::is_performed_here).or(Some(0)),
        };
        let build = wanted.filter(|at| *at < builds.len()).map(|at| builds.swap_remove(at));
        let Some(build) = build else { return Ok(None) };
        let mut tasks = Vec::new();
        for row in store.tasks(project, build.id).await? {
            tasks.push(TaskFacts::read(store, project, row).await?);
        }
        let belongs = |row: &QuestionRow| {
            row.build == Some(build.id) || tasks.iter().any(|task| row.tasks.contains(&task.row.id))
        };
        let mut questions = store.questions(project, None).await?;
        questions.retain(|row| row.status != QuestionStatus::Withdrawn && belongs(row));
        Ok(Some(Self {
            project: project.to_owned(),
            tasks,
            questions,
            answers: store.answers(project).await?,
            gates: store.gates(project).await?,
            build,
            at_work,
            now,
        }))
    }
}

impl TaskFacts {
    /// How often an agent began on it anew.
    pub(super) fn attempts(&self) -> u32 {
        let unbegun = self.runs.iter().filter(|run| !run.has_begun()).count();
        self.row.moved.attempts.saturating_sub(u32::try_from(unbegun).unwrap_or(u32::MAX))
    }

    async fn read(store: &dyn Store, project: &str, row: TaskRow) -> Result<Self, StoreError> {
        // One that was never begun has neither.
        if row.moved.last_run.is_none() {
            return Ok(Self { row, runs: Vec::new(), actions: Vec::new() });
        }
        let runs = store.runs(project, row.id).await?;
        let actions = store.mutations(project, row.id).await?;
        Ok(Self { row, runs, actions })
    }
}
