//! Moves work forward: the steps of runs, actions, gates, the scheduling of tasks, and the ends of
//! tasks and builds.

mod build;
mod end;
mod gate;
mod mutate;
mod reconcile;
mod schedule;
mod step;

pub(super) use build::{end_build, end_tasks, hold_build, pause_for_questions, resume_build};
pub(super) use end::{cancel_task, finish_task, finish_task_because, skip_dependants, skip_task};
pub(super) use gate::{record_successful_call, release_waiters, reopen_gate};
pub(super) use mutate::DECLARED_MAX;
pub(super) use reconcile::{
    continue_after_action, count_open_mutations, probe_action, probe_doubted_action,
    reconcile_rest, reconcile_run,
};
pub(super) use schedule::schedule_builds;
pub(super) use step::{finish_step, is_session_run, move_to_step, reach_phase};
