//! The identity of a connecting process, and its permissions.
//!
//! The kernel identifies the process, and its ancestors show which run it belongs to
//! ([`find_runs_around`]). A process of an attempt or a repair may report for that one only,
//! whatever token it presents; a process of any other run that agents can influence may request
//! nothing. A script of the operator's has the operator's rights, and so does each process of the
//! same user that belongs to no run.

use std::path::PathBuf;

use rustix::process::{Pid, geteuid};
use tokio::net::UnixStream;
use unstuck_core::engine::{Command, EffectId, EffectKind, RunId, RunNote, State, TaskId};
use unstuck_core::fault;
use unstuck_world::process::find_runs_around;

use crate::event_loop::RunnerHandle;

/// The permissions of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerRights {
    /// All that the operator may do.
    Operator,
    /// Reports for this effect.
    Only(EffectId),
    /// No request at all.
    Nothing,
}

/// Returns the rights of the process at the other end. One that cannot be inspected has none.
pub(super) async fn judge_peer(
    stream: &UnixStream,
    runs: PathBuf,
    handle: &RunnerHandle,
) -> PeerRights {
    let Ok(peer) = stream.peer_cred() else { return PeerRights::Nothing };
    let own = geteuid();
    if peer.uid() != own.as_raw() && peer.uid() != 0 {
        return PeerRights::Nothing;
    }
    let Some(process) = peer.pid().and_then(Pid::from_raw) else { return PeerRights::Nothing };
    let found = tokio::task::spawn_blocking(move || find_runs_around(process, &runs)).await;
    let Ok(Ok(locks)) = found else { return PeerRights::Nothing };
    if locks.is_empty() {
        return PeerRights::Operator;
    }
    let judged = handle.read_state(move |state| {
        combine_rights(locks.iter().map(|lock| judge_lock_rights(state, lock)))
    });
    judged.await.unwrap_or(PeerRights::Nothing)
}

/// Returns the narrowest of several rights. Of two runs the outer one counts: a process can only
/// pretend to belong to more of them.
fn combine_rights(all: impl Iterator<Item = PeerRights>) -> PeerRights {
    all.fold(PeerRights::Operator, |known, further| match (known, further) {
        (PeerRights::Nothing, _) | (_, PeerRights::Nothing) => PeerRights::Nothing,
        (_, PeerRights::Only(outer)) => PeerRights::Only(outer),
        (known, PeerRights::Operator) => known,
    })
}

/// Returns the rights that the run of a lock file gives its processes.
fn judge_lock_rights(state: &State, lock: &str) -> PeerRights {
    let Some((task, run)) = parse_lock_name(lock) else { return PeerRights::Nothing };
    let is_script = state.task(task).is_some_and(|task| task.work() == fault::Work::Job);
    let owed = run.and_then(|run| state.run(run)?.owes).and_then(|effect| state.effect(effect));
    match (run, owed.map(|effect| (effect.id, effect.what))) {
        (_, Some((effect, EffectKind::Attempt { .. } | EffectKind::Repair { .. }))) => {
            PeerRights::Only(effect)
        }
        (_, Some((_, EffectKind::Execute { .. }))) | (None, _) if is_script => PeerRights::Operator,
        _ => PeerRights::Nothing,
    }
}

/// Parses the name of a lock file into its task and, for a run's lock, its run: `t0-r1.lock`,
/// `t0-action-….lock`.
fn parse_lock_name(lock: &str) -> Option<(TaskId, Option<RunId>)> {
    let (task, rest) = lock.strip_prefix('t')?.strip_suffix(".lock")?.split_once('-')?;
    let run = rest.strip_prefix('r').and_then(|run| run.parse().ok()).map(RunId);
    Some((TaskId(task.parse().ok()?), run))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_names_its_task_and_its_run() {
        let table = [
            ("t0-r1.lock", Some((TaskId(0), Some(RunId(1))))),
            ("t12-action-0a1b.lock", Some((TaskId(12), None))),
            ("t3-e9-probe.lock", Some((TaskId(3), None))),
            ("base-77.lock", None),
            ("t0.turn", None),
            ("t-r1.lock", None),
        ];
        for (name, read) in table {
            assert_eq!(parse_lock_name(name), read, "{name}");
        }
    }

    #[test]
    fn the_narrowest_rights_and_the_outer_run_count() {
        let inner = PeerRights::Only(EffectId(1));
        let outer = PeerRights::Only(EffectId(2));
        let table = [
            (vec![], PeerRights::Operator),
            (vec![PeerRights::Operator], PeerRights::Operator),
            (vec![inner, PeerRights::Operator], inner),
            (vec![inner, outer], outer),
            (vec![inner, PeerRights::Nothing], PeerRights::Nothing),
            (vec![PeerRights::Nothing, outer], PeerRights::Nothing),
        ];
        for (all, expected) in table {
            assert_eq!(combine_rights(all.clone().into_iter()), expected, "{all:?}");
        }
    }
}
