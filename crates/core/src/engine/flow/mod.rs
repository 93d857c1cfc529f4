//! Moves work forward: the steps of runs, actions, gates, the scheduling of tasks, and the ends of
//! tasks and builds.

mod build;
mod end;
mod gate;
mod mutate;
mod reconcile;
mod schedule;
mod step;

pub(super) use build::{end_build, end_tasks, hold, pause_for_questions, resume};
pub(super) use end::{cancel_task, finish, finish_because, skip, skip_dependants};
pub(super) use gate::{call_succeeded, release, reopen};
pub(super) use mutate::DECLARED_MAX;
pub(super) use reconcile::{
    action_settled, doubt, open_mutations, probe, reconcile, reconcile_rest,
};
pub(super) use schedule::settle;
pub(super) use step::{go, is_session, reach, step_done};
