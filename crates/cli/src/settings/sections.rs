//! The settings, section by section, with their defaults.
//!
//! The comment on each field is its documentation everywhere: in the schema, in the reference of the guide,
//! and in an editor that uses the schema.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::policy::{Backoff, RetryLimits, WaitLimits};
use unstuck_world::egress::HostPattern;

use super::job::{AlertAfter, JobSettings};
use super::notify::NotifySettings;
use super::values::{self, Length, NetworkReach, SpendingCap};

/// Settings of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The agent that works on the tasks.
    pub(crate) agent: AgentSettings,
    /// How a build is run.
    pub(crate) run: RunSettings,
    /// The files that agents may change.
    pub(crate) scope: ScopeSettings,
    /// The commands that agents may run, and their environment.
    pub(crate) commands: AgentCommandSettings,
    /// The sandbox: what agents, their commands, setup, checks and hooks can read, write and use.
    pub(crate) wall: WallSettings,
    /// Irreversible actions that agents may perform without asking you.
    pub(crate) actions: ActionSettings,
    /// The checks of a change.
    pub(crate) validate: ValidateSettings,
    /// Pull requests.
    pub(crate) github: GithubSettings,
    /// Number of tries before you are asked.
    pub(crate) retry: RetrySettings,
    /// Delays between tries.
    pub(crate) backoff: BackoffSettings,
    /// Waiting for a limited account.
    pub(crate) wait: WaitSettings,
    /// Limits for what may be spent.
    pub(crate) budget: BudgetSettings,
    /// How questions are shown.
    pub(crate) inbox: InboxSettings,
    /// The inbox, the pages and the API.
    pub(crate) server: ServerSettings,
    /// Notification channels, each with a name of your choice.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) notify: BTreeMap<String, NotifySettings>,
    /// Scripts that are kept alive, and their schedules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) job: Vec<JobSettings>,
}

/// The `[agent]` section: the worker of the tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AgentSettings {
    /// The agent or model. Without it, the first agent program that is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provider: Option<Provider>,
    /// The model. Without it, the default of the agent program; an API needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The address of the service, if it is not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_url: Option<String>,
    /// Set if the address comes from the project's own settings file.
    #[serde(skip)]
    pub(crate) address_of_project: bool,
    /// The environment variable that contains the key. Without it, the agent program's own login or key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key_env: Option<String>,
    /// The program, if it is not in the `PATH` under its usual name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<String>,
    /// Additional arguments for an agent program, passed as they are; for Codex each is `key=value`.
    pub(crate) args: Vec<String>,
    /// The permissions of an agent program.
    pub(crate) permissions: AgentPermissionsSetting,
    /// The network access of an agent program and the commands it runs, besides its model's service.
    pub(crate) network: NetworkReach,
    /// The dialect of an OpenAI-compatible service.
    pub(crate) dialect: ApiDialectSetting,
    /// The reasoning effort of the model, if it has this option: low, medium, high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) effort: Option<String>,
    /// The maximum length of an answer of a model behind an API, in tokens.
    pub(crate) output_tokens_max: TokenLimit,
    /// The file of a scripted agent, relative to the root of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) script: Option<String>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            provider: None,
            model: None,
            base_url: None,
            address_of_project: false,
            key_env: None,
            program: None,
            args: Vec::new(),
            permissions: AgentPermissionsSetting::default(),
            network: NetworkReach::REGISTRIES,
            dialect: ApiDialectSetting::default(),
            effort: None,
            output_tokens_max: TokenLimit::default(),
            script: None,
        }
    }
}

/// Who does the thinking.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Provider {
    /// Claude Code.
    ClaudeCli,
    /// Codex.
    CodexCli,
    /// An Anthropic model, with the tools of Unstuck.
    AnthropicApi,
    /// A model behind any OpenAI-compatible service, with the tools of Unstuck.
    #[serde(rename = "openai-api")]
    #[value(name = "openai-api")]
    OpenAiApi,
    /// A scripted agent, for tests.
    Script,
}

impl Provider {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCli => "claude-cli",
            Self::CodexCli => "codex-cli",
            Self::AnthropicApi => "anthropic-api",
            Self::OpenAiApi => "openai-api",
            Self::Script => "script",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let all =
            [Self::ClaudeCli, Self::CodexCli, Self::AnthropicApi, Self::OpenAiApi, Self::Script];
        all.into_iter().find(|provider| provider.name() == name)
    }
}

