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

pub(crate) use job::{
    FiringBudget, JobName, JobSchedule, JobSettings, JobTimeZone, Phase, RepairMode,
};
pub(crate) use job_files::FOLDER as JOBS_FOLDER;
pub(crate) use keys::settings_schema;
pub(crate) use layer::SettingOrigin;
pub(crate) use notify::NotifySettings;
pub(crate) use options::{MAX_COST, RunOptions, load_with_options, merge_options, stored_options};
pub(crate) use resolve::{
    FILE, ResolvedSettings, SettingFlags, ShownSetting, environment_variable,
};
pub(crate) use sections::{
    AgentPermissionsSetting, AgentSettings, ApiDialectSetting, BaselineSetting, GithubSettings,
    InboxAudienceSetting, Provider, ScopeModeSetting, Settings, WallSettings,
};
pub(crate) use server::ServerSettings;
pub(crate) use units::{Length, Money};
