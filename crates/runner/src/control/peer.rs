//! Who is at the other end of a connection, and what that process may ask for.
//!
//! The kernel says which process it is, and its ancestors say which run it lives in
//! ([`find_runs_around`]). What lives in an attempt or a repair may report for that one and nothing
//! else, whatever it shows; what lives in anything else that agents can influence may ask for
//! nothing. A script of the person's has the person's rights, and so has every process of the same
//! user that lives in no run.

use std::path::PathBuf;

use rustix::process::{Pid, geteuid};
use tokio::net::UnixStream;
use unstuck_core::engine::{EffectId, RunId, State, TaskId, Work};
use unstuck_core::fault;
use unstuck_world::process::find_runs_around;

use crate::handle::Handle;

/// What a process may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rights {
    /// Everything that the person may.
    Operator,
    /// To report for this effect.
    Only(EffectId),
    /// Nothing.
    Nothing,
}

/// The rights of the process at the other end. One that cannot be looked at has none.
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

/// The narrowest of several. Of two runs the outer one counts: a process can only ever pretend to
/// live in more of them.
fn combine(all: impl Iterator<Item = Rights>) -> Rights {
    all.fold(Rights::Operator, |known, further| match (known, further) {
        (Rights::Nothing, _) | (_, Rights::Nothing) => Rights::Nothing,
        (_, Rights::Only(outer)) => Rights::Only(outer),
        (known, Rights::Operator) => known,
    })
}

/// What the run of a lock file lets its processes ask for.
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

/// The task, and the run where it is one's, that a lock file is named after: `t0-r1.lock`,
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
        let (inner, outer) = (Rights::Only(EffectId(1)), Rights::Only(EffectId(2)));
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