/// The `agent.permissions` setting: the permissions of an agent program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AgentPermissionsSetting {
    /// Edit files, and run the commands that the settings allow: those in `commands.allowed`, or, if that is
    /// empty, all that are not blocked. Claude Code on a machine without full sandbox support runs only the
    /// checks and the listed commands. Everything else is denied, and becomes a question if the task cannot
    /// be done without it.
    #[default]
    Listed,
    /// Everything, inside the wall that this machine supports.
    Everything,
}

/// The dialect of an OpenAI-compatible service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ApiDialectSetting {
    /// Chat Completions, which nearly every service speaks.
    #[default]
    Chat,
    Responses,
}

/// A number of tokens that is never nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct TokenLimit(pub(crate) u32);

impl Default for TokenLimit {
    fn default() -> Self {
        Self(8_192)
    }
}

/// The `[run]` section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RunSettings {
    /// Number of tasks worked on at the same time.
    pub(crate) jobs: u32,
    /// Maximum number of rounds of one attempt.
    pub(crate) max_iterations: u32,
    /// Maximum number of tool calls of one attempt.
    pub(crate) max_tool_calls: u32,
    /// Work in your own working tree, which must be clean, instead of separate worktrees.
    pub(crate) in_place: bool,
    /// Push the build's branch after each task.
    pub(crate) push: bool,
    /// The remote to push to.
    pub(crate) remote: String,
    /// Open a pull request for a finished build, as `unstuck land --pr` does.
    pub(crate) pull_request: bool,
    /// The minimum free disk space in megabytes; with less, no attempt starts, and with less than half of it,
    /// agents, commands and checks are ended. Worktrees of tasks that are done are removed at once.
    pub(crate) disk_free_mb: u64,
    /// Commands that run once in every new worktree, such as `npm ci`.
    #[serde(deserialize_with = "values::commands")]
    pub(crate) setup: Vec<String>,
    /// The network access of the setup commands.
    pub(crate) setup_network: NetworkReach,
    /// Paths that worktrees share with your own tree, such as `target` or `.env`.
    pub(crate) share: Vec<String>,
    /// How to treat a check that fails before a task starts.
    pub(crate) baseline: BaselineSetting,
    /// The maximum time until the first output of an agent.
    pub(crate) first_sign: Length,
    /// The maximum time without output of an agent while none of its tools is running.
    pub(crate) idle: Length,
    /// The maximum duration of one attempt.
    pub(crate) attempt: Length,
    /// The maximum duration of one command that Unstuck runs or that a model asks for.
    pub(crate) command: Length,
}

impl Default for RunSettings {
    fn default() -> Self {
        let RetryLimits { iterations, tool_calls, .. } = RetryLimits::default();
        Self {
            jobs: 1,
            max_iterations: iterations,
            max_tool_calls: tool_calls,
            in_place: false,
            push: false,
            remote: "origin".to_owned(),
            pull_request: false,
            disk_free_mb: 1_024,
            setup: Vec::new(),
            setup_network: NetworkReach::REGISTRIES,
            share: Vec::new(),
            baseline: BaselineSetting::default(),
            first_sign: Length::from_mins(2),
            idle: Length::from_mins(10),
            attempt: Length::from_mins(60),
            command: Length::from_mins(10),
        }
    }
}

/// The `run.baseline` setting: the treatment of a check that was red before a task began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BaselineSetting {
    /// It has to pass when the work is done. If only what failed before still fails, you are asked once
    /// whether that belongs to the work.
    #[default]
    #[serde(alias = "off")]
    Green,
    /// It passes if only what failed before still fails, and the report says so.
    Compare,
}

/// The `[scope]` section: the files that agents may change, as globs from the root of the project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ScopeSettings {
    /// What to do with a change outside the allowed paths.
    pub(crate) mode: ScopeModeSetting,
    /// Paths that may be changed if a task does not name its own; if empty, everything.
    #[serde(deserialize_with = "values::globs")]
    pub(crate) allowed: Vec<String>,
    /// Paths that no task may change.
    #[serde(deserialize_with = "values::globs")]
    pub(crate) forbidden: Vec<String>,
    /// Paths whose changes need your approval, in addition to `unstuck.toml`, `jobs/*.md`, pipelines, hooks
    /// and settings of agents and editors, which always do unless `allowed` contains their exact names.
    #[serde(deserialize_with = "values::globs")]
    pub(crate) ask_first: Vec<String>,
}

/// The `scope.mode` setting: the treatment of a change outside the allowed paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ScopeModeSetting {
    /// It is reverted, and kept as a patch.
    #[default]
    Strict,
    /// You are asked.
    Ask,
    /// It is kept; forbidden paths stay forbidden.
    Open,
}

