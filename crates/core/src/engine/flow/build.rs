//! Pauses, resumes and ends builds.

use std::sync::Arc;

use super::schedule::{begin_step, in_merge_order};
use super::{cancel_task, count_open_mutations};
use crate::engine::build::BuildState;
use crate::engine::event::{Event, PauseCause};
use crate::engine::ids::{BuildId, RunId, TaskId};
use crate::engine::question::Subject;
use crate::engine::react::ask_about_build;
use crate::engine::run::{Next, Status};
use crate::engine::task::TaskState;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::Fault;

/// Holds a build by `event`. Agents are stopped; all other work ends its step first.
pub(in crate::engine) fn hold_build(
    turn: &mut Transition<'_>,
    id: BuildId,
    event: Event,
    why: Why,
) {
    let code = why.code;
    turn.emit_with_reason(event, why);
    let Some(build) = turn.state.build(id) else { return };
    let status = build.state.held_run_status();
    for run in active_runs(turn, id) {
        let Some(run) = turn.state.run(run) else { continue };
        if run.status == Status::Active && run.step.can_be_interrupted() {
            let (run, step) = (run.id, run.position().to_resumed().step);
            turn.pause_run(run, status, step, code);
        }
    }
}

fn active_runs(turn: &Transition<'_>, id: BuildId) -> Vec<RunId> {
    let Some(build) = turn.state.build(id) else { return Vec::new() };
    build
        .tasks
        .iter()
        .filter_map(|task| match turn.state.task(*task)?.state {
            TaskState::Running { run } => Some(run),
            _ => None,
        })
        .collect()
}

/// Resumes a held build by `event`.
pub(in crate::engine) fn resume_build(
    turn: &mut Transition<'_>,
    id: BuildId,
    event: Event,
    why: Why,
) {
    withdraw_pause_question(turn, id);
    turn.emit_with_reason(event, why);
    let Some(build) = turn.state.build(id) else { return };
    for run in build.held.clone() {
        resume_run(turn, run);
    }
}

fn resume_run(turn: &mut Transition<'_>, id: RunId) {
    let Some(run) = turn.state.run(id) else { return };
    let task = run.task;
    let step = run.step;
    let Some(gate) = turn.state.task(task).map(|task| task.spec.gate) else { return };
    let next = Next { phase: run.phase, step };
    if step.needs_gate() && turn.state.gate(gate).is_some_and(|gate| !gate.lets_pass(task)) {
        turn.emit_with_reason(
            Event::TaskBackingOff { task, until: None, gate: Some(gate), run: Some(id), next },
            Why::from_rule(Rule::SharedGate),
        );
        return;
    }
    let step = in_merge_order(turn, task, step);
    begin_step(turn, id, Event::RunResumed { run: id, step });
}

/// Pauses a build that has reached its limit of open questions (five by default), with one event
/// and one question.
pub(in crate::engine) fn pause_for_questions(turn: &mut Transition<'_>, id: BuildId) {
    let Some(build) = turn.state.build(id) else { return };
    let open = build.open_questions;
    let limit = question_limit(turn, id);
    if open < limit || !build.state.allows_work() {
        return;
    }
    let why = Why::from_rule(Rule::TooManyQuestions);
    let event =
        Event::BuildPaused { build: id, cause: PauseCause::Questions, open_questions: open };
    hold_build(turn, id, event, why.clone());
    ask_about_build(turn, id, None, why);
}

/// Returns the number of open questions at which a build pauses. Jobs are independent of each
/// other, so a question about one of them never holds up the others.
fn question_limit(turn: &Transition<'_>, id: BuildId) -> u32 {
    match turn.state.build(id) {
        Some(build) if build.standing => u32::MAX,
        build => {
            let allowed = build.map_or(0, |build| build.questions_allowed);
            turn.policy.retry.pause_after_questions.saturating_add(allowed)
        }
    }
}

/// Resumes a build that was paused for its questions, once answers have brought their number below
/// the limit.
pub(super) fn resume_when_answered(turn: &mut Transition<'_>, id: BuildId) {
    if turn.is_paused_for(id, PauseCause::Questions)
        && turn.state.build(id).is_some_and(|b| b.open_questions < question_limit(turn, id))
    {
        let why = Why::from_rule(Rule::QuestionsAnswered);
        resume_build(turn, id, Event::BuildResumed { build: id }, why);
    }
}

/// Withdraws the question about the pause, because no decision about it is needed any more.
pub(super) fn withdraw_pause_question(turn: &mut Transition<'_>, id: BuildId) {
    if let Some(question) = turn.state.question_about(Subject::Build(id)).map(|q| q.id) {
        turn.emit_event(Event::QuestionWithdrawn { question });
    }
}

/// Ends a build by `event`. Steps that cannot be interrupted are completed first.
pub(in crate::engine) fn end_build(turn: &mut Transition<'_>, id: BuildId, event: Event, why: Why) {
    withdraw_pause_question(turn, id);
    turn.emit_with_reason(event, why);
    end_tasks(turn, id);
}

/// Ends every task of a build that can be ended now.
pub(in crate::engine) fn end_tasks(turn: &mut Transition<'_>, id: BuildId) {
    let Some(build) = turn.state.build(id) else { return };
    for task in build.tasks.clone() {
        end_task(turn, task);
    }
}

fn end_task(turn: &mut Transition<'_>, id: TaskId) {
    let Some(task) = turn.state.task(id) else { return };
    if task.state.has_ended() {
        return;
    }
    let run = task.state.run().and_then(|run| turn.state.run(run));
    let busy = run.is_some_and(|run| run.owes.is_some() && !run.step.can_be_interrupted());
    // The outcome of an action has to be known even when its task is no longer wanted.
    if busy || count_open_mutations(turn, id) > 0 {
        return;
    }
    if let Some(run) = run.map(|run| run.id) {
        turn.cancel_run(run);
    }
    cancel_task(turn, id);
}

impl Transition<'_> {
    /// Pauses a build whose budget is spent, until the operator decides.
    pub(in crate::engine) fn pause_for_budget(&mut self, id: BuildId, fault: &Arc<Fault>) {
        let working = self.state.build(id).filter(|build| build.state.allows_work());
        let Some(open_questions) = working.map(|build| build.open_questions) else { return };
        let why = Why::with_code(Rule::BudgetSpent, fault.code());
        let event = Event::BuildPaused { build: id, cause: PauseCause::Budget, open_questions };
        hold_build(self, id, event, why.clone());
        ask_about_build(self, id, Some(fault), why);
    }

    /// Returns whether the build is paused for this reason.
    pub(in crate::engine) fn is_paused_for(&self, id: BuildId, cause: PauseCause) -> bool {
        self.build_state(id) == Some(BuildState::Paused { cause })
    }

    pub(in crate::engine) fn build_state(&self, id: BuildId) -> Option<BuildState> {
        self.state.build(id).map(|build| build.state)
    }
}
