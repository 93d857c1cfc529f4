//! Checks events before they are applied: everything that an event changes has to exist.

use crate::engine::event::{Event, Raised};
use crate::engine::ids::{BuildId, MutationId, QuestionId, RunId, TaskId};
use crate::engine::invariant::BrokenInvariant;
use crate::engine::state::State;

impl State {
    /// Checks that everything exists that the event changes.
    pub(in crate::engine) fn check_event(&self, event: &Event) -> Result<(), BrokenInvariant> {
        match event {
            Event::BuildWaiting { build }
            | Event::BuildResumed { build }
            | Event::BuildCompleted { build }
            | Event::BuildFailed { build, .. }
            | Event::BuildCancelled { build }
            | Event::BuildPaused { build, .. }
            | Event::Sleeping { build, .. }
            | Event::Waking { build }
            | Event::BaseChecked { build, .. }
            | Event::BaseJudged { build, .. }
            | Event::LimitRaised {
                raised:
                    Raised::Questions { build, .. }
                    | Raised::Build { build, .. }
                    | Raised::Day { build, .. },
            } => self.check_build(*build),

            // The run of a task that waits may be gone: it crashed.
            Event::JobFired { task }
            | Event::JobHeld { task }
            | Event::JobReleased { task }
            | Event::JobFireLater { task }
            | Event::JobMissed { task, .. }
            | Event::Reported { task, .. }
            | Event::TaskBackingOff { task, .. }
            | Event::TaskReconciling { task, .. }
            | Event::TaskDone { task, .. }
            | Event::TaskFailed { task, .. }
            | Event::TaskSkipped { task, .. }
            | Event::TaskCancelled { task }
            | Event::TaskUnparked { task, .. }
            | Event::TaskReady { task, .. }
            | Event::TaskRevived { task }
            | Event::RunStarted { task, .. }
            | Event::Retrying { task, .. }
            | Event::Recovered { task, .. }
            | Event::GateProbing { task, .. }
            | Event::LimitRaised { raised: Raised::Task { task, .. } } => self.check_task(*task),

            Event::RunStep { run, .. }
            | Event::StepDone { run }
            | Event::RunPhase { run, .. }
            | Event::RunPaused { run, .. }
            | Event::RunResumed { run, .. }
            | Event::RunFailed { run, .. }
            | Event::RunCommitted { run }
            | Event::RunCrashed { run, .. }
            | Event::RunCancelled { run, .. }
            | Event::RunProgress { run, .. }
            | Event::FaultMet { run, .. }
            | Event::Observed { run, .. }
            | Event::Blamed { run, .. }
            | Event::ApproachTaken { run, .. }
            | Event::Checked { run, .. }
            | Event::Nudged { run }
            | Event::Declared { run, .. }
            | Event::Thinking { run }
            | Event::ToolCalled { run, .. }
            | Event::Refused { run, .. }
            | Event::BudgetUpdated { run, .. }
            | Event::MutationIntended { run, .. } => self.check_run(*run),

            Event::QuestionAsked { question } => {
                question.tasks.iter().try_for_each(|task| self.check_task(*task))
            }
            Event::TaskParked { task, question, .. } | Event::QuestionJoined { question, task } => {
                self.check_task(*task)?;
                self.check_question(*question)
            }
            Event::QuestionResolved { question, .. } | Event::QuestionWithdrawn { question } => {
                self.check_question(*question)
            }

            Event::MutationInFlight { mutation, run } => {
                self.check_action(*mutation)?;
                self.check_run(*run)
            }
            Event::MutationProbing { mutation, .. }
            | Event::MutationSettling { mutation, .. }
            | Event::MutationApplied { mutation, .. }
            | Event::MutationFailed { mutation }
            | Event::MutationIndeterminate { mutation, .. }
            | Event::MutationReconciled { mutation, .. } => self.check_action(*mutation),

            // These create what they name, or change only what needs nothing before it.
            Event::BuildStarted { .. }
            | Event::JobDefined { .. }
            | Event::GateWaiting { .. }
            | Event::GatePassing { .. }
            | Event::GateReleased { .. }
            | Event::GateGivenUp { .. }
            | Event::Forgotten { .. }
            | Event::LossAccepted { .. }
            | Event::Ordered { .. }
            | Event::ToolWaiting { .. }
            | Event::Warned { .. }
            | Event::Narrated { .. }
            | Event::Remarked { .. } => Ok(()),
        }
    }

    fn check_build(&self, id: BuildId) -> Result<(), BrokenInvariant> {
        self.build(id).ok_or(BrokenInvariant::NoBuild(id))?;
        Ok(())
    }

    /// Checks that the task exists, and its build.
    fn check_task(&self, id: TaskId) -> Result<(), BrokenInvariant> {
        let task = self.task(id).ok_or(BrokenInvariant::NoTask(id))?;
        self.check_build(task.build)
    }

    /// Checks that the run exists, its task and its build.
    fn check_run(&self, id: RunId) -> Result<(), BrokenInvariant> {
        let run = self.run(id).ok_or(BrokenInvariant::NoRun(id))?;
        self.check_task(run.task)
    }

    fn check_question(&self, id: QuestionId) -> Result<(), BrokenInvariant> {
        self.question(id).ok_or(BrokenInvariant::NoQuestion(id))?;
        Ok(())
    }

    fn check_action(&self, id: MutationId) -> Result<(), BrokenInvariant> {
        self.mutation(id).ok_or(BrokenInvariant::NoAction(id))?;
        Ok(())
    }
}
