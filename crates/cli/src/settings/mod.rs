//! Resolves the settings once, from `unstuck.toml`, the user's file, `UNSTUCK_*` variables and options.

mod expand;
mod job;
mod job_files;
mod keys;
mod layer;
mod lists;
mod network;
mod notify;
mod options;
mod policy;
#[cfg(test)]
mod reference;
mod resolve;
mod sections;
mod server;
mod units;
mod wrong;

pub(crate) use job::{Allowed, Job, Name, Phase, RepairMode, When, Zone};
pub(crate) use job_files::FOLDER as JOBS_FOLDER;
pub(crate) use keys::schema;
pub(crate) use layer::Origin;
pub(crate) use notify::Notify;
pub(crate) use options::{MAX_COST, RunOptions, joined_options, kept_options, load_under};
pub(crate) use resolve::{FILE, Flags, Resolved, Shown, variable};
pub(crate) use sections::{
    Agent, Audience, Baseline, Dialect, Github, Mode, Permissions, Provider, Settings, WallSettings,
};
pub(crate) use server::Server;
pub(crate) use units::{Length, Money};
