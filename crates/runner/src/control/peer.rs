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
use unstuck_core::engine::{EffectId, RunId, State, TaskId, Work};
use unstuck_core::fault;
use unstuck_world::process::find_runs_around;

use crate::handle::Handle;

/// The permissions of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rights {
    /// All that the operator may do.
    Operator,
    /// Reports for this effect.
    Only(EffectId),
    /// No request at all.
    Nothing,
}

/// Returns the rights of the process at the other end. One that cannot be inspected has none.
pub(super) async fn judge_peer(stream: &UnixStream, runs: PathBuf, handle: &Handle) -> Rights {
    let Ok(peer) = stream.peer_cred() else { return Rights::Nothing };
    let own = geteuid();
    if peer.uid() != own.as_raw() && peer.uid() != 0 {
        return Rights::Nothing;
    }
    let Some(process) = peer.pid().and_then(Pid::from_raw) else { return Rights::Nothing };
    let found = tokio::task::spawn_blocking(move || find_runs_around(process, &runs)).await;
    let Ok(Ok(locks)) = found else { return Rights::Nothing };
    if locks.is_empty() {
        return Rights::Operator;
    }
    let judged = handle.look(move |state| combine(locks.iter().map(|lock| judge(state, lock))));
    judged.await.unwrap_or(Rights::Nothing)
}

/// Returns the narrowest of several rights. Of two runs the outer one counts: a process can only
/// pretend to belong to more of them.
fn combine(all: impl Iterator<Item = Rights>) -> Rights {
    all.fold(Rights::Operator, |known, further| match (known, further) {
        (Rights::Nothing, _) | (_, Rights::Nothing) => Rights::Nothing,
        (_, Rights::Only(outer)) => Rights::Only(outer),
        (known, Rights::Operator) => known,
    })
}

/// Returns the rights that the run of a lock file gives its processes.
fn judge(state: &State, lock: &str) -> Rights {
    let Some((task, run)) = read_name(lock) else { return Rights::Nothing };
    let is_script = state.task(task).is_some_and(|task| task.work() == fault::Work::Job);
    let owed = run.and_then(|run| state.run(run)?.owes).and_then(|effect| state.effect(effect));
    match (run, owed.map(|effect| (effect.id, effect.what))) {
        (_, Some((effect, Work::Attempt { .. } | Work::Repair { .. }))) => Rights::Only(effect),
        (_, Some((_, Work::Execute { .. }))) | (None, _) if is_script => Rights::Operator,
        _ => Rights::Nothing,
    }
}

/// Parses the name of a lock file into its task and, for a run's lock, its run: `t0-r1.lock`,
/// `t0-action-….lock`.
fn read_name(lock: &str) -> Option<(TaskId, Option<RunId>)> {
    let (task, rest) = lock.strip_prefix('t')?.strip_suffix(".lock")?.split_once('-')?;
    let run = rest.strip_prefix('r').and_then(|run| run.parse().ok()).map(RunId);
    Some((TaskId(task.parse().ok()?), run))
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
            assert_eq!(read_name(name), read, "{name}");
        }
    }

    #[test]
    fn the_narrowest_rights_and_the_outer_run_count() {
        let inner = Rights::Only(EffectId(1));
        let outer = Rights::Only(EffectId(2));
        let table = [
            (vec![], Rights::Operator),
            (vec![Rights::Operator], Rights::Operator),
            (vec![inner, Rights::Operator], inner),
            (vec![inner, outer], outer),
            (vec![inner, Rights::Nothing], Rights::Nothing),
            (vec![Rights::Nothing, outer], Rights::Nothing),
        ];
        for (all, expected) in table {
            assert_eq!(combine(all.clone().into_iter()), expected, "{all:?}");
        }
    }
}
