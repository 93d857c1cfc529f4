//! Actions outside of git: performed and looked up by the call that was recorded with their intent.
//!
//! Actions that agents declared for after the checks are compared with the settings once more
//! before they are performed: a declaration comes over a socket that any process of an agent can
//! use.

use std::collections::BTreeSet;
use std::ffi::OsString;

use unstuck_core::engine::{EffectOutcome, Mutation};
use unstuck_core::fault::{Auth, Fault, Logic, Missing};
use unstuck_core::plan::{Call, CommandCall, MutationSpec, PullRequest};
use unstuck_world::commands::{CommandPolicy, CommandRules};
use unstuck_world::connector::command;
use unstuck_world::egress::{EgressPolicy, ReachSetting};
use unstuck_world::process::{Connections, Launch, ProcessDeadlines, Wall};
use unstuck_world::tool::{
    ActionPermit, ActionReach, DeclarationPolicy, DeclaredPush, command_line, find_changed_code,
    shell_lines,
};
use unstuck_world::workspace::ProjectRepository;

use super::action_fence::ActionFence;
use super::context::BuildContext;
use super::scope_check::join_path_names;
use super::settings::TaskWorker;
use crate::effects::EffectRequest;
use crate::ledger::{IDEMPOTENCY_KEY, idempotency_key, run_probe_command};

/// The setting that names the hosts of an action.
const ALLOWED: ReachSetting = ReachSetting { heading: "[[actions.allowed]]", name: "hosts" };
/// The prefix of a branch's full name.
const BRANCHES: &str = "refs/heads/";
/// Maximum length in bytes of the patch shown with an action that runs changed files. Git names the
/// hashes of the whole contents at its beginning, so that an approval is for exactly these.
const PATCH_BYTES_MAX: usize = 4 * 1_024;

impl BuildContext {
    pub(super) async fn send_call(&self, order: &EffectRequest) -> Result<EffectOutcome, Fault> {
        let (mutation, call) = require_recorded_call(order)?;
        let permitted = self.permit_action(order, mutation).await?;
        match call {
            Call::PullRequest(wanted) => {
                let task = self.task_settings(order)?;
                let workspace = self.open_workspace(order).await?;
                self.run_gate(order, task, &task.gates.pre_pr, &workspace).await?;
                let connector = self.require_connector()?;
                Ok(connector
                    .perform_pull_request(wanted, &pull_request_branch(wanted, order))
                    .await)
            }
            Call::Http(call) => Ok(self
                .require_connector()?
                .perform_request(call, &self.make_idempotency_key(mutation))
                .await),
            Call::Command(wanted) => {
                if let Some(push) = find_declared_push(order, mutation)? {
                    return self.push_as_declared(order, &push).await;
                }
                let (launch, fence) =
                    self.prepare_command_launch(order, mutation, (wanted, &permitted)).await?;
                let keep = |told: &[u8]| self.settings.results.keep_result(told);
                let outcome = command::perform_command(launch, "command", keep).await;
                Ok(self.explain_outcome(order, &fence, outcome).await)
            }
        }
    }

    /// Looks up whether a call got through, preferably by the command that was recorded for it.
    pub(super) async fn probe_call(&self, order: &EffectRequest) -> Result<EffectOutcome, Fault> {
        let (mutation, call) = require_recorded_call(order)?;
        let reach = self.permit_action(order, mutation).await?.probe;
        if let Some(push) = find_declared_push(order, mutation)? {
            return self.probe_declared_push(order, &push).await;
        }
        if let Some(probe) = &mutation.spec.look_up {
            let (launch, fence) = self.prepare_launch(order, mutation, &reach).await?;
            let never = tokio_util::sync::CancellationToken::new();
            let told = run_probe_command(launch, probe, &self.settings.results, &never).await;
            let told = told.unwrap_or(EffectOutcome::CannotTell { said: None });
            return Ok(self.explain_outcome(order, &fence, told).await);
        }
        match call {
            Call::PullRequest(wanted) => {
                let connector = self.require_connector()?;
                Ok(connector.probe_pull_request(wanted, &pull_request_branch(wanted, order)).await)
            }
            Call::Http(call) => Ok(self.require_connector()?.probe_request(call).await),
            Call::Command(_) => Ok(EffectOutcome::CannotTell { said: None }),
        }
    }

    fn make_idempotency_key(&self, mutation: &Mutation) -> String {
        idempotency_key(&self.project_name, mutation)
    }

    /// Returns the launch of a program in the task's worktree, with the key of an action. An action
    /// that an agent declared runs in the sandbox, with the variables of all commands and those
    /// that were allowed. The [`ActionFence`] keeps its connections open until it is dropped.
    async fn prepare_launch(
        &self,
        order: &EffectRequest,
        mutation: &Mutation,
        reach: &ActionReach,
    ) -> Result<(Launch, ActionFence), Fault> {
        let mut shell = self.task_shell(order);
        let workspace = self.open_workspace(order).await?;
        let mut egress = None;
        if is_planned(order, mutation) {
            shell.wall = Wall::default();
        } else {
            let wall = workspace.build_wall(&self.task_environment(order)).with_rules(&shell.wall);
            shell.wall = Wall { network: network_for(reach), ..wall };
            if let ActionReach::Hosts(hosts) = reach
                && !hosts.is_empty()
            {
                let proxies = self.settings.proxies.clone();
                let policy = EgressPolicy::for_hosts(hosts, ALLOWED, proxies);
                (shell, egress) = self.open_shell_with_egress(order, &policy, shell).await?;
            }
        }
        let fence = ActionFence::new(reach, &shell.wall, egress);
        let mut launch = Launch::new(shell.guard, shell.lock, workspace.project_folder(), "");
        launch.inherits_environment = shell.inherits_environment;
        launch.environment = shell.environment;
        launch.wall = shell.wall;
        let key = OsString::from(self.make_idempotency_key(mutation));
        launch.environment.push((IDEMPOTENCY_KEY.into(), Some(key)));
        Ok((launch, fence))
    }

