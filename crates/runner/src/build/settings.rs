//! What a build needs to know about its repository and its tasks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::policy::Budget;
use unstuck_world::agent::Limits;
use unstuck_world::connector::Credentials;
use unstuck_world::egress::EgressPolicy;
use unstuck_world::git::{Oid, Person};
use unstuck_world::process::{Guard, Wall};
use unstuck_world::provider::Proxies;
use unstuck_world::provider::prices::Price;
use unstuck_world::redact::Redactor;
use unstuck_world::scope::Scope;
use unstuck_world::tool::Declarable;
use unstuck_world::validate::{BaselineMode, Checks, Secrets};
use unstuck_world::workspace::Project;

use super::worker::Worker;
use crate::control::TokenKey;
use crate::results::Results;

/// What all tasks of a build share.
#[derive(Clone, Debug)]
pub struct BuildSettings {
    /// The repository.
    pub project: Project,
    /// The commit the build starts from.
    pub start: Oid,
    /// What becomes the guard of every program.
    pub guard: Guard,
    /// What settings add to the walls around agents, commands, setup, checks and hooks.
    pub wall: Wall,
    /// Where lock files of runs are.
    pub runs: PathBuf,
    /// Commands that are run once in a new worktree.
    pub setup: Vec<String>,
    /// What they reach.
    pub setup_egress: EgressPolicy,
    /// What checks reach.
    pub check_egress: EgressPolicy,
    /// The proxies of the person's environment, through which ours go out.
    pub proxies: Proxies,
    /// Paths that worktrees share with the person's own tree.
    pub share: Vec<String>,
    /// The work happens in the person's own tree.
    pub in_place: bool,
    /// What may be spent.
    pub budget: Budget,
    /// With less room on the disk than this, no attempt begins.
    pub disk_free_bytes_min: u64,
    /// Whether the first agent says what this machine really keeps it from.
    pub says_walls: bool,
    /// Commands that the settings allow.
    pub allowed: Vec<String>,
    /// Commands that are taken off the list of what never runs.
    pub unlisted: Vec<String>,
    /// Whose commits they are.
    pub person: Person,
    /// How long one command of ours may take.
    pub command_timeout: Duration,
    /// How long one check may take.
    pub check_timeout: Duration,
    /// What agents and checks find in their environment, whole.
    pub environment: Vec<(OsString, OsString)>,
    /// Names of variables that the person has set and that neither of them gets.
    pub withheld: Vec<String>,
    /// Takes secrets out of everything that is remembered or shown.
    pub redactor: Arc<Redactor>,
    /// What must not be committed.
    pub secrets: Arc<Secrets>,
    /// Secrets that actions name and agents do not get.
    pub credentials: Credentials,
    /// Where long results of actions are kept.
    pub results: Results,
    /// Where the build's branch is pushed to.
    pub remote: Option<String>,
    /// A pull request is opened for the build's branch.
    pub pull_request: bool,
    /// How agents that are programs talk to whoever decides; without it they cannot.
    pub control: Option<Control>,
    /// The tasks, by their name in the plan.
    pub tasks: BTreeMap<String, TaskSettings>,
}

/// How an agent that is a program talks to whoever decides, while it works: with `unstuck mcp`.
#[derive(Clone, Debug)]
pub struct Control {
    /// The control socket.
    pub socket: PathBuf,
    /// What its tokens are made with.
    pub key: TokenKey,
    /// What actions may use that it declares for after the checks.
    pub declarable: Declarable,
}

/// What one task needs.
#[derive(Clone)]
pub struct TaskSettings {
    /// Who works on it.
    pub worker: Worker,
    /// What an agent program reaches; commands of a model keep to their own rules.
    pub egress: EgressPolicy,
    /// The model of an agent program, where it is not the provider's own choice.
    pub model: Option<String>,
    /// What its tokens cost, for an agent program that counts tokens and no money.
    pub price: Option<Price>,
    /// How far one attempt of an agent program may go; the loop around a model keeps to the policy.
    pub limits: Limits,
    /// What may be changed.
    pub scope: Scope,
    /// What is checked, by us.
    pub gates: Gates,
    /// Everything the agent is told about it.
    pub brief: String,
}

/// The checks that a task's change passes on its way out.
#[derive(Clone, Debug)]
pub struct Gates {
    /// Before it is committed, on the head it will land on.
    pub pre_commit: Checks,
    /// Before it is pushed.
    pub pre_push: Checks,
    /// Before a pull request is opened for it.
    pub pre_pr: Checks,
    /// What a check that is red at the base means.
    pub baseline: BaselineMode,
}

impl Gates {
    /// All of them, in the order a change meets them.
    pub(super) const fn all(&self) -> [&Checks; 3] {
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
