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

pub(crate) use agents::{Agents, KEYS, installed};
pub(crate) use preflight::{CHECKS, Concern, Weight, inspect, refuse};
pub(crate) use repair::{RepairWanted, repair_settings};
pub(crate) use secrets::{environment_redactor, redactor};
pub(crate) use settings::build_settings;
pub(crate) use task::{complete, task_settings};
pub(crate) use wall::wall_rules;
