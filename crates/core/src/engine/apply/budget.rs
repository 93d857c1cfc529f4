//! Applies budget events to the state.

use crate::engine::build::RaisedDay;
use crate::engine::event::Raised;
use crate::engine::ids::{RunId, TaskId};
use crate::engine::run::Run;
use crate::engine::state::{DaySpending, State};
use crate::policy::Amount;

impl State {
    /// Adds `spent` to the run's task, its build and the day, and replaces the run's reservation by
    /// `reserved`.
    pub(super) fn budget_updated(&mut self, id: RunId, spent: Amount, reserved: Amount, day: u64) {
        // A clock that was set back does not reopen yesterday's budget.
        if day > self.day.number {
            self.day =
                DaySpending { number: day, spent: Amount::ZERO, reserved: self.day.reserved };
        }
        self.day.spent = self.day.spent.saturating_add(spent);
        let Some(run) = self.runs.get_mut(&id) else { return };
        let released = std::mem::replace(&mut run.reserved, reserved);
        let task = run.task;
        self.shift_reserved(task, released, reserved);
        let Some(task) = self.tasks.get_mut(&task) else { return };
        task.spent = task.spent.saturating_add(spent);
        if let Some(build) = self.builds.get_mut(&task.build) {
            build.spent = build.spent.saturating_add(spent);
        }
    }

    pub(super) fn release_reserved(&mut self, run: &Run) {
        if !run.reserved.is_zero() {
            self.shift_reserved(run.task, run.reserved, Amount::ZERO);
        }
    }

    fn shift_reserved(&mut self, task: TaskId, from: Amount, to: Amount) {
        self.day.reserved = self.day.reserved.saturating_sub(from).saturating_add(to);
        let Some(task) = self.tasks.get_mut(&task) else { return };
        task.reserved = task.reserved.saturating_sub(from).saturating_add(to);
        if let Some(build) = self.builds.get_mut(&task.build) {
            build.reserved = build.reserved.saturating_sub(from).saturating_add(to);
        }
    }

    pub(super) fn limit_raised(&mut self, raised: Raised) {
        match raised {
            Raised::Questions { build, more } => {
                if let Some(build) = self.builds.get_mut(&build) {
                    build.questions_allowed += more;
                }
            }
            Raised::Build { build, more } => {
                if let Some(build) = self.builds.get_mut(&build) {
                    build.raised = build.raised.saturating_add(more);
                }
            }
            Raised::Day { build, day, more } => {
                if let Some(build) = self.builds.get_mut(&build) {
                    let before = build.raised_on(day);
                    build.raised_day = Some(RaisedDay { day, more: before.saturating_add(more) });
                }
            }
            Raised::Task { task, more } => {
                if let Some(task) = self.tasks.get_mut(&task) {
                    task.raised = task.raised.saturating_add(more);
                }
            }
        }
    }
}