    async fn prepare_command_launch(
        &self,
        order: &EffectRequest,
        mutation: &Mutation,
        (wanted, permitted): (&CommandCall, &ActionPermit),
    ) -> Result<(Launch, ActionFence), Fault> {
        let (mut launch, fence) = self.prepare_launch(order, mutation, &permitted.call).await?;
        launch.program = wanted.program.clone().into();
        launch.arguments = wanted.arguments.iter().map(Into::into).collect();
        launch.deadlines = ProcessDeadlines {
            total: Some(wanted.timeout_ms.into()),
            ..ProcessDeadlines::default()
        };
        let named: BTreeSet<&String> = wanted.variables.iter().chain(&permitted.secrets).collect();
        for variable in named {
            let secret = self.settings.credentials.get(variable).ok_or_else(|| {
                let account = wanted.program.clone();
                let auth = Auth { account, variable: Some(variable.clone()), ..Auth::default() };
                Fault::auth_missing("command", format!("{variable} is not set"), auth)
            })?;
            launch.environment.push((variable.into(), Some(secret.expose().into())));
        }
        Ok((launch, fence))
    }

    /// Returns the access that an action has. An action of the plan is always permitted; one that
    /// an agent declared needs a rule or an approval of the operator.
    async fn permit_action(
        &self,
        order: &EffectRequest,
        mutation: &Mutation,
    ) -> Result<ActionPermit, Fault> {
        let spec = &mutation.spec;
        if is_planned(order, mutation) {
            return Ok(ActionPermit::default());
        }
        let nothing = DeclarationPolicy::default();
        let (rules, declarable) = match &self.task_settings(order)?.worker {
            TaskWorker::Model(worker) => (worker.commands.clone(), &worker.declarable),
            TaskWorker::Agent(_) => {
                let control = self.settings.control.as_ref();
                (CommandRules::default(), control.map_or(&nothing, |control| &control.declarable))
            }
        };
        let approved = self.allowed_commands(order).await;
        let commands = CommandPolicy::new(&rules).with_permitted(approved.clone());
        let changed = self.describe_changed_code(order, spec).await?;
        let permitted = declarable.permit_action(spec, &commands, &approved, changed.as_deref());
        permitted.map_err(|fault| *fault)
    }

    /// Returns the description of changed files that an action runs; `None` if it runs the
    /// project's files unchanged.
    async fn describe_changed_code(
        &self,
        order: &EffectRequest,
        spec: &MutationSpec,
    ) -> Result<Option<String>, Fault> {
        let lines = shell_lines(spec);
        if lines.is_empty() {
            return Ok(None);
        }
        let workspace = self.open_workspace(order).await?;
        let changed = workspace.list_paths_changed_by_build().await?;
        let folder = self.settings.project.folder();
        let run = find_changed_code(workspace.directory(), folder, &lines, &changed);
        if run.is_empty() {
            return Ok(None);
        }
        let patch = workspace.create_build_patch(&run).await?;
        let patch = String::from_utf8_lossy(&patch);
        let cut = patch.floor_char_boundary(PATCH_BYTES_MAX);
        let rest = if cut < patch.len() { "\n(and more)" } else { "" };
        Ok(Some(format!(
            "It runs {}, which this work changed:\n{}{rest}",
            join_path_names(&run),
            &patch[..cut]
        )))
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
fn is_planned(order: &EffectRequest, mutation: &Mutation) -> bool {
    order.task.mutations.iter().any(|planned| **planned == *mutation.spec)
}

/// Returns the push that an agent declared as a command; `None` if the action is no push.
fn find_declared_push(
    order: &EffectRequest,
    mutation: &Mutation,
) -> Result<Option<DeclaredPush>, Fault> {
    if is_planned(order, mutation) {
        return Ok(None);
    }
    let push = command_line(&mutation.spec).and_then(DeclaredPush::parse).transpose();
    let step = Some(mutation.spec.key.clone());
    push.map_err(|why| Fault::logic_bad_input("git.push", why, Logic { step, ..Logic::default() }))
}

/// Returns the action of an order, and its call.
fn require_recorded_call(order: &EffectRequest) -> Result<(&Mutation, &Call), Fault> {
    let kept = order.mutation.as_ref().and_then(|known| Some((known, known.spec.call.as_deref()?)));
    kept.ok_or_else(|| {
        let what = "what the action calls".to_owned();
        Fault::precondition_missing("build", "nothing says what is to be called", Missing { what })
    })
}

/// Returns the branch of a pull request.
fn pull_request_branch(wanted: &PullRequest, order: &EffectRequest) -> String {
    let own = || {
        let branch = ProjectRepository::build_branch(order.build);
        branch.strip_prefix(BRANCHES).unwrap_or(&branch).to_owned()
    };
    wanted.head.clone().unwrap_or_else(own)
}
