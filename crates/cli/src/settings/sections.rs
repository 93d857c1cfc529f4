//! The settings, section by section, with their defaults.
//!
//! The comment on each field is its documentation everywhere: in the schema, in the reference of the guide,
//! and in an editor that uses the schema.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_world::egress::HostPattern;

use super::job::{AlertAfter, JobSettings};
use super::notify::NotifySettings;
use super::values::{self, Length, NetworkReach, SpendingCap};

/// Settings of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// Who works on the tasks.
    pub(crate) agent: AgentSettings,
    /// How a build is run.
    pub(crate) run: RunSettings,
    /// Which files agents may change.
    pub(crate) scope: ScopeSettings,
    /// Which commands agents may run, and with what.
    pub(crate) commands: AgentCommandSettings,
    /// What agents, their commands, setup, checks and hooks can read, write and use.
    pub(crate) wall: WallSettings,
    /// What agents may do that cannot be taken back, without asking you.
    pub(crate) actions: ActionSettings,
    /// What is checked before a change goes on.
    pub(crate) validate: ValidateSettings,
    /// Where pull requests are opened.
    pub(crate) github: GithubSettings,
    /// How often to try again before a person is asked.
    pub(crate) retry: RetrySettings,
    /// How long to wait between tries.
    pub(crate) backoff: BackoffSettings,
    /// How long to wait for a limited account.
    pub(crate) wait: WaitSettings,
    /// What may be spent.
    pub(crate) budget: BudgetSettings,
    /// How questions are shown.
    pub(crate) inbox: InboxSettings,
    /// The inbox, the pages and the API.
    pub(crate) server: ServerSettings,
    /// Who is told what happened, by a name of your choice.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) notify: BTreeMap<String, NotifySettings>,
    /// Scripts that are kept alive, and when they run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) job: Vec<JobSettings>,
}

/// The `[agent]` section: the worker of the tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AgentSettings {
    /// Which agent or model. Without it, the first agent program that is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provider: Option<Provider>,
    /// The model. Without it, an agent program's own choice; an API needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Where the service is, when not at its usual place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_url: Option<String>,
    /// Set if the address comes from the project's own settings file.
    #[serde(skip)]
    pub(crate) address_of_project: bool,
    /// The variable that holds the key. Without it, what the agent program itself would take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key_env: Option<String>,
    /// The program, when it is not found on the path under its usual name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<String>,
    /// Further arguments of an agent program, as they are; for Codex each is `key=value`.
    pub(crate) args: Vec<String>,
    /// What an agent program may do by itself.
    pub(crate) permissions: AgentPermissionsSetting,
    /// What an agent program and the commands it runs may reach beside its model's service.
    pub(crate) network: NetworkReach,
    /// The dialect of an OpenAI-compatible service.
    pub(crate) dialect: ApiDialectSetting,
    /// How hard a model thinks, where it can be told: low, medium, high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) effort: Option<String>,
    /// The longest answer of a model behind an API, in tokens.
    pub(crate) output_tokens_max: TokenLimit,
    /// The file of a scripted agent, from the root of the project.
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
    CodexCli,
    /// A model of Anthropic, with our tools.
    AnthropicApi,
    /// A model behind any OpenAI-compatible service, with our tools.
    #[serde(rename = "openai-api")]
    #[value(name = "openai-api")]
    OpenAiApi,
    /// A scripted agent, for trying things out.
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

    /// Returns the provider with this name.
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
    /// Edit files, and run the commands that the settings allow: what `commands.allowed` names, or,
    /// without any, all that is not blocked. Claude Code on a machine that cannot put a whole wall
    /// around it runs only the checks and what is named. What else it would have to ask for is
    /// refused, and becomes a question where the task cannot do without.
    #[default]
    Listed,
    /// Everything, inside the wall that this machine can put around it.
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
    /// How many tasks are worked on side by side.
    pub(crate) jobs: u32,
    /// Rounds of one attempt.
    pub(crate) max_iterations: u32,
    /// Tool calls of one attempt.
    pub(crate) max_tool_calls: u32,
    /// Work in your own tree, which must be clean, instead of worktrees beside it.
    pub(crate) in_place: bool,
    /// Push the build's branch after each task.
    pub(crate) push: bool,
    /// Where it is pushed to.
    pub(crate) remote: String,
    /// Open a pull request for a build that is over, as `unstuck land --pr` does.
    pub(crate) pull_request: bool,
    /// With less room on the disk than this, in megabytes, no attempt begins. Worktrees of tasks that
    /// are done are removed at once.
    pub(crate) disk_free_mb: u64,
    /// Commands that are run once in every new worktree, such as `npm ci`.
    #[serde(deserialize_with = "values::commands")]
    pub(crate) setup: Vec<String>,
    /// What those commands may reach.
    pub(crate) setup_network: NetworkReach,
    /// Paths that worktrees share with your own tree, such as `target` or `.env`.
    pub(crate) share: Vec<String>,
    /// What a check means that is red before a task begins.
    pub(crate) baseline: BaselineSetting,
    /// How long an agent may take until something is heard of it.
    pub(crate) first_sign: Length,
    /// How long an agent may be silent while none of its tools is running.
    pub(crate) idle: Length,
    /// How long one attempt may take.
    pub(crate) attempt: Length,
    /// How long one command may take that we run or that a model asks for.
    pub(crate) command: Length,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            jobs: 1,
            max_iterations: 50,
            max_tool_calls: 150,
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
    /// It has to be green when the work is done. Where nothing fails but what failed before,
    /// you are asked once whether it belongs to the work.
    #[default]
    #[serde(alias = "off")]
    Green,
    /// It passes as long as nothing fails but what failed before, and the report says
    /// so.
    Compare,
}

