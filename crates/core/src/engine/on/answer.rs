//! Handles `Answer` and `JudgeBase`: resolves a question by the operator's decision. No other code
//! resolves a question.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::caps::build_budget;
use crate::engine::command::CommandRejection;
use crate::engine::end::{end_build, end_tasks, skip_task};
use crate::engine::event::{Event, PauseCause, Raised, Reconciled};
use crate::engine::flow;
use crate::engine::ids::{BuildId, MutationId, QuestionId, TaskId};
use crate::engine::ledger::MutationState;
use crate::engine::question::{Question, QuestionEnd, Subject};
use crate::engine::react::is_proposal_only;
use crate::engine::run::{Next, Phase, Start, Status, Step};
use crate::engine::task::{Allowance, Guidance, SkipReason, TaskState};
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Class, Kind, Reaction, Work};
use crate::plan::MutationKind;
use crate::policy::Amount;
use crate::question::{Decision, QuestionKind, RAISE_TIMES, leave_unchanged_guidance};

pub(super) fn handle_answer(
    turn: &mut Transition<'_>,
    id: QuestionId,
    decision: Decision,
    guidance: Option<Arc<str>>,
    by: Arc<str>,
) -> Result<(), CommandRejection> {
    let question = find_open_question(turn, id)?.clone();
    if !question.kind.decisions().contains(&decision) {
        return Err(CommandRejection::NotAnOption { question: id, decision });
    }
    let end = if decision.skips_work() { QuestionEnd::Skipped } else { QuestionEnd::Resolved };
    let subject = question.subject;
    let said = guidance.clone();
    turn.emit_with_reason(
        Event::QuestionResolved { question: id, subject, decision, end, guidance: said, by },
        Why::from_rule(Rule::PersonDecided),
    );
    match question.subject {
        Subject::Build(build) => apply_to_build(turn, build, &question, decision),
        Subject::Action(mutation) => apply_to_action(turn, &question, mutation, decision, guidance),
        Subject::Job(task) => apply_to_job(turn, task, decision),
        Subject::Error(_) => apply_to_error(turn, &question, decision, guidance.as_ref()),
    }
    Ok(())
}

/// Records the operator's judgement whether the red checks of the base belong to the work. If the
/// question about them is open already, the judgement is its answer.
pub(super) fn handle_judge_base(
    turn: &mut Transition<'_>,
    build: BuildId,
    belongs: bool,
    by: Arc<str>,
) -> Result<(), CommandRejection> {
    let known = turn.state.build(build).ok_or(CommandRejection::NoBuild(build))?;
    if known.state.has_ended() {
        return Err(CommandRejection::NotNow {
            what: format!("build {build}"),
            state: known.state.as_str(),
        });
    }
    let is_about_base = |question: &&Question| {
        question.kind == QuestionKind::RedBase
            && question.tasks.iter().any(|task| known.tasks.contains(task))
    };
    let asked = turn.state.questions().find(is_about_base).map(|question| question.id);
    if let Some(question) = asked {
        let decision = if belongs { Decision::Belongs } else { Decision::Unrelated };
        return handle_answer(turn, question, decision, None, by);
    }
    turn.emit_with_reason(
        Event::BaseJudged { build, belongs },
        Why::from_rule(Rule::PersonDecided),
    );
    Ok(())
}

fn find_open_question<'a>(
    turn: &'a Transition<'_>,
    id: QuestionId,
) -> Result<&'a Question, CommandRejection> {
    turn.state.question(id).ok_or_else(|| {
        match turn.state.question_ends.get(id.0 as usize).copied().flatten() {
            Some(QuestionEnd::Resolved | QuestionEnd::Skipped) => CommandRejection::Answered(id),
            Some(QuestionEnd::Withdrawn) => CommandRejection::Withdrawn(id),
            None => CommandRejection::NoQuestion(id),
        }
    })
}

