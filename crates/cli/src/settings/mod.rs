//! Resolves the settings once, from `unstuck.toml`, the user's file, `UNSTUCK_*` variables and options.

mod job;
mod job_files;
mod keys;
mod layer;
mod notify;
mod resolve;
mod secrets;
mod sections;
mod values;
mod wrong;

pub(crate) use job::{
    FiringBudget, JobName, JobSchedule, JobSettings, JobTimeZone, RepairMode, ScriptPhase,
};
pub(crate) use job_files::FOLDER as JOBS_FOLDER;
pub(crate) use keys::settings_schema;
pub(crate) use layer::SettingOrigin;
pub(crate) use notify::NotifySettings;
pub(crate) use resolve::{
    FILE, IN_PLACE, MAX_COST, ResolvedSettings, RunOptions, SettingFlags, ShownSetting,
    environment_variable, load_with_options, merge_options, stored_options,
};
pub(crate) use secrets::{collect_secrets, environment_redactor, settings_redactor};
pub(crate) use sections::{
    AgentPermissionsSetting, ApiDialectSetting, BaselineSetting, GithubSettings,
    InboxAudienceSetting, Provider, ScopeModeSetting, ServerSettings, Settings, WallSettings,
};
pub(crate) use values::{Length, Money, NetworkReach};