/// The `[scope]` section: the files that agents may change, as globs from the root of the project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ScopeSettings {
    /// What happens with a change outside the allowed paths.
    pub(crate) mode: ScopeModeSetting,
    /// What may be changed where a task does not say it itself; without any, everything.
    #[serde(deserialize_with = "values::globs")]
    pub(crate) allowed: Vec<String>,
    /// What no task may change.
    #[serde(deserialize_with = "values::globs")]
    pub(crate) forbidden: Vec<String>,
    /// What may be changed only when you say so, beside `unstuck.toml`, `jobs/*.md`, pipelines and hooks:
    /// those are asked about unless `allowed` holds them by that name.
    #[serde(deserialize_with = "values::globs")]
    pub(crate) ask_first: Vec<String>,
}

/// The `scope.mode` setting: the treatment of a change outside the allowed paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ScopeModeSetting {
    /// It is taken back, and kept as a patch.
    #[default]
    Strict,
    /// You are asked.
    Ask,
    /// It is let through; what is forbidden stays forbidden.
    Open,
}

/// The `[commands]` section: the commands that agents may run, and their resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AgentCommandSettings {
    /// What may run; without any, everything that is not blocked.
    pub(crate) allowed: Vec<String>,
    /// What must not run, beside what never may.
    pub(crate) blocked: Vec<String>,
    /// What is taken off the list of destructive commands that never run; the other rules still hold.
    pub(crate) allow_destructive: Vec<String>,
    /// What commands may reach that a model behind an API runs.
    pub(crate) network: NetworkReach,
    /// Variables that commands get beside the usual ones; `*` at the end stands for anything.
    pub(crate) env: Vec<String>,
}

/// The `[wall]` section: the files and resources that the sandboxes of agents, their commands, setup,
/// checks and hooks grant, as far as this machine can enforce it. Paths are relative to the root of the
/// project; `~` is the home folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WallSettings {
    /// What may be written beside the worktree, such as a cache that tasks share.
    pub(crate) writable: Vec<String>,
    /// What may be read although it lies in your home folder and belongs to no toolchain.
    pub(crate) readable: Vec<String>,
    /// Folders of your home folder of which each task has an empty one of its own, such as those that a
    /// package manager downloads to.
    pub(crate) private: Vec<String>,
    /// What can be neither read nor written, beside the usual secrets.
    pub(crate) hidden: Vec<String>,
    /// How many processes and threads an agent, a command or a check may have at a time.
    pub(crate) processes: u64,
    /// How much memory it may use, in megabytes; without it, as much as there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_mb: Option<u64>,
    /// Let agents with `permissions = "everything"` begin on a machine that cannot keep them in.
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
            allow_missing: false,
        }
    }
}