/// The `[commands]` section: the commands that agents may run, and their resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AgentCommandSettings {
    /// Commands that may run; if empty, everything that is not blocked.
    pub(crate) allowed: Vec<String>,
    /// Commands that must not run, in addition to those that never may.
    pub(crate) blocked: Vec<String>,
    /// Exceptions from the list of destructive commands that never run; the other rules still apply.
    pub(crate) allow_destructive: Vec<String>,
    /// The network access of commands that a model behind an API runs.
    pub(crate) network: NetworkReach,
    /// Environment variables that commands get in addition to the usual ones; a `*` at the end matches
    /// anything.
    pub(crate) env: Vec<String>,
}

/// The `[wall]` section: the files and resources that the sandboxes of agents, their commands, setup,
/// checks and hooks grant, as far as this machine can enforce it. Paths are relative to the root of the
/// project; `~` is the home folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WallSettings {
    /// Paths outside the worktree that may be written, such as a shared cache.
    pub(crate) writable: Vec<String>,
    /// Paths in your home folder that may be read although they belong to no toolchain.
    pub(crate) readable: Vec<String>,
    /// Folders in your home folder that each task gets as empty folders of its own, such as the download
    /// folders of package managers.
    pub(crate) private: Vec<String>,
    /// Paths that can be neither read nor written, in addition to the usual secrets.
    pub(crate) hidden: Vec<String>,
    /// The maximum number of processes and threads of an agent, a command or a check.
    pub(crate) processes: u64,
    /// The maximum memory of an agent, a command or a check in megabytes; without it, three quarters of the
    /// machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_mb: Option<u64>,
    /// The maximum size of a file that they write in megabytes.
    pub(crate) file_mb: u64,
    /// Let agents with `permissions = "everything"` start on a machine without full sandbox support.
    pub(crate) allow_missing: bool,
}

impl Default for WallSettings {
    fn default() -> Self {
        Self {
            writable: Vec::new(),
            readable: Vec::new(),
            private: Vec::new(),
            hidden: Vec::new(),
            processes: 16_384,
            memory_mb: None,
            file_mb: 32_768,
            allow_missing: false,
        }
    }
}

/// The `[actions]` section: irreversible actions that agents may take without an approval question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ActionSettings {
    /// Commands and requests that an agent may declare with `mutate` and that are performed after the checks
    /// without asking: `[[actions.allowed]]` with `command = "./deploy *"` or without one for requests,
    /// `hosts` that it may reach and `secrets` that it may use. Every other action is shown to you in full,
    /// and is performed only if you allow it.
    pub(crate) allowed: Vec<AllowedAction>,
}

/// An action that is performed without asking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AllowedAction {
    /// The command as it is typed; `*` stands for any characters that mean nothing special to a shell.
    /// Without a command it is about requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// The hosts that it may reach, at ports 80 and 443 (`api.example`, `*.example.com`) or at another
    /// one (`api.example:8443`, `api.example:*`). Commands reach them through a proxy; a service of
    /// this machine needs its port.
    #[schemars(with = "Vec<String>")]
    pub(crate) hosts: Vec<HostPattern>,
    /// The variables of the secrets that it may use.
    pub(crate) secrets: Vec<String>,
}

/// The `[inbox]` section: the presentation of questions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct InboxSettings {
    /// The readers of questions: for `developer` the evidence is shown below a question, for `plain` it is
    /// folded away.
    pub(crate) audience: InboxAudienceSetting,
}

/// The `inbox.audience` setting: the readers of the questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InboxAudienceSetting {
    /// A reader of commands and their output.
    #[default]
    Developer,
    /// A reader who does not program.
    Plain,
}

/// The inbox, the pages and the API: `unstuck serve`, and `unstuck run` while it lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerSettings {
    /// The address to listen on. A server of several projects uses the setting of the first one.
    #[schemars(with = "String")]
    pub(crate) bind: SocketAddr,
    /// Public addresses of the server, each with `https://`.
    pub(crate) public: Vec<String>,
    /// Trust the client addresses that the proxy in front of the server reports.
    pub(crate) behind_proxy: bool,
    /// `unstuck run` and `unstuck resume` serve their project while they run.
    pub(crate) during_run: bool,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            bind: (Ipv4Addr::LOCALHOST, 7424).into(),
            public: Vec::new(),
            behind_proxy: false,
            during_run: true,
        }
    }
}

