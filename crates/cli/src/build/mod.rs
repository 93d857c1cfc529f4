//! Creates the parts that perform a build, from settings and tasks.

mod agents;
mod deciding_paths;
mod preflight;
mod provider;
mod repair;
mod sandbox;
mod settings;
mod task;
mod test_paths;

pub(crate) use preflight::{
    CHECKS, ConcernSeverity, PlannedChecks, PreflightConcern, UncheckedTasks, inspect_project,
    inspect_sandbox, require_no_stops,
};
pub(crate) use provider::{KEYS, WorkerFactory, installed_providers};
pub(crate) use repair::{RepairOptions, repair_settings};
pub(crate) use sandbox::{command_network, wall_rules};
pub(crate) use settings::build_settings;
pub(crate) use task::{complete_task, task_settings};
pub(crate) use test_paths::{TEST_FOLDERS, find_test_globs};