/// Applies the decision and the guidance to every task that waited for the answer.
fn apply_to_error(
    turn: &mut Transition<'_>,
    question: &Question,
    decision: Decision,
    text: Option<&Arc<str>>,
) {
    if let Decision::Unrelated | Decision::Belongs = decision {
        record_base_judgement(turn, question, decision == Decision::Belongs);
    }
    let guidance = Arc::new(Guidance { decision, text: text.cloned() });
    for &task in &question.tasks {
        if let Some(mutation) = refused_action(turn, task, question, decision) {
            let to = Reconciled::Skipped;
            let result = Arc::from("");
            let why = Why::from_rule(Rule::PersonDecided);
            turn.emit_with_reason(Event::MutationReconciled { mutation, to, result }, why);
            unpark_task(turn, task, question, &guidance, continue_unchanged);
            continue;
        }
        match decision {
            Decision::SkipFeature | Decision::Skip | Decision::Stop => skip_parked_task(turn, task),
            Decision::Deny => unpark_task(turn, task, question, &guidance, continue_by_reverting),
            Decision::RaiseLimit | Decision::Continue => {
                raise_task_budget(turn, task, question, decision);
                unpark_task(turn, task, question, &guidance, continue_unchanged);
            }
            Decision::AllowOnce | Decision::AlwaysAllow => {
                let how = if denied_commands(question).is_empty() {
                    continue_unchanged
                } else {
                    resume_with_permission
                };
                unpark_task(turn, task, question, &guidance, how);
            }
            Decision::ProvideCredentials | Decision::ItHappened | Decision::ItDidNot => {
                unpark_task(turn, task, question, &guidance, continue_unchanged);
            }
            Decision::ProvideGuidance | Decision::SimplerVersion => {
                let how = match denied_commands(question) {
                    [] if starts_over(question) => restart_from_base,
                    [] if has_own_words(question, text) => resume_with_guidance,
                    [] => continue_unchanged,
                    // The agent continues without the command.
                    _ => resume_with_permission,
                };
                unpark_task(turn, task, question, &guidance, how);
            }
            Decision::TryAgain
                if matches!(question.kind, QuestionKind::Choice | QuestionKind::Passing) =>
            {
                unpark_task(turn, task, question, &guidance, continue_unchanged);
            }
            Decision::Unrelated => unpark_task(turn, task, question, &guidance, continue_unchanged),
            Decision::Belongs => {
                unpark_task(turn, task, question, &guidance, continue_unchanged);
                attempt_anew(turn, task, question);
            }
            Decision::TryAgain => {
                let how = if is_quarantined(question) {
                    restart_after_quarantine
                } else {
                    restart_in_new_worktree
                };
                unpark_task(turn, task, question, &guidance, how);
            }
        }
    }
}

/// Records the operator's judgement of the base for the builds of the waiting tasks; it holds for
/// the rest of each build.
fn record_base_judgement(turn: &mut Transition<'_>, question: &Question, belongs: bool) {
    let tasks = question.tasks.iter().filter_map(|task| turn.known_task(*task));
    let builds: BTreeSet<BuildId> = tasks.map(|task| task.build).collect();
    for build in builds {
        turn.emit_with_reason(
            Event::BaseJudged { build, belongs },
            Why::from_rule(Rule::PersonDecided),
        );
    }
}

/// A function from the place where a task stood to the place where it continues after the answer.
type Continuation = fn(Work, Next) -> Next;

const fn continue_unchanged(_: Work, next: Next) -> Next {
    next
}

/// Resumes the agent instead of checking its work again as it is: the work did not pass because the
/// agent was denied something, and now it may do that or is told how to continue without it.
const fn resume_with_permission(_: Work, next: Next) -> Next {
    match next.step {
        Step::Check | Step::AwaitMerge => Next::at_attempt(Start::Resume),
        _ => next,
    }
}

/// Resumes the agent before its work is checked again, because the operator's text is meant for it.
const fn resume_with_guidance(work: Work, next: Next) -> Next {
    match (work, next.step) {
        (Work::Task, Step::Check | Step::AwaitMerge | Step::Commit) => {
            Next::at_attempt(Start::Resume)
        }
        _ => next,
    }
}

/// Returns whether the operator wrote something other than the text of the option to leave files as
/// they were, which needs no agent.
fn has_own_words(question: &Question, text: Option<&Arc<str>>) -> bool {
    let Some(text) = text.map(|text| text.trim()).filter(|text| !text.is_empty()) else {
        return false;
    };
    match question.fault.as_deref().map(|fault| &fault.kind) {
        Some(Kind::PermissionFileAccess(of)) => text != leave_unchanged_guidance(&of.what),
        _ => true,
    }
}

/// Returns the commands that the agent was denied.
fn denied_commands(question: &Question) -> &[String] {
    match question.fault.as_deref().map(|fault| &fault.kind) {
        Some(Kind::PermissionCommandBlocked(permission)) => &permission.commands,
        _ => &[],
    }
}