/// The `[validate]` section: the checks of a change. Unstuck runs them, whatever the agent states about its
/// work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ValidateSettings {
    /// Checks before a commit.
    #[serde(deserialize_with = "values::commands")]
    pub(crate) pre_commit: Vec<String>,
    /// Checks before a push.
    #[serde(deserialize_with = "values::commands")]
    pub(crate) pre_push: Vec<String>,
    /// Checks before a pull request.
    #[serde(deserialize_with = "values::commands")]
    pub(crate) pre_pr: Vec<String>,
    /// The maximum duration of one check.
    pub(crate) timeout: Length,
    /// The network access of checks. A check can always reach the services that it starts itself.
    pub(crate) network: NetworkReach,
    /// Paths that are restored before a check runs, so that no agent makes a check pass by changing it.
    #[serde(deserialize_with = "values::globs")]
    pub(crate) protect: Vec<String>,
}

impl Default for ValidateSettings {
    fn default() -> Self {
        Self {
            pre_commit: Vec::new(),
            pre_push: Vec::new(),
            pre_pr: Vec::new(),
            timeout: Length::from_mins(10),
            network: NetworkReach::default(),
            protect: Vec::new(),
        }
    }
}

/// The `[github]` section: pull requests at GitHub or a compatible service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GithubSettings {
    /// The environment variable that contains the token.
    pub(crate) token_env: String,
    /// Owner and name of the repository, such as `ada/shop`, if the address of the remote does not contain
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repository: Option<String>,
    /// The address of the service, if it is not GitHub's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_url: Option<String>,
    /// Open pull requests as drafts.
    pub(crate) draft: bool,
}

impl Default for GithubSettings {
    fn default() -> Self {
        Self {
            token_env: "GITHUB_TOKEN".to_owned(),
            repository: None,
            base_url: None,
            draft: false,
        }
    }
}

/// The `[retry]` section: the limits of retries before a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetrySettings {
    /// Number of different approaches for one error. After them there is one last try.
    pub(crate) per_signature: u32,
    /// Number of retries of one operation that fails for a temporary reason.
    pub(crate) transient: u32,
    /// The minimum time for which such an operation has to fail before its task asks you.
    pub(crate) transient_for: Length,
    /// Failures of any kind in a row in one task.
    pub(crate) consecutive: u32,
    /// The number of failures with the same error after which the work starts over from its base.
    pub(crate) fresh_start_at: u32,
    /// Number of open questions at which a build pauses.
    pub(crate) pause_after_questions: u32,
    /// When you hear of a scheduled job that fails for a passing reason. It goes on trying.
    pub(crate) alert_after: AlertAfter,
}

impl Default for RetrySettings {
    fn default() -> Self {
        let limits = RetryLimits::default();
        Self {
            per_signature: limits.per_signature,
            transient: limits.transient,
            transient_for: Length(limits.transient_for_ms),
            consecutive: limits.consecutive,
            fresh_start_at: limits.fresh_start_at,
            pause_after_questions: limits.pause_after_questions,
            alert_after: AlertAfter::default(),
        }
    }
}

/// The `[backoff]` section: the waits between retries. Each wait is twice the one before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BackoffSettings {
    /// The first delay.
    pub(crate) base: Length,
    /// The maximum delay.
    pub(crate) cap: Length,
    /// The random part of a delay, in percent.
    pub(crate) jitter_percent: u64,
}

impl Default for BackoffSettings {
    fn default() -> Self {
        let Backoff { base_ms, cap_ms, jitter_percent, .. } = Backoff::default();
        Self { base: Length(base_ms), cap: Length(cap_ms), jitter_percent }
    }
}

/// The `[wait]` section: the waits for a limited account before a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WaitSettings {
    /// The maximum wait for rate limits and overload.
    pub(crate) limited: Length,
    /// How many resets of the plan to wait for, one after another.
    pub(crate) windows: u32,
    /// The interval between tries if the service does not say when a usage window ends.
    pub(crate) reset_unknown: Length,
}

impl Default for WaitSettings {
    fn default() -> Self {
        let WaitLimits { limited_ms, windows, reset_unknown_ms, .. } = WaitLimits::default();
        Self { limited: Length(limited_ms), windows, reset_unknown: Length(reset_unknown_ms) }
    }
}

/// The `[budget]` section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_field_names, reason = "they are written like this in the file")]
pub(crate) struct BudgetSettings {
    /// By one task.
    pub(crate) per_task: SpendingCap,
    /// By one build.
    pub(crate) per_build: SpendingCap,
    /// By the project in one day.
    pub(crate) per_day: SpendingCap,
}
