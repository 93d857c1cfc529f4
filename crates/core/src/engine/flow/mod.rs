//! Moves work forward: the steps of runs, their actions, gates, and the scheduling of tasks.

mod action;
mod gate;
mod schedule;
mod step;

pub(super) use action::{DECLARED_MAX, probe_action, probe_doubted_action, reconcile_run};
pub(super) use gate::{make_ready, record_successful_call, release_waiters, reopen_gate};
pub(super) use schedule::{resume_build, schedule_builds};
pub(super) use step::{
    continue_after_action, finish_step, handle_failure, move_to_step, reconcile_rest,
};
