//! The entry point of the engine, and the handlers of its commands: one file for the commands about
//! one subject.

mod answer;
mod build;
mod job;
mod mutate;
mod note;
mod progress;
mod raise;
mod recover;
mod report;
mod settle;
mod settle_action;
mod task;
mod wait;

use super::command::{Command, CommandIssuer, CommandRejection, Wish};
use super::event::{Event, RecordedEvent};
use super::flow;
use super::state::State;
use super::transition::Transition;
use super::why::{Rule, Why};
use crate::chance::Rng;
use crate::policy::Policy;
use crate::time::Time;

/// Decides what a command leads to and applies the resulting events to `state`.
///
/// Each event is applied as it is decided, so that later decisions see it; the returned events are
/// the only changes. A rejected command changes nothing.
pub fn decide(
    state: &mut State,
    command: Command,
    policy: &Policy,
    now: Time,
    rng: &mut Rng,
) -> Result<Vec<RecordedEvent>, CommandRejection> {
    let mut turn = Transition::new(state, policy, now, rng);
    let result = handle_command(&mut turn, command);
    debug_assert!(
        result.is_ok() || turn.events().is_empty(),
        "a rejected command changed something"
    );
    result?;
    flow::schedule_builds(&mut turn);
    Ok(turn.into_events())
}

/// Carries out a command, or returns the reason why not without having changed anything.
fn handle_command(turn: &mut Transition<'_>, command: Command) -> Result<(), CommandRejection> {
    match command {
        Command::StartBuild { plan, slots, in_place } => {
            build::handle_start_build(turn, plan, slots, in_place);
            Ok(())
        }
        Command::DefineJob { spec } => job::handle_define_job(turn, spec),
        Command::FireJob { task } => job::handle_fire_job(turn, task),
        Command::JobDue { task } => job::handle_job_due(turn, task),
        Command::HoldJob { task } => job::handle_hold_job(turn, task),
        Command::ReleaseJob { task } => job::handle_release_job(turn, task),
        Command::Settle { effect, outcome, spent } => {
            settle::handle_settle(turn, effect, outcome, spent)
        }
        Command::Progress { effect, report } => progress::handle_progress(turn, effect, report),
        Command::Note { effect, note } => note::handle_note(turn, effect, note),
        Command::Raise { effect, fault } => raise::handle_raise(turn, effect, &fault),
        Command::Observe { effect, fault, tree } => {
            raise::handle_observe(turn, effect, &fault, tree)
        }
        Command::Blame { effect, fault } => raise::handle_blame(turn, effect, fault),
        Command::Reserve { effect, amount } => progress::handle_reserve(turn, effect, amount),
        Command::Mutate { effect, mutation } => mutate::handle_mutate(turn, effect, mutation),
        Command::Report { task, told } => report::handle_report(turn, task, told),
        Command::Answer { question, decision, guidance, by } => {
            answer::handle_answer(turn, question, decision, guidance, by)
        }
        Command::JudgeBase { build, belongs, by } => {
            answer::handle_judge_base(turn, build, belongs, by)
        }
        Command::CheckAgain { question } => settle_action::handle_check_again(turn, question),
        Command::Pause { build } => build::handle_pause(turn, build),
        Command::Resume { build } => build::handle_resume(turn, build),
        Command::Cancel { build } => build::handle_cancel(turn, build),
        Command::Abort { build, fault } => build::handle_abort(turn, build, fault),
        Command::Kick { task } => wait::handle_kick(turn, task),
        Command::KickGate { gate } => wait::handle_kick_gate(turn, gate),
        Command::Retry { task } => task::handle_retry(turn, task),
        Command::Skip { task } => task::handle_skip(turn, task),
        Command::Forget { signature } => {
            let why = Why::from_rule(Rule::PersonAsked);
            turn.emit_with_reason(Event::Forgotten { signature }, why);
            Ok(())
        }
        Command::By { order, wants } => handle_by_person(turn, order, *wants),
        Command::Wake => {
            wait::handle_wake(turn);
            Ok(())
        }
        Command::Recover { task, clean } => {
            recover::handle_recover(turn, task, clean);
            Ok(())
        }
    }
}

/// Carries out a command of a person and records who gave it.
fn handle_by_person(
    turn: &mut Transition<'_>,
    order: CommandIssuer,
    wants: Command,
) -> Result<(), CommandRejection> {
    let CommandIssuer { by, request } = order;
    // A request that was carried out is not carried out again, however often it is sent.
    if let Some(request) = &request
        && let Some(taken) = turn.state.handled_request(&request.key)
    {
        let same = taken.request.said == request.said;
        return same
            .then_some(())
            .ok_or_else(|| CommandRejection::RequestReused(request.key.to_string()));
    }
    let wish = Wish::from_command(&wants);
    handle_command(turn, wants)?;
    // A command that changed nothing leaves no trace.
    if let Some((wish, build, task)) = wish
        && let Some(first) = turn.events().first()
    {
        let build =
            build.or_else(|| first.event.subject_ids().build.filter(|_| wish == Wish::Start));
        turn.emit_event(Event::Ordered { by, wish, build, task, request });
    }
    Ok(())
}
