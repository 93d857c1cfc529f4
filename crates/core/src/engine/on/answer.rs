//! Handles `Answer`: resolves a question by the operator's decision. No other code resolves a
//! question.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::caps::build_budget;
use crate::engine::command::Rejected;
use crate::engine::effect::Start;
use crate::engine::event::{Event, PauseCause, Raised, Reconciled};
use crate::engine::flow;
use crate::engine::ids::{BuildId, MutationId, QuestionId, TaskId};
use crate::engine::ledger::MutationState;
use crate::engine::question::{Question, QuestionEnd, Subject};
use crate::engine::react::proposes_only;
use crate::engine::run::{Next, Phase, Status, Step};
use crate::engine::task::{Allowance, Guidance, Left, TaskState};
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::fault::{Class, Kind, Reaction, Work};
use crate::plan::MutationKind;
use crate::policy::Amount;
use crate::question::{Decision, QuestionKind, RAISE_TIMES, leave_as_it_was};

pub(super) fn on(
    turn: &mut Turn<'_>,
    id: QuestionId,
    decision: Decision,
    guidance: Option<Arc<str>>,
    by: Arc<str>,
) -> Result<(), Rejected> {
    let question = open(turn, id)?.clone();
    if !question.kind.decisions().contains(&decision) {
        return Err(Rejected::NotAnOption { question: id, decision });
    }
    let end = if decision.leaves_out() { QuestionEnd::Skipped } else { QuestionEnd::Resolved };
    let subject = question.subject;
    let said = guidance.clone();
    turn.decide(
        Event::QuestionResolved { question: id, subject, decision, end, guidance: said, by },
        Why::rule(Rule::PersonDecided),
    );
    match question.subject {
        Subject::Build(build) => about_build(turn, build, &question, decision),
        Subject::Action(mutation) => about_action(turn, &question, mutation, decision, guidance),
        Subject::Job(task) => about_job(turn, task, decision),
        Subject::Error(_) => about_error(turn, &question, decision, guidance.as_ref()),
    }
    Ok(())
}

fn open<'a>(turn: &'a Turn<'_>, id: QuestionId) -> Result<&'a Question, Rejected> {
    turn.state.question(id).ok_or_else(|| {
        match turn.state.question_ends.get(id.0 as usize).copied().flatten() {
            Some(QuestionEnd::Resolved | QuestionEnd::Skipped) => Rejected::Answered(id),
            Some(QuestionEnd::Withdrawn) => Rejected::Withdrawn(id),
            None => Rejected::NoQuestion(id),
        }
    })
}

/// Applies the decision and the guidance to every task that waited for the answer.
fn about_error(
    turn: &mut Turn<'_>,
    question: &Question,
    decision: Decision,
    text: Option<&Arc<str>>,
) {
    if let Decision::Unrelated | Decision::Belongs = decision {
        judge_base(turn, question, decision == Decision::Belongs);
    }
    let guidance = Arc::new(Guidance { decision, text: text.cloned() });
    for &task in &question.tasks {
        if let Some(mutation) = refused_action(turn, task, question, decision) {
            let to = Reconciled::Skipped;
            let result = Arc::from("");
            let why = Why::rule(Rule::PersonDecided);
            turn.decide(Event::MutationReconciled { mutation, to, result }, why);
            unpark(turn, task, question, &guidance, as_it_was);
            continue;
        }
        match decision {
            Decision::SkipFeature | Decision::Skip | Decision::Stop => leave_out(turn, task),
            Decision::Deny => unpark(turn, task, question, &guidance, take_back),
            Decision::RaiseLimit | Decision::Continue => {
                raise_task(turn, task, question, decision);
                unpark(turn, task, question, &guidance, as_it_was);
            }
            Decision::AllowOnce | Decision::AlwaysAllow => {
                let how = if denied(question).is_empty() { as_it_was } else { with_leave };
                unpark(turn, task, question, &guidance, how);
            }
            Decision::ProvideCredentials | Decision::ItHappened | Decision::ItDidNot => {
                unpark(turn, task, question, &guidance, as_it_was);
            }
            Decision::ProvideGuidance | Decision::SimplerVersion => {
                let how = match denied(question) {
                    [] if starts_over(question) => from_base,
                    [] if says_more(question, text) => with_words,
                    [] => as_it_was,
                    // The agent continues without the command.
                    _ => with_leave,
                };
                unpark(turn, task, question, &guidance, how);
            }
            Decision::TryAgain
                if matches!(question.kind, QuestionKind::Choice | QuestionKind::Passing) =>
            {
                unpark(turn, task, question, &guidance, as_it_was);
            }
            Decision::Unrelated => unpark(turn, task, question, &guidance, as_it_was),
            Decision::Belongs => {
                unpark(turn, task, question, &guidance, as_it_was);
                attempt_anew(turn, task, question);
            }
            Decision::TryAgain => {
                let how = if is_set_aside(question) { out_of_quarantine } else { new_worktree };
                unpark(turn, task, question, &guidance, how);
            }
        }
    }
}