/// Returns the declared action that the operator did not allow. The task continues without it, and
/// its work stays.
fn refused_action(
    turn: &Transition<'_>,
    id: TaskId,
    question: &Question,
    decision: Decision,
) -> Option<MutationId> {
    use Decision::{Deny, ProvideGuidance, SimplerVersion};
    let refuses = matches!(decision, Deny | ProvideGuidance | SimplerVersion);
    let task = turn.known_task(id).filter(|_| refuses && !denied_commands(question).is_empty())?;
    let Step::Mutate { .. } = task.next.step else { return None };
    // Actions are performed in order, and this is the first that did not happen.
    let mut actions = (0..).map_while(|at| task.action_at(at));
    actions.find_map(|action| {
        let mutation = turn.state.find_action(task, action)?;
        matches!(mutation.state, MutationState::Intended | MutationState::NotApplied)
            .then_some(mutation.id)
    })
}

/// Continues the work in a new run that keeps the worktree: the old run may have come further than
/// an attempt.
fn attempt_anew(turn: &mut Transition<'_>, id: TaskId, question: &Question) {
    let Some(task) = turn.known_task(id).filter(|task| task.work() == Work::Task) else { return };
    if let (Some(run), Some(code)) = (task.state.run(), question.code()) {
        turn.end_run(run, Status::FailedLogic, code);
    }
    let next = Next::at_attempt(Start::KeepTree);
    let ready = Event::TaskReady { task: id, run: None, next };
    turn.emit_with_reason(ready, Why::from_rule(Rule::PersonDecided));
}

const fn continue_by_reverting(_: Work, next: Next) -> Next {
    Next { phase: next.phase, step: Step::TakeBack }
}

const fn restart_from_base(work: Work, next: Next) -> Next {
    match work {
        // Denied changes are reverted first, whatever else the operator said.
        _ if matches!(next.step, Step::TakeBack) => next,
        Work::Task => Next::at_attempt(Start::FromBase),
        Work::Job => Next { phase: Phase::Preparing, step: Step::Repair { propose: false } },
    }
}

const fn restart_in_new_worktree(work: Work, next: Next) -> Next {
    match (work, next.step) {
        // Checked and committed work stays: only an agent's work starts over.
        (Work::Task, Step::Attempt { .. }) => Next::at_attempt(Start::NewWorktree),
        _ => next,
    }
}

/// Starts over the work that exists only in a quarantined worktree, because that worktree is not
/// used again.
const fn restart_after_quarantine(work: Work, next: Next) -> Next {
    match (work, next.step) {
        (Work::Task, Step::AwaitMerge | Step::Check | Step::Commit) => {
            Next::at_attempt(Start::NewWorktree)
        }
        _ => restart_in_new_worktree(work, next),
    }
}

fn is_quarantined(question: &Question) -> bool {
    question.code().is_some_and(|code| code.row().reaction == Reaction::Quarantine)
}

/// Returns whether the work starts over from its base: failed work does, work interrupted by an
/// outage does not.
fn starts_over(question: &Question) -> bool {
    question.fault.as_ref().is_some_and(|fault| fault.class() == Class::CodeError)
}

fn unpark_task(
    turn: &mut Transition<'_>,
    id: TaskId,
    question: &Question,
    guidance: &Arc<Guidance>,
    goes_on: Continuation,
) {
    let Some(task) = turn.known_task(id) else { return };
    let mut next = goes_on(task.work(), task.next);
    if let Step::Repair { .. } = next.step {
        // A hint of the operator is no permission to use a repair that was to be proposed.
        next.step = Step::Repair { propose: is_proposal_only(turn, task) };
    }
    let allowed = |signature, always| Allowance {
        signature,
        always,
        commands: denied_commands(question).to_vec(),
    };
    let allowance = match (guidance.decision, question.subject) {
        (Decision::AllowOnce, Subject::Error(signature)) => Some(allowed(signature, false)),
        (Decision::AlwaysAllow, Subject::Error(signature)) => Some(allowed(signature, true)),
        _ => None,
    };
    let fresh = question.kind != QuestionKind::Paused;
    let guidance = Some(Arc::clone(guidance));
    turn.emit_with_reason(
        Event::TaskUnparked { task: id, next, guidance, allowance, fresh },
        Why::from_rule(Rule::PersonDecided),
    );
}

fn skip_parked_task(turn: &mut Transition<'_>, id: TaskId) {
    if let Some(run) = turn.known_task(id).and_then(|task| task.state.run()) {
        turn.cancel_run(run);
    }
    skip_task(turn, id, SkipReason::Decided);
}

/// Returns how many times the limit itself the decision adds to it.
const fn raise_factor(decision: Decision) -> u32 {
    match decision {
        Decision::RaiseLimit => RAISE_TIMES,
        _ => 1,
    }
}

