//! The settings of a build's repository, of its tasks, and of the agents and models that work on
//! them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::fault::Fault;
use unstuck_core::policy::{BudgetLimits, Policy};
use unstuck_world::agent::{Agent, AttemptLimits};
use unstuck_world::commands::{CommandRules, NetworkIsolation};
use unstuck_world::connector::Credentials;
use unstuck_world::egress::EgressPolicy;
use unstuck_world::git::{CommitAuthor, Oid};
use unstuck_world::model::Model;
use unstuck_world::process::{GuardCommand, Wall};
use unstuck_world::provider::Proxies;
use unstuck_world::provider::prices::Price;
use unstuck_world::redact::Redactor;
use unstuck_world::scope::PathScope;
use unstuck_world::tool::DeclarationPolicy;
use unstuck_world::validate::{BaselineMode, GateChecks, SecretScanner};
use unstuck_world::workspace::ProjectRepository;

use crate::agent::ModelCallLimits;
use crate::control::TokenKey;
use crate::ledger::ResultFiles;

/// The worker of a task.
#[derive(Clone)]
pub enum TaskWorker {
    /// A program with its own loop and tools.
    Agent(Arc<dyn Agent>),
    /// A model behind an API; Unstuck provides the loop and the tools.
    Model(Arc<ModelWorker>),
}

/// A model that works with Unstuck's tools.
#[derive(Clone)]
pub struct ModelWorker {
    /// The model to call.
    pub model: Arc<dyn Model>,
    /// The limits of one model call.
    pub settings: ModelCallLimits,
    /// The commands it may run, and the variables they get.
    pub commands: CommandRules,
    /// The network isolation of its commands, as tried out on this machine.
    pub network: NetworkIsolation,
    /// Network access of its commands if the network is not open to them.
    pub egress: EgressPolicy,
    /// The allowlist of actions that it may declare for after the checks.
    pub declarable: DeclarationPolicy,
    /// The policy, for the texts that name its limits.
    pub policy: Arc<Policy>,
}

impl TaskWorker {
    /// Checks whether the worker could begin. Makes no paid call.
    pub async fn check_ready(&self) -> Result<(), Fault> {
        match self {
            Self::Agent(agent) => agent.check_ready().await,
            Self::Model(worker) => worker.model.check_ready(),
        }
    }
}

impl From<Arc<dyn Agent>> for TaskWorker {
    fn from(agent: Arc<dyn Agent>) -> Self {
        Self::Agent(agent)
    }
}

/// The settings that all tasks of a build share.
#[derive(Clone, Debug)]
pub struct BuildSettings {
    /// The repository.
    pub project: ProjectRepository,
    /// The commit that the build starts from.
    pub start: Oid,
    /// The guard of all programs.
    pub guard: GuardCommand,
    /// The additions of the settings to the sandboxes of agents, commands, setup, checks and hooks.
    pub wall: Wall,
    /// The folder of the runs' lock files.
    pub runs: PathBuf,
    /// Commands that are run once in a new worktree.
    pub setup: Vec<String>,
    /// Network access of the setup commands.
    pub setup_egress: EgressPolicy,
    /// Network access of checks.
    pub check_egress: EgressPolicy,
    /// The proxies of the operator's environment, which Unstuck's own proxies use.
    pub proxies: Proxies,
    /// Paths that worktrees share with the operator's own working tree.
    pub share: Vec<String>,
    /// Set if the work happens in the operator's own working tree.
    pub in_place: bool,
    /// The caps on spending.
    pub budget: BudgetLimits,
    /// Minimum free disk space in bytes for an attempt to begin.
    pub disk_free_bytes_min: u64,
    /// Set if the first attempt reports which parts of the sandbox this machine enforces.
    pub says_walls: bool,
    /// Commands that the settings allow.
    pub allowed: Vec<String>,
    /// Commands that the settings block.
    pub blocked: Vec<String>,
    /// Commands that are removed from the denylist.
    pub unlisted: Vec<String>,
    /// The author of the commits.
    pub person: CommitAuthor,
    /// Maximum duration of one command, except for checks.
    pub command_timeout: Duration,
    /// Maximum duration of one check.
    pub check_timeout: Duration,
    /// The complete environment of agents and checks.
    pub environment: Vec<(OsString, OsString)>,
    /// Names of variables that the operator has set and that neither agents nor checks get.
    pub withheld: Vec<String>,
    /// The redactor for all texts that are recorded or shown.
    pub redactor: Arc<Redactor>,
    /// The scanner for secrets that must not be committed.
    pub secrets: Arc<SecretScanner>,
    /// Credentials that actions name and agents do not get.
    pub credentials: Credentials,
    /// The folder of long results of actions.
    pub results: ResultFiles,
    /// The remote that the build's branch is pushed to.
    pub remote: Option<String>,
    /// Set if a pull request is opened for the build's branch.
    pub pull_request: bool,
    /// The connection of agent programs to the holder; without it they have none.
    pub control: Option<AgentControl>,
    /// The tasks, by their name in the plan.
    pub tasks: BTreeMap<String, TaskSettings>,
}

/// The connection of an agent program to the holder while it works, used by `unstuck mcp`.
#[derive(Clone, Debug)]
pub struct AgentControl {
    /// The control socket.
    pub socket: PathBuf,
    /// The key that its tokens are derived from.
    pub key: TokenKey,
    /// The allowlist of actions that an agent may declare for after the checks.
    pub declarable: DeclarationPolicy,
}

/// The settings of one task.
#[derive(Clone)]
pub struct TaskSettings {
    /// The agent or model that works on it.
    pub worker: TaskWorker,
    /// Network access of an agent program; a model's commands have rules of their own.
    pub egress: EgressPolicy,
    /// The host of the AI service that an agent program calls, if known.
    pub service_host: Option<String>,
    /// The model of an agent program, unless it is the provider's default.
    pub model: Option<String>,
    /// The price of tokens, for an agent program that reports tokens and no money.
    pub price: Option<Price>,
    /// The limits of one attempt of an agent program; the loop around a model follows the policy.
    pub limits: AttemptLimits,
    /// The paths that may be changed.
    pub scope: PathScope,
    /// The checks that the supervisor runs.
    pub gates: TaskGates,
    /// The notes about the task for the agent, in addition to its goal.
    pub brief: String,
}

/// The checks that a task's change has to pass.
#[derive(Clone, Debug)]
pub struct TaskGates {
    /// Checks before the commit, on the head it will land on.
    pub pre_commit: GateChecks,
    /// Checks before the push.
    pub pre_push: GateChecks,
    /// Checks before a pull request is opened.
    pub pre_pr: GateChecks,
    /// The treatment of a check that is red at the base.
    pub baseline: BaselineMode,
}

impl TaskGates {
    /// Returns all gates, in the order in which a change passes them.
    pub(super) const fn all_gates(&self) -> [&GateChecks; 3] {
        [&self.pre_commit, &self.pre_push, &self.pre_pr]
    }
}

impl fmt::Debug for TaskSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskSettings")
            .field("model", &self.model)
            .field("limits", &self.limits)
            .field("scope", &self.scope)
            .field("gates", &self.gates)
            .finish_non_exhaustive()
    }
}