/// Records the operator's judgement of the base for the builds of the waiting tasks; it holds for
/// the rest of each build.
fn judge_base(turn: &mut Turn<'_>, question: &Question, belongs: bool) {
    let tasks = question.tasks.iter().filter_map(|task| turn.state.task(*task));
    let builds: BTreeSet<BuildId> = tasks.map(|task| task.build).collect();
    for build in builds {
        turn.decide(Event::BaseJudged { build, belongs }, Why::rule(Rule::PersonDecided));
    }
}

/// A function from the place where a task stood to the place where it continues after the answer.
type GoesOn = fn(Work, Next) -> Next;

const fn as_it_was(_: Work, next: Next) -> Next {
    next
}

/// Resumes the agent instead of checking its work again as it is: the work did not pass because the
/// agent was denied something, and now it may do that or is told how to continue without it.
const fn with_leave(_: Work, next: Next) -> Next {
    match next.step {
        Step::Check | Step::AwaitMerge => Next::attempt(Start::Resume),
        _ => next,
    }
}

/// Resumes the agent before its work is checked again, because the operator's text is meant for it.
const fn with_words(work: Work, next: Next) -> Next {
    match (work, next.step) {
        (Work::Task, Step::Check | Step::AwaitMerge | Step::Commit) => Next::attempt(Start::Resume),
        _ => next,
    }
}

/// Returns whether the operator wrote something other than the text of the option to leave files as
/// they were, which needs no agent.
fn says_more(question: &Question, text: Option<&Arc<str>>) -> bool {
    let Some(text) = text.map(|text| text.trim()).filter(|text| !text.is_empty()) else {
        return false;
    };
    match question.fault.as_deref().map(|fault| &fault.kind) {
        Some(Kind::PermissionFileAccess(of)) => text != leave_as_it_was(&of.what),
        _ => true,
    }
}

/// Returns the commands that the agent was denied.
fn denied(question: &Question) -> &[String] {
    match question.fault.as_deref().map(|fault| &fault.kind) {
        Some(Kind::PermissionCommandBlocked(permission)) => &permission.commands,
        _ => &[],
    }
}

/// Returns the declared action that the operator did not allow. The task continues without it, and
/// its work stays.
fn refused_action(
    turn: &Turn<'_>,
    id: TaskId,
    question: &Question,
    decision: Decision,
) -> Option<MutationId> {
    use Decision::{Deny, ProvideGuidance, SimplerVersion};
    let refuses = matches!(decision, Deny | ProvideGuidance | SimplerVersion);
    let task = turn.state.task(id).filter(|_| refuses && !denied(question).is_empty())?;
    let Step::Mutate { .. } = task.next.step else { return None };
    // Actions are performed in order, and this is the first that did not happen.
    let mut actions = (0..).map_while(|at| task.action(at));
    actions.find_map(|action| {
        let mutation = turn.state.ledger.find(task, action)?;
        matches!(mutation.state, MutationState::Intended | MutationState::NotApplied)
            .then_some(mutation.id)
    })
}

/// Continues the work in a new run that keeps the worktree: the old run may have come further than
/// an attempt.
fn attempt_anew(turn: &mut Turn<'_>, id: TaskId, question: &Question) {
    let Some(task) = turn.state.task(id).filter(|task| task.work() == Work::Task) else { return };
    if let (Some(run), Some(code)) = (task.state.run(), question.code()) {
        turn.end_run(run, Status::FailedLogic, code);
    }
    let next = Next::attempt(Start::KeepTree);
    let ready = Event::TaskReady { task: id, run: None, next };
    turn.decide(ready, Why::rule(Rule::PersonDecided));
}

const fn take_back(_: Work, next: Next) -> Next {
    Next { phase: next.phase, step: Step::TakeBack }
}

const fn from_base(work: Work, next: Next) -> Next {
    match work {
        // Denied changes are reverted first, whatever else the operator said.
        _ if matches!(next.step, Step::TakeBack) => next,
        Work::Task => Next::attempt(Start::FromBase),
        Work::Job => Next { phase: Phase::Preparing, step: Step::Repair { propose: false } },
    }
}

const fn new_worktree(work: Work, next: Next) -> Next {
    match (work, next.step) {
        // Checked and committed work stays: only an agent's work starts over.
        (Work::Task, Step::Attempt { .. }) => Next::attempt(Start::NewWorktree),
        _ => next,
    }
}

/// Starts over the work that exists only in a quarantined worktree, because that worktree is not
/// used again.
const fn out_of_quarantine(work: Work, next: Next) -> Next {
    match (work, next.step) {
        (Work::Task, Step::AwaitMerge | Step::Check | Step::Commit) => {
            Next::attempt(Start::NewWorktree)
        }
        _ => new_worktree(work, next),
    }
}

fn is_set_aside(question: &Question) -> bool {
    question.code().is_some_and(|code| code.row().reaction == Reaction::Quarantine)
}

/// Returns whether the work starts over from its base: failed work does, work interrupted by an
/// outage does not.
fn starts_over(question: &Question) -> bool {
    question.fault.as_ref().is_some_and(|fault| fault.class() == Class::CodeError)
}

