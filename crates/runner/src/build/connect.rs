//! Actions outside of git: performed and looked up by what was kept with their intent.

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

/// Where a command that acts finds the key that is the same for every sending of it.
const KEY_VARIABLE: &str = "UNSTUCK_IDEMPOTENCY_KEY";
/// Where the settings name the hosts of an action.
const ALLOWED: ReachSetting = ReachSetting { heading: "[[actions.allowed]]", name: "hosts" };
/// What the full name of a branch begins with.
const BRANCHES: &str = "refs/heads/";

impl Shared {
    /// Sends a call.
    pub(super) async fn call(&self, order: &Order) -> Result<Outcome, Fault> {
        let (mutation, call) = kept(order)?;
        let permitted = self.permit(order, mutation).await?;
        match call {
            Call::PullRequest(wanted) => {
                let (task, workspace) = (self.task(order)?, self.workspace(order).await?);
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

    /// Finds out whether a call got through. The command that was kept for it knows best.
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

    /// A program in the task's worktree that knows the key of an action. What an agent declared runs
    /// behind the wall, with the variables that every command gets and those that were allowed. Its
    /// ways out are open until the second is dropped.
    async fn launch(
        &self,
        order: &Order,
        mutation: &Mutation,
        reach: &ActionReach,
    ) -> Result<(Launch, Option<Egress>), Fault> {
        let (mut shell, workspace) = (self.shell(order), self.workspace(order).await?);
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

/// The network of an action: closed where its rule names no host. Hosts are reached through a proxy.
const fn network_for(reach: &ActionReach) -> Connections {
    match reach {
        ActionReach::Hosts(_) => Connections::Closed(Vec::new()),
        ActionReach::Anything => Connections::Open,
    }
}

/// Whether the plan itself holds this action, and no agent declared it.
pub(super) fn is_planned(order: &Order, mutation: &Mutation) -> bool {
    order.task.mutations.iter().any(|planned| **planned == *mutation.spec)
}

/// The action of an order, and what it calls.
fn kept(order: &Order) -> Result<(&Mutation, &Call), Fault> {
    let kept = order.mutation.as_ref().and_then(|known| Some((known, known.spec.call.as_deref()?)));
    kept.ok_or_else(|| {
        let what = "what the action calls".to_owned();
        Fault::precondition_missing("build", "nothing says what is to be called", Missing { what })
    })
}

/// The branch a pull request comes from.
fn head(wanted: &PullRequest, order: &Order) -> String {
    let own = || {
        let branch = Project::branch(order.build);
        branch.strip_prefix(BRANCHES).unwrap_or(&branch).to_owned()
    };
    wanted.head.clone().unwrap_or_else(own)
}
