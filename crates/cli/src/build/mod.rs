//! Creates the parts that perform a build, from settings and tasks.

mod agents;
mod brief;
mod egress;
mod preflight;
mod repair;
mod secrets;
mod service;
mod settings;
mod task;
mod wall;

pub(crate) use agents::{KEYS, WorkerFactory, installed_providers};
pub(crate) use preflight::{
    CHECKS, ConcernSeverity, PreflightConcern, inspect_project, require_no_stops,
};
pub(crate) use repair::{RepairOptions, repair_settings};
pub(crate) use secrets::{environment_redactor, project_redactor};
pub(crate) use settings::build_settings;
pub(crate) use task::{complete_task, task_settings};
pub(crate) use wall::wall_rules;
