//! Application of a batch's changes to the tables in memory.

use unstuck_core::engine::{Phase, Status, TaskId};
use unstuck_core::time::Time;

use super::content::ProjectContent;
use crate::tables::{
    BuildRow, CostRow, MutationChange, MutationRow, QuestionChange, RunChange, RunRow, RunStatus,
    TableChanges, TaskChange,
};

impl ProjectContent {
    pub(super) fn apply_changes(&mut self, changes: TableChanges) {
        for row in changes.builds {
            self.change_build(row);
        }
        self.tasks.extend(changes.new_tasks.into_iter().map(|row| (row.id, row)));
        for (id, moved) in changes.tasks {
            self.change_task(id, moved);
        }
        for change in changes.runs {
            self.change_run(change);
        }
        for change in changes.questions {
            self.change_question(change);
        }
        for change in changes.mutations {
            self.change_mutation(change);
        }
        self.gates.extend(changes.gates.into_iter().map(|row| (row.key, row)));
        self.signatures.extend(changes.signatures.into_iter().map(|row| (row.signature, row)));
        for cost in changes.costs {
            self.add_cost(cost);
        }
        for task in changes.conversations_over {
            self.checkpoints.remove(&task);
        }
    }

    fn change_build(&mut self, mut row: BuildRow) {
        if let Some(known) = self.builds.get(&row.id) {
            row.started_at = known.started_at;
            row.ended_at = row.ended_at.and(known.ended_at.or(row.ended_at));
        }
        self.builds.insert(row.id, row);
    }

    fn change_task(&mut self, id: TaskId, moved: TaskChange) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.moved = moved;
        }
    }

    fn change_run(&mut self, change: RunChange) {
        if let Some((task, retry_of, started_at)) = change.began {
            self.runs.entry(change.id).or_insert_with(|| RunRow {
                id: change.id,
                task,
                retry_of,
                phase: Phase::default(),
                status: RunStatus::Standing(Status::Active),
                fault: None,
                iterations: 0,
                tool_calls: 0,
                spent: unstuck_core::policy::Amount::ZERO,
                started_at,
                ended_at: None,
            });
        }
        let Some(run) = self.runs.get_mut(&change.id) else { return };
        run.phase = change.phase.unwrap_or(run.phase);
        run.status = change.status.unwrap_or(run.status);
        run.fault = change.fault.or_else(|| run.fault.take());
        run.iterations = run.iterations.saturating_add(change.iterations);
        run.tool_calls = run.tool_calls.saturating_add(change.tool_calls);
        run.spent = run.spent.saturating_add(change.spent);
        run.ended_at = change.ended_at.or(run.ended_at);
    }

    fn change_question(&mut self, change: QuestionChange) {
        if let Some(row) = change.asked {
            self.questions.insert(change.id, *row);
        }
        if let Some(ended) = change.ended
            && let Some(row) = self.questions.get_mut(&change.id)
        {
            row.status = ended.status;
            row.decision = ended.decision;
            row.guidance = ended.guidance;
            row.answered_by = ended.by;
            row.resolved_at = Some(ended.at);
        }
    }

    fn change_mutation(&mut self, change: MutationChange) {
        if let Some((task, spec, intended_at)) = change.intended
            && let Some(run) = change.run
        {
            self.mutations.entry(change.id).or_insert_with(|| MutationRow {
                id: change.id,
                task,
                run,
                spec,
                status: change.status,
                result: "".into(),
                intended_at,
                changed_at: change.at,
            });
        }
        let Some(row) = self.mutations.get_mut(&change.id) else { return };
        row.run = change.run.unwrap_or(row.run);
        row.status = change.status;
        if let Some(result) = change.result {
            row.result = result;
        }
        row.changed_at = change.at;
    }

    fn add_cost(&mut self, cost: CostRow) {
        let nothing = CostRow { spent: unstuck_core::policy::Amount::ZERO, ..cost };
        let row = self.costs.entry((cost.day, cost.task)).or_insert(nothing);
        row.spent = row.spent.saturating_add(cost.spent);
    }

    /// Deletes builds that ended before `before`, with everything that belongs to them. The latest build
    /// stays: it can be revived until another one starts.
    pub(super) fn prune_builds(&mut self, before: Time) {
        let started = self.builds.values().filter(|build| !build.standing);
        let Some(latest) = started.map(|build| build.id).max() else { return };
        self.builds.retain(|id, build| {
            *id == latest || build.standing || build.ended_at.is_none_or(|at| at >= before)
        });
        self.tasks.retain(|_, task| self.builds.contains_key(&task.build));
        self.runs.retain(|_, run| self.tasks.contains_key(&run.task));
        self.mutations.retain(|_, mutation| self.tasks.contains_key(&mutation.task));
        let builds = &self.builds;
        self.questions.retain(|_, row| row.build.is_none_or(|build| builds.contains_key(&build)));
        let questions = &self.questions;
        self.answers.retain(|(answer, _)| questions.contains_key(&answer.question));
    }
}
