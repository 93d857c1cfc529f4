//! Permission of a process to submit a command.

use unstuck_core::engine::{Command, EffectId, RunNote};

/// Returns whether a process may submit a command. With `only` it is a child of that run, and may
/// only report for it. Answers come through the store, results from the worker, and time from the
/// clock; the scheduler reports that a job is due.
pub(super) fn is_allowed(command: &Command, only: Option<EffectId>) -> bool {
    match command {
        // Only the worker that judges the work reports the results of its checks.
        Command::Note { note: RunNote::Checked { .. } | RunNote::BaseChecked { .. }, .. }
        | Command::StartBuild { .. }
        | Command::DefineJob { .. }
        | Command::FireJob { .. }
        | Command::JobDue { .. }
        | Command::HoldJob { .. }
        | Command::ReleaseJob { .. }
        | Command::CheckAgain { .. }
        | Command::JudgeBase { .. }
        | Command::Pause { .. }
        | Command::Resume { .. }
        | Command::Cancel { .. }
        | Command::Abort { .. }
        | Command::Kick { .. }
        | Command::KickGate { .. }
        | Command::Retry { .. }
        | Command::Skip { .. }
        | Command::Report { .. }
        | Command::Forget { .. } => only.is_none(),
        Command::By { wants, .. } => {
            let once = !matches!(**wants, Command::By { .. });
            once && only.is_none() && is_allowed(wants, None)
        }
        Command::Progress { effect, .. }
        | Command::Note { effect, .. }
        | Command::Raise { effect, .. }
        | Command::Observe { effect, .. }
        | Command::Blame { effect, .. }
        | Command::Reserve { effect, .. }
        | Command::Mutate { effect, .. } => only.is_none_or(|only| only == *effect),
        Command::Answer { .. }
        | Command::Settle { .. }
        | Command::Wake
        | Command::Recover { .. } => false,
    }
}
