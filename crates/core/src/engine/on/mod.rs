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

use super::command::{Command, Rejected};
use super::turn::Turn;

/// Carries out a command, or returns the reason why not without having changed anything.
pub(super) fn handle(turn: &mut Turn<'_>, command: Command) -> Result<(), Rejected> {
    match command {
        Command::StartBuild { plan, slots, in_place } => {
            start_build::on(turn, plan, slots, in_place);
            Ok(())
        }
        Command::DefineJob { spec } => define_job::on(turn, spec),
        Command::FireJob { task } => fire_job::on(turn, task),
        Command::JobDue { task } => fire_job::on_due(turn, task),
        Command::HoldJob { task } => hold_job::on(turn, task),
        Command::ReleaseJob { task } => hold_job::on_release(turn, task),
        Command::Settle { effect, outcome, spent } => settle::on(turn, effect, outcome, spent),
        Command::Progress { effect, report } => progress::on(turn, effect, report),
        Command::Note { effect, note } => note::on(turn, effect, note),
        Command::Raise { effect, fault } => raise::on(turn, effect, &fault),
        Command::Observe { effect, fault, tree } => observe::on(turn, effect, &fault, tree),
        Command::Blame { effect, fault } => blame::on(turn, effect, fault),
        Command::Reserve { effect, amount } => reserve::on(turn, effect, amount),
        Command::Mutate { effect, mutation } => mutate::on(turn, effect, mutation),
        Command::Report { task, told } => report::on(turn, task, told),
        Command::Answer { question, decision, guidance, by } => {
            answer::on(turn, question, decision, guidance, by)
        }
        Command::JudgeBase { build, belongs } => judge_base::on(turn, build, belongs),
        Command::CheckAgain { question } => check_again::on(turn, question),
        Command::Pause { build } => pause::on(turn, build),
        Command::Resume { build } => resume::on(turn, build),
        Command::Cancel { build } => cancel::on(turn, build),
        Command::Abort { build, fault } => abort::on(turn, build, fault),
        Command::Kick { task } => kick::on_task(turn, task),
        Command::KickGate { gate } => kick::on_gate(turn, gate),
        Command::Retry { task } => retry::on(turn, task),
        Command::Skip { task } => skip::on(turn, task),
        Command::Forget { signature } => {
            forget::on(turn, signature);
            Ok(())
        }
        Command::By { order, wants } => by::on(turn, order, *wants),
        Command::Wake => {
            wake::on(turn);
            Ok(())
        }
        Command::Recover { task, clean } => {
            recover::on(turn, task, clean);
            Ok(())
        }
    }
}
