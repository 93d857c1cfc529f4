//! Actions outside of git: performed and looked up by the call that was recorded with their intent.

use std::collections::BTreeSet;
use std::ffi::OsString;

use unstuck_core::engine::{Mutation, Outcome};
use unstuck_core::fault::{Auth, Fault, Missing};
use unstuck_core::plan::{Call, CommandCall, PullRequest};
use unstuck_world::connector::command;
use unstuck_world::egress::{Egress, EgressPolicy, ReachSetting};
use unstuck_world::process::{Connections, Deadlines, Launch, Wall};
use unstuck_world::tool::{ActionReach, Permitted};
use unstuck_world::workspace::Project;

use super::world::Shared;
use crate::probe::{idempotency_key, look_up};
use crate::world::Order;

/// The environment variable with the idempotency key, for a command that acts.
const KEY_VARIABLE: &str = "UNSTUCK_IDEMPOTENCY_KEY";
/// The setting that names the hosts of an action.
const ALLOWED: ReachSetting = ReachSetting { heading: "[[actions.allowed]]", name: "hosts" };
/// The prefix of a branch's full name.
const BRANCHES: &str = "refs/heads/";

impl Shared {
    /// Sends a call.
    pub(super) async fn call(&self, order: &Order) -> Result<Outcome, Fault> {
        let (mutation, call) = kept(order)?;
        let permitted = self.permit(order, mutation).await?;
        match call {
            Call::PullRequest(wanted) => {
                let task = self.task(order)?;
                let workspace = self.workspace(order).await?;
                self.pass(order, task, &task.gates.pre_pr, &workspace).await?;
                let connector = self.connector()?;
                Ok(connector.open_pull_request(wanted, &head(wanted, order)).await)
            }
            Call::Http(call) => Ok(self.connector()?.request(call, &self.key(mutation)).await),
            Call::Command(wanted) => {
                let (launch, _egress) =
                    self.launch_of(order, mutation, (wanted, &permitted)).await?;
                let results = &self.settings.results;
                Ok(command::perform(launch, "command", |told| results.keep(told)).await)
            }
        }
    }

    /// Looks up whether a call got through, preferably by the command that was recorded for it.
    pub(super) async fn look_up_call(&self, order: &Order) -> Result<Outcome, Fault> {
        let (mutation, call) = kept(order)?;
        let reach = self.permit(order, mutation).await?.probe;
        if let Some(probe) = &mutation.spec.look_up {
            let (launch, _egress) = self.launch(order, mutation, &reach).await?;
            let never = tokio_util::sync::CancellationToken::new();
            let told = look_up(launch, probe, &self.settings.results, &never).await;
            return Ok(told.unwrap_or(Outcome::CannotTell { said: None }));
        }
        match call {
            Call::PullRequest(wanted) => {
                let connector = self.connector()?;
                Ok(connector.look_up_pull_request(wanted, &head(wanted, order)).await)
            }
            Call::Http(call) => Ok(self.connector()?.look_up_request(call).await),
            Call::Command(_) => Ok(Outcome::CannotTell { said: None }),
        }
    }

    fn key(&self, mutation: &Mutation) -> String {
        idempotency_key(&self.project_name, mutation)
    }

    /// Returns the launch of a program in the task's worktree, with the key of an action. An action
    /// that an agent declared runs in the sandbox, with the variables of all commands and those
    /// that were allowed. The [`Egress`] keeps its connections open until it is dropped.
    async fn launch(
        &self,
        order: &Order,
        mutation: &Mutation,
        reach: &ActionReach,
    ) -> Result<(Launch, Option<Egress>), Fault> {
        let mut shell = self.shell(order);
        let workspace = self.workspace(order).await?;
        let mut egress = None;
        if is_planned(order, mutation) {
            shell.wall = Wall::default();
        } else {
            let wall = workspace.wall(&self.environment(order)).with(&shell.wall);
            shell.wall = Wall { network: network_for(reach), ..wall };
            if let ActionReach::Hosts(hosts) = reach
                && !hosts.is_empty()
            {
                let proxies = self.settings.proxies.clone();
                let policy = EgressPolicy::to_hosts(hosts, ALLOWED, proxies);
                (shell, egress) = self.shell_reaching(order, &policy, shell).await?;
            }
        }
        let mut launch = Launch::new(shell.guard, shell.lock, workspace.directory(), "");
        launch.inherits_environment = shell.inherits_environment;
        launch.environment = shell.environment;
        launch.wall = shell.wall;
        let key = OsString::from(self.key(mutation));
        launch.environment.push((KEY_VARIABLE.into(), Some(key)));
        Ok((launch, egress))
    }

    async fn launch_of(
        &self,
        order: &Order,
        mutation: &Mutation,
        (wanted, permitted): (&CommandCall, &Permitted),
    ) -> Result<(Launch, Option<Egress>), Fault> {
        let (mut launch, egress) = self.launch(order, mutation, &permitted.call).await?;
        launch.program = wanted.program.clone().into();
        launch.arguments = wanted.arguments.iter().map(Into::into).collect();
        launch.deadlines =
            Deadlines { total: Some(wanted.timeout_ms.into()), ..Deadlines::default() };
        let named: BTreeSet<&String> = wanted.variables.iter().chain(&permitted.secrets).collect();
        for variable in named {
            let secret = self.settings.credentials.get(variable).ok_or_else(|| {
                let account = wanted.program.clone();
                let auth = Auth { account, variable: Some(variable.clone()), ..Auth::default() };
                Fault::auth_missing("command", format!("{variable} is not set"), auth)
            })?;
            launch.environment.push((variable.into(), Some(secret.expose().into())));
        }
        Ok((launch, egress))
    }
}

/// Returns the network of an action: closed unless its rule allows all. Named hosts are reached
/// through a proxy.
const fn network_for(reach: &ActionReach) -> Connections {
    match reach {
        ActionReach::Hosts(_) => Connections::Closed(Vec::new()),
        ActionReach::Anything => Connections::Open,
    }
}

/// Returns whether the action is part of the plan rather than declared by an agent.
pub(super) fn is_planned(order: &Order, mutation: &Mutation) -> bool {
    order.task.mutations.iter().any(|planned| **planned == *mutation.spec)
}

/// Returns the action of an order, and its call.
fn kept(order: &Order) -> Result<(&Mutation, &Call), Fault> {
    let kept = order.mutation.as_ref().and_then(|known| Some((known, known.spec.call.as_deref()?)));
    kept.ok_or_else(|| {
        let what = "what the action calls".to_owned();
        Fault::precondition_missing("build", "nothing says what is to be called", Missing { what })
    })
}

/// Returns the branch of a pull request.
fn head(wanted: &PullRequest, order: &Order) -> String {
    let own = || {
        let branch = Project::branch(order.build);
        branch.strip_prefix(BRANCHES).unwrap_or(&branch).to_owned()
    };
    wanted.head.clone().unwrap_or_else(own)
}
