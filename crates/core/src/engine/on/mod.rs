//! Command handlers, one file per command.

mod abort;
mod answer;
mod blame;
mod by;
mod cancel;
mod check_again;
mod define_job;
mod fire_job;
mod forget;
mod hold_job;
mod judge_base;
mod kick;
mod mutate;
mod note;
mod observe;
mod pause;
mod progress;
mod raise;
mod recover;
mod report;
mod reserve;
mod resume;
mod retry;
mod settle;
mod settle_action;
mod skip;
mod start_build;
mod wake;

use super::command::{Command, CommandRejection};
use super::turn::Transition;

/// Carries out a command, or returns the reason why not without having changed anything.
pub(super) fn handle_command(
    turn: &mut Transition<'_>,
    command: Command,
) -> Result<(), CommandRejection> {
    match command {
        Command::StartBuild { plan, slots, in_place } => {
            start_build::handle_start_build(turn, plan, slots, in_place);
            Ok(())
        }
        Command::DefineJob { spec } => define_job::handle_define_job(turn, spec),
        Command::FireJob { task } => fire_job::handle_fire_job(turn, task),
        Command::JobDue { task } => fire_job::handle_job_due(turn, task),
        Command::HoldJob { task } => hold_job::handle_hold_job(turn, task),
        Command::ReleaseJob { task } => hold_job::handle_release_job(turn, task),
        Command::Settle { effect, outcome, spent } => {
            settle::handle_settle(turn, effect, outcome, spent)
        }
        Command::Progress { effect, report } => progress::handle_progress(turn, effect, report),
        Command::Note { effect, note } => note::handle_note(turn, effect, note),
        Command::Raise { effect, fault } => raise::handle_raise(turn, effect, &fault),
        Command::Observe { effect, fault, tree } => {
            observe::handle_observe(turn, effect, &fault, tree)
        }
        Command::Blame { effect, fault } => blame::handle_blame(turn, effect, fault),
        Command::Reserve { effect, amount } => reserve::handle_reserve(turn, effect, amount),
        Command::Mutate { effect, mutation } => mutate::handle_mutate(turn, effect, mutation),
        Command::Report { task, told } => report::handle_report(turn, task, told),
        Command::Answer { question, decision, guidance, by } => {
            answer::handle_answer(turn, question, decision, guidance, by)
        }
        Command::JudgeBase { build, belongs } => {
            judge_base::handle_judge_base(turn, build, belongs)
        }
        Command::CheckAgain { question } => check_again::handle_check_again(turn, question),
        Command::Pause { build } => pause::handle_pause(turn, build),
        Command::Resume { build } => resume::handle_resume(turn, build),
        Command::Cancel { build } => cancel::handle_cancel(turn, build),
        Command::Abort { build, fault } => abort::handle_abort(turn, build, fault),
        Command::Kick { task } => kick::handle_kick(turn, task),
        Command::KickGate { gate } => kick::handle_kick_gate(turn, gate),
        Command::Retry { task } => retry::handle_retry(turn, task),
        Command::Skip { task } => skip::handle_skip(turn, task),
        Command::Forget { signature } => {
            forget::handle_forget(turn, signature);
            Ok(())
        }
        Command::By { order, wants } => by::handle_by_person(turn, order, *wants),
        Command::Wake => {
            wake::handle_wake(turn);
            Ok(())
        }
        Command::Recover { task, clean } => {
            recover::handle_recover(turn, task, clean);
            Ok(())
        }
    }
}
