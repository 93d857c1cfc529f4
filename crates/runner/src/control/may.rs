//! What a process may ask for.

use unstuck_core::engine::{Command, EffectId, Note};

/// Whether it may. With `only` it is a child of that run, and reports for it and nothing else. Answers
/// come through the store, results from whoever performs, time from the clock; that a job is due is
/// said by whoever runs the jobs.
pub(super) fn may(command: &Command, only: Option<EffectId>) -> bool {
    match command {
        // Only the worker that judges the work tells what its checks said.
        Command::Note { note: Note::Checked { .. } | Note::BaseChecked { .. }, .. }
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
            once && only.is_none() && may(wants, None)
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
