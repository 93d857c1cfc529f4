//! Applies events to the state: the only way in which it changes. Applying decides nothing.
//!
//! An event is checked before it is applied, so everything that it names exists. The state may come
//! from a damaged snapshot all the same, so what is missing there is left out and never a panic.

mod budget;
mod build;
mod check;
mod fault;
mod gate;
mod ledger;
mod question;
mod run;
mod task;

use super::event::{Event, RecordedEvent};
use super::ids::BuildId;
use super::invariant::ReplayError;
use super::state::{HandledRequest, State};
use crate::plan::Request;

/// Maximum number of requests of people that are remembered; the oldest are dropped first.
const REQUESTS_KEPT_MAX: usize = 1_024;

impl State {
    /// Applies one event of the journal. An event that names something unknown changes nothing and
    /// is an error: the journal is damaged.
    pub fn apply(&mut self, recorded: &RecordedEvent) -> Result<(), ReplayError> {
        self.check_event(&recorded.event)
            .map_err(|broken| ReplayError { seq: recorded.seq, broken })?;
        self.apply_event(recorded);
        self.stirred.clear();
        self.broken = None;
        Ok(())
    }

    /// Applies a checked event and keeps the list of builds that it stirred, which `flow` then schedules.
    #[expect(clippy::too_many_lines, reason = "a table: one line per event")]
    pub(super) fn apply_event(&mut self, recorded: &RecordedEvent) {
        self.seq = recorded.seq;
        let seq = recorded.seq;
        let at = recorded.at;
        match &recorded.event {
            Event::BuildStarted { build, plan, slots, in_place } => {
                self.build_started(*build, plan, *slots, *in_place);
            }
            Event::BuildWaiting { build } => self.build_waiting(*build),
            Event::BuildResumed { build } | Event::Waking { build } => self.build_resumed(*build),
            Event::BuildCompleted { build } => self.build_completed(*build),
            Event::BuildFailed { build, fault } => self.build_failed(*build, fault),
            Event::BuildCancelled { build } => self.build_cancelled(*build),
            Event::BuildPaused { build, cause, .. } => self.build_paused(*build, *cause),
            Event::Sleeping { build, until, .. } => self.build_sleeping(*build, *until),
            Event::BaseChecked { build, red, .. } => self.base_checked(*build, red),
            Event::BaseJudged { build, belongs } => self.base_judged(*build, *belongs),
            Event::JobDefined { task, spec } => self.job_defined(*task, spec),
            Event::JobFired { task } => self.job_fired(*task, at),
            Event::JobHeld { task } => self.job_held(*task, true),
            Event::JobReleased { task } => self.job_held(*task, false),
            Event::JobFireLater { task } => self.job_fire_later(*task),
            Event::JobMissed { task, code } => self.job_missed(*task, *code),

            Event::Reported { task, request } => self.session_reported(*task, request),
            Event::TaskBackingOff { task, until, gate, run, next } => {
                self.task_backing_off(*task, *until, *gate, *run, *next);
            }
            Event::TaskReconciling { task, run, fault, next } => {
                self.task_reconciling(*task, *run, fault.clone(), *next);
            }
            Event::TaskDone { task, unchanged } => self.task_done(*task, unchanged.as_ref()),
            Event::TaskFailed { task, code } => self.task_failed(*task, *code),
            Event::TaskSkipped { task, left } => self.task_skipped(*task, *left),
            Event::TaskCancelled { task } => self.task_cancelled(*task),
            Event::TaskParked { task, question, run, next, .. } => {
                self.task_parked(*task, *question, *run, *next);
            }
            Event::TaskUnparked { task, next, guidance, allowance, fresh } => {
                self.task_unparked(*task, *next, guidance.clone(), allowance.as_ref(), *fresh);
            }
            Event::TaskReady { task, run, next } => self.task_ready(*task, *run, *next),
            Event::TaskRevived { task } => self.task_revived(*task),

            Event::RunStarted { run, task, next, .. } => self.run_started(*run, *task, *next, seq),
            Event::RunStep { run, step } => self.run_step(*run, *step, seq),
            Event::StepDone { run } => self.step_done(*run),
            Event::RunPhase { run, phase } => self.run_phase(*run, *phase),
            Event::RunPaused { run, status, step, .. } => self.run_paused(*run, *status, *step),
            Event::RunResumed { run, step } => self.run_resumed(*run, *step, seq),
            Event::RunFailed { run, .. }
            | Event::RunCommitted { run }
            | Event::RunCancelled { run, .. } => {
                self.allowance_used(*run);
                self.run_ended(*run);
            }
            Event::RunCrashed { run, clean } => self.run_crashed(*run, *clean),
            Event::RunProgress { run, iterations, tool_calls, validated, idle } => {
                if *idle {
                    self.commands_running(*run, &[]);
                }
                self.run_progress(*run, *iterations, *tool_calls, *validated);
            }
            Event::FaultMet { run, fault, approach, ends, passing, .. } => {
                self.fault_met(*run, fault, approach.as_ref(), *ends, *passing, at);
            }
            Event::Observed { run, signature, tree } => {
                self.failure_observed(*run, *signature, *tree);
            }
            Event::Blamed { run, fault } => self.fault_blamed(*run, fault),
            Event::ApproachTaken { run, approach, confirms } => {
                self.approach_taken(*run, approach, *confirms);
            }
            Event::Checked { run, checked } => self.gate_checked(*run, checked, at),
            Event::Nudged { run } => self.agent_nudged(*run),
            Event::Declared { run, mutation, .. } => self.action_declared(*run, mutation),
            Event::Retrying { task, signature, .. } => self.task_retrying(*task, *signature, at),
            Event::Recovered { task, .. } => self.task_recovered(*task),
            Event::Forgotten { signature } => self.signature_forgotten(*signature),
            Event::LossAccepted { actions, .. } => self.actions_doubted(actions),
            Event::Ordered { request: Some(request), build, .. } => {
                self.command_ordered(request, *build);
            }
            Event::ToolWaiting { .. }
            | Event::Ordered { request: None, .. }
            | Event::Warned { .. }
            | Event::Narrated { .. }
            | Event::Remarked { .. } => {}
            Event::Refused { run, what, why } => self.action_refused(*run, what, why),
            // The agent thinks, so the commands that it ran before have returned.
            Event::Thinking { run } => self.commands_running(*run, &[]),
            Event::ToolCalled { run, running, .. } => self.commands_running(*run, running),

            Event::QuestionAsked { question } => self.question_asked(question),
            Event::QuestionJoined { question, task } => self.question_joined(*question, *task),
            Event::QuestionResolved { question, end, decision, .. } => {
                self.question_closed(*question, *end, *decision);
            }
            Event::QuestionWithdrawn { question } => self.question_withdrawn(*question),

            Event::MutationIntended { mutation, run, spec } => {
                self.mutation_intended(*mutation, *run, spec);
            }
            Event::MutationInFlight { mutation, run } => {
                self.mutation_in_flight(*mutation, *run, seq, at);
            }
            Event::MutationProbing { mutation, called_at, said } => {
                self.mutation_probing(*mutation, (said.as_ref(), *called_at), seq, at);
            }
            Event::MutationSettling { mutation, until, said } => {
                self.mutation_settling(*mutation, *until, said.as_ref());
            }
            Event::MutationApplied { mutation, result } => {
                self.mutation_applied(*mutation, result);
            }
            Event::MutationFailed { mutation } => self.mutation_failed(*mutation),
            Event::MutationIndeterminate { mutation, said } => {
                self.mutation_indeterminate(*mutation, said.as_ref());
            }
            Event::MutationReconciled { mutation, to, result } => {
                self.mutation_reconciled(*mutation, *to, result);
            }

            Event::GateWaiting { gate, until, code, passed } => {
                self.gate_waiting(*gate, (*until, *passed), *code, at);
            }
            Event::GateProbing { gate, task } => self.gate_probing(*gate, *task),
            Event::GatePassing { gate, release_at, untried } => {
                self.gate_passing(*gate, *release_at, *untried, at);
            }
            Event::GateReleased { gate, group, next_at } => {
                self.gate_released(*gate, *group, *next_at);
            }
            Event::GateGivenUp { gate } => self.gate_given_up(*gate, at),

            Event::BudgetUpdated { run, spent, reserved, day, .. } => {
                self.budget_updated(*run, *spent, *reserved, *day);
            }
            Event::LimitRaised { raised } => self.limit_raised(*raised),
        }
    }

    /// Remembers a request together with its build, so that the build is found by the request even
    /// after the state has dropped it.
    fn command_ordered(&mut self, request: &Request, build: Option<BuildId>) {
        if self.requests.len() >= REQUESTS_KEPT_MAX {
            self.requests.pop_front();
        }
        self.requests.push_back(HandledRequest { request: request.clone(), build });
    }
}