fn unpark(
    turn: &mut Turn<'_>,
    id: TaskId,
    question: &Question,
    guidance: &Arc<Guidance>,
    goes_on: GoesOn,
) {
    let Some(task) = turn.state.task(id) else { return };
    let mut next = goes_on(task.work(), task.next);
    if let Step::Repair { .. } = next.step {
        // A hint of the operator is no permission to use a repair that was to be proposed.
        next.step = Step::Repair { propose: proposes_only(turn, task) };
    }
    let allowed =
        |signature, always| Allowance { signature, always, commands: denied(question).to_vec() };
    let allowance = match (guidance.decision, question.subject) {
        (Decision::AllowOnce, Subject::Error(signature)) => Some(allowed(signature, false)),
        (Decision::AlwaysAllow, Subject::Error(signature)) => Some(allowed(signature, true)),
        _ => None,
    };
    let fresh = question.kind != QuestionKind::Paused;
    let guidance = Some(Arc::clone(guidance));
    turn.decide(
        Event::TaskUnparked { task: id, next, guidance, allowance, fresh },
        Why::rule(Rule::PersonDecided),
    );
}

fn leave_out(turn: &mut Turn<'_>, id: TaskId) {
    if let Some(run) = turn.state.task(id).and_then(|task| task.state.run()) {
        turn.cancel_run(run);
    }
    flow::skip(turn, id, Left::Decided);
}

/// Returns how many times the limit itself the decision adds to it.
const fn times(decision: Decision) -> u32 {
    match decision {
        Decision::RaiseLimit => RAISE_TIMES,
        _ => 1,
    }
}

/// Returns the amount that the decision adds to a limit originally `set`, so that the next call has
/// room.
fn raise(question: &Question, set: Amount, decision: Decision) -> Amount {
    let more = match question.fault.as_deref().map(|fault| &fault.kind) {
        Some(Kind::BudgetExhausted(context)) => context.next_raise(set),
        _ => set,
    };
    more.times(times(decision))
}

fn raise_task(turn: &mut Turn<'_>, id: TaskId, question: &Question, decision: Decision) {
    let Some(task) = turn.state.task(id) else { return };
    let cap = task.spec.overrides.budget.unwrap_or(turn.policy.budget.per_task);
    let more = raise(question, cap, decision);
    turn.emit(Event::LimitRaised { raised: Raised::Task { task: id, more } });
}

/// Settles an action by the operator's statement whether it happened.
fn about_action(
    turn: &mut Turn<'_>,
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
    let why = Why::rule(Rule::PersonDecided);
    let Some(mutation) = turn.state.mutation(id) else { return };
    let run = mutation.run;
    let merge = mutation.spec.kind == MutationKind::Merge;
    turn.decide(Event::MutationReconciled { mutation: id, to, result }, why.clone());
    for &task in &question.tasks {
        if merge && to == Reconciled::Skipped {
            leave_out(turn, task);
            continue;
        }
        let Some((fault, next)) =
            turn.state.task(task).map(|task| (task.unsettled.clone(), task.next))
        else {
            continue;
        };
        // The fault of the call is no failure of an action that happened or is skipped, and a
        // script that ended because of it continues from there.
        let step = turn.state.run(run).map(|run| run.step);
        let of_action = matches!(step, Some(Step::Mutate { .. } | Step::Execute));
        let fault = fault.filter(|_| !of_action);
        turn.decide(Event::TaskReconciling { task, run, fault, next }, why.clone());
        flow::reconcile_rest(turn, task);
    }
}

/// Applies the decision about a job that keeps trying: it tries now, or not before its next
/// scheduled time.
fn about_job(turn: &mut Turn<'_>, id: TaskId, decision: Decision) {
    let Some(task) = turn.state.task(id) else { return };
    let TaskState::BackingOff { run, .. } = task.state else { return };
    let next = task.next;
    if decision.leaves_out() {
        leave_out(turn, id);
    } else {
        turn.decide(Event::TaskReady { task: id, run, next }, Why::rule(Rule::PersonDecided));
    }
}

/// Applies the decision about a paused build.
fn about_build(turn: &mut Turn<'_>, build: BuildId, question: &Question, decision: Decision) {
    let why = Why::rule(Rule::PersonDecided);
    if decision == Decision::Stop && turn.state.build(build).is_some_and(|build| build.standing) {
        // The standing build continues; the current work of its jobs is ended.
        flow::end_tasks(turn, build);
        flow::resume(turn, build, Event::BuildResumed { build }, why);
        return;
    }
    if decision == Decision::Stop {
        flow::end_build(turn, build, Event::BuildCancelled { build }, why);
        return;
    }
    let raised = if turn.is_paused_for(build, PauseCause::Questions) {
        let more = turn.policy.retry.pause_after_questions.saturating_mul(times(decision));
        Raised::Questions { build, more }
    } else {
        let set = turn
            .state
            .build(build)
            .map_or(Amount::ZERO, |build| build_budget(turn.state, &turn.policy.budget, build));
        Raised::Build { build, more: raise(question, set, decision) }
    };
    turn.emit(Event::LimitRaised { raised });
    flow::resume(turn, build, Event::BuildResumed { build }, why);
}