/// Returns the amount that the decision adds to a limit originally `set`, so that the next call has
/// room.
fn raise_amount(question: &Question, set: Amount, decision: Decision) -> Amount {
    let more = match question.fault.as_deref().map(|fault| &fault.kind) {
        Some(Kind::BudgetExhausted(context)) => context.next_raise(set),
        _ => set,
    };
    more.saturating_mul(raise_factor(decision))
}

fn raise_task_budget(
    turn: &mut Transition<'_>,
    id: TaskId,
    question: &Question,
    decision: Decision,
) {
    let Some(task) = turn.known_task(id) else { return };
    let cap = task.spec.overrides.budget.unwrap_or(turn.policy.budget.per_task);
    // A task that joined the question may have spent more than the one that asked.
    let overrun = task.spent.saturating_sub(cap.raised_by(task.raised));
    let more = raise_amount(question, cap, decision).max_per_unit(cap.saturating_add(overrun));
    turn.emit_event(Event::LimitRaised { raised: Raised::Task { task: id, more } });
}

/// Settles an action by the operator's statement whether it happened.
fn apply_to_action(
    turn: &mut Transition<'_>,
    question: &Question,
    id: MutationId,
    decision: Decision,
    text: Option<Arc<str>>,
) {
    let to = match decision {
        Decision::ItHappened => Reconciled::Applied,
        Decision::ItDidNot => Reconciled::NotApplied,
        _ => Reconciled::Skipped,
    };
    let result = text.unwrap_or_default();
    let why = Why::from_rule(Rule::PersonDecided);
    let Some(mutation) = turn.known_mutation(id) else { return };
    let run = mutation.run;
    let merge = mutation.spec.kind == MutationKind::Merge;
    turn.emit_with_reason(Event::MutationReconciled { mutation: id, to, result }, why.clone());
    for &task in &question.tasks {
        if merge && to == Reconciled::Skipped {
            skip_parked_task(turn, task);
            continue;
        }
        let Some((fault, next)) =
            turn.known_task(task).map(|task| (task.unsettled.clone(), task.next))
        else {
            continue;
        };
        // The fault of the call is no failure of an action that happened or is skipped, and a
        // script that ended because of it continues from there.
        let step = turn.state.run(run).map(|run| run.step);
        let of_action = matches!(step, Some(Step::Mutate { .. } | Step::Execute));
        let fault = fault.filter(|_| !of_action);
        turn.emit_with_reason(Event::TaskReconciling { task, run, fault, next }, why.clone());
        flow::reconcile_rest(turn, task);
    }
}

/// Applies the decision about a job that keeps trying: it tries now, or not before its next
/// scheduled time.
fn apply_to_job(turn: &mut Transition<'_>, id: TaskId, decision: Decision) {
    let Some(task) = turn.known_task(id) else { return };
    let TaskState::BackingOff { run, .. } = task.state else { return };
    let next = task.next;
    if decision.skips_work() {
        skip_parked_task(turn, id);
    } else {
        turn.emit_with_reason(
            Event::TaskReady { task: id, run, next },
            Why::from_rule(Rule::PersonDecided),
        );
    }
}

/// Applies the decision about a paused build.
fn apply_to_build(
    turn: &mut Transition<'_>,
    build: BuildId,
    question: &Question,
    decision: Decision,
) {
    let why = Why::from_rule(Rule::PersonDecided);
    if decision == Decision::Stop && turn.known_build(build).is_some_and(|build| build.standing) {
        // The standing build continues; the current work of its jobs is ended.
        end_tasks(turn, build);
        flow::resume_build(turn, build, Event::BuildResumed { build }, why);
        return;
    }
    if decision == Decision::Stop {
        end_build(turn, build, Event::BuildCancelled { build }, why);
        return;
    }
    let raised = if turn.is_paused_for(build, PauseCause::Questions) {
        let more = turn.policy.retry.pause_after_questions.saturating_mul(raise_factor(decision));
        Raised::Questions { build, more }
    } else if question.is_about_day() {
        let budget = &turn.policy.budget;
        let more = raise_amount(question, budget.per_day, decision);
        Raised::Day { build, day: budget.day_number(turn.now), more }
    } else {
        let set = turn
            .known_build(build)
            .map_or(Amount::ZERO, |build| build_budget(turn.state, &turn.policy.budget, build));
        Raised::Build { build, more: raise_amount(question, set, decision) }
    };
    turn.emit_event(Event::LimitRaised { raised });
    flow::resume_build(turn, build, Event::BuildResumed { build }, why);
}