/// The `[actions]` section: irreversible actions that agents may take without an approval question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ActionSettings {
    /// The commands and requests that an agent may declare with `mutate` and that are performed after
    /// the checks without asking: `[[actions.allowed]]` with `command = "./deploy *"` or without one
    /// for requests, `hosts` that it may reach and `secrets` that it may use. Everything else is shown
    /// to you whole, and is performed when you say yes.
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
    /// Who reads them: for `developer` what a question rests on is open below it, for `plain` it is
    /// folded.
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
    /// Where it listens. A server of several projects takes this from the first of them.
    #[schemars(with = "String")]
    pub(crate) bind: SocketAddr,
    /// Addresses under which it is reached from elsewhere, each with its `https://`.
    pub(crate) public: Vec<String>,
    /// All requests come from a proxy that says whom it got them from.
    pub(crate) behind_proxy: bool,
    /// `unstuck run` and `unstuck resume` serve their project while they last.
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
    /// Before a commit.
    #[serde(deserialize_with = "values::commands")]
    pub(crate) pre_commit: Vec<String>,
    /// Before a push.
    #[serde(deserialize_with = "values::commands")]
    pub(crate) pre_push: Vec<String>,
    /// Before a pull request.
    #[serde(deserialize_with = "values::commands")]
    pub(crate) pre_pr: Vec<String>,
    /// How long one check may take.
    pub(crate) timeout: Length,
    /// What checks may reach. What listens on the machine inside a check can be reached by it always.
    pub(crate) network: NetworkReach,
    /// Paths that are restored before a check runs, so that no agent makes a check green by changing
    /// it.
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
    /// The variable that holds the token.
    pub(crate) token_env: String,
    /// Owner and name of the repository, such as `ada/shop`, when the remote's address does not say
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repository: Option<String>,
    /// Where the service is, when it is not GitHub's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_url: Option<String>,
    /// Open them as drafts.
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
    /// Different approaches for one error.
    pub(crate) per_signature: u32,
    /// Repetitions of one operation that fails for a passing reason.
    pub(crate) transient: u32,
    /// A task asks about such an operation only when this much time has passed as well.
    pub(crate) transient_for: Length,
    /// Failures in a row in one task, whatever they are.
    pub(crate) consecutive: u32,
    /// From which failure of an error on the work starts over from its base.
    pub(crate) fresh_start_at: u32,
    /// Open questions at which a build pauses.
    pub(crate) pause_after_questions: u32,
    /// When you hear of a scheduled job that fails for a passing reason. It goes on trying.
    pub(crate) alert_after: AlertAfter,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            per_signature: 3,
            transient: 5,
            transient_for: Length::from_mins(30),
            consecutive: 10,
            fresh_start_at: 2,
            pause_after_questions: 5,
            alert_after: AlertAfter::default(),
        }
    }
}

/// The `[backoff]` section: the waits between retries. Each wait is twice the one before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BackoffSettings {
    /// The first wait.
    pub(crate) base: Length,
    /// The longest wait.
    pub(crate) cap: Length,
    /// How much of chance is added, in percent.
    pub(crate) jitter_percent: u64,
}

impl Default for BackoffSettings {
    fn default() -> Self {
        Self { base: Length::from_secs(1), cap: Length::from_mins(5), jitter_percent: 30 }
    }
}

/// The `[wait]` section: the waits for a limited account before a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WaitSettings {
    /// For rate limits and overload.
    pub(crate) limited: Length,
    /// Usage windows in a row.
    pub(crate) windows: u32,
    /// How often to look when the service does not say when a usage window ends.
    pub(crate) reset_unknown: Length,
}

impl Default for WaitSettings {
    fn default() -> Self {
        Self { limited: Length::from_mins(120), windows: 3, reset_unknown: Length::from_mins(30) }
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
