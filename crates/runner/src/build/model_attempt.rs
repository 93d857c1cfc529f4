//! An attempt of a model behind an API, with Unstuck's own loop and tools in the task's worktree.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unstuck_core::fault::{Fault, Timeout};
use unstuck_core::time::Span;
use unstuck_world::agent::AgentEnd;
use unstuck_world::commands::{CommandEnforcement, CommandEnvironment, CommandPolicy};
use unstuck_world::tool::{ToolContext, Toolbox};
use unstuck_world::workspace::Workspace;

use super::assignment::{SupervisorLink, find_variable};
use super::attempt::{AttemptWork, spent_time_fault};
use super::context::BuildContext;
use super::sandbox::AgentNetwork;
use super::settings::{ModelWorker, TaskSettings};
use crate::agent::{self, AgentLoop};
use crate::control::RunSocket;
use crate::effects::EffectRequest;

/// The source of the fault of an attempt that took too long.
const SOURCE: &str = "agent";

impl BuildContext {
    /// Lets the model work. Returns `None` if it was stopped or the run has ended meanwhile.
    pub(super) async fn run_model(
        &self,
        order: &EffectRequest,
        (task, worker): (&TaskSettings, &ModelWorker),
        workspace: &Workspace,
        stop: &CancellationToken,
    ) -> Result<Option<AttemptWork>, Fault> {
        let (tools, _socket) = self.make_toolbox(order, (task, worker), workspace).await?;
        let CommandEnforcement { held, network, .. } = tools.enforced_restrictions();
        let wall = self.agent_sandbox(order, workspace, &self.task_environment(order));
        workspace.note_repository(held, &wall).await?;
        self.remark_sandbox(order, || (held, AgentNetwork::ByCommands(network))).await;
        let around = AgentLoop {
            decider: Arc::clone(&self.decider),
            clock: Arc::clone(&self.clock),
            policy: Arc::clone(&worker.policy),
            model: Arc::clone(&worker.model),
            redactor: Arc::clone(&self.settings.redactor),
            settings: worker.settings,
        };
        let notes = self.compose_notes(order, task);
        let given = agent::AgentLoopInput {
            order,
            notes: &notes,
            tools: &tools,
            workspace,
            kept: self.load_conversation(order).await,
        };
        let limit = self.compute_limits(order, task).await.total;
        let own_stop = stop.child_token();
        let mut is_over = false;
        let attempt = around.run_attempt(given, &own_stop);
        tokio::pin!(attempt);
        let agent::AgentLoopResult { end, actions, spent } = tokio::select! {
            biased;
            result = &mut attempt => result,
            () = tokio::time::sleep(limit) => {
                is_over = true;
                own_stop.cancel();
                attempt.await
            }
        };
        let end = match end {
            agent::AgentLoopEnd::Stopped if is_over && limit < task.limits.total => {
                AgentEnd::Failed(Box::new(spent_time_fault(SOURCE)))
            }
            agent::AgentLoopEnd::Stopped if is_over => {
                AgentEnd::Failed(Box::new(too_long_fault(limit)))
            }
            agent::AgentLoopEnd::Done { summary } => {
                AgentEnd::Finished { said: summary, denials: Vec::new() }
            }
            agent::AgentLoopEnd::Failed(fault) => AgentEnd::Failed(fault),
            agent::AgentLoopEnd::Stopped => return Ok(None),
        };
        Ok(Some(AttemptWork { end, actions, spent, content: None }))
    }

    /// Returns the tools for the task's worktree and scope. Commands get less than agent programs:
    /// only the environment variables on the allowlist.
    async fn make_toolbox(
        &self,
        order: &EffectRequest,
        (task, worker): (&TaskSettings, &ModelWorker),
        workspace: &Workspace,
    ) -> Result<(Toolbox, Option<RunSocket>), Fault> {
        let settings = &self.settings;
        let run = order.effect.run;
        let all = &self.task_environment(order);
        let shims = self.create_shims(order, |shims| {
            let path = find_variable(all, "PATH").unwrap_or_default();
            shims.refusing_mutators(path, |_| false)?.refusing_never(
                path,
                find_variable(all, "HOME"),
                &self.command_denylist(),
            )
        })?;
        let SupervisorLink { variables, socket } = self.open_supervisor_link(order)?;
        let wall = self.agent_sandbox(order, workspace, &[&all[..], &variables[..]].concat());
        let (wall, proxy, egress) = self.open_command_egress(order, worker, wall).await?;
        let way_to_us: Vec<_> =
            variables.into_iter().map(|(name, value)| (name, Some(value))).collect();
        let allowed = self.allowed_commands(order).await;
        let also = &worker.commands.environment;
        let narrowed =
            CommandEnvironment::from_variables(all.iter().cloned(), also, shims.folder());
        let toolbox = Toolbox::new(ToolContext {
            root: workspace.directory().to_owned(),
            folder: settings.project.folder().to_owned(),
            scope: task.scope.clone(),
            commands: CommandPolicy::new(&worker.commands).with_permitted(allowed),
            guard: settings.guard.clone(),
            lock: self.runs.lock_path(order.effect.task, run),
            environment: narrowed
                .with_variables(workspace.build_agent_environment(run).await?)
                .with_variables(way_to_us)
                .with_variables(proxy),
            shims,
            wall,
            network: worker.network,
            egress: egress.map(Arc::new),
            timeout: settings.command_timeout,
            declarable: worker.declarable.clone(),
        });
        Ok((toolbox, socket))
    }
}

/// Returns the fault of an attempt that took longer than `run.attempt`.
fn too_long_fault(limit: Duration) -> Fault {
    let limit = Span::from_millis(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
    let message = format!("it took longer than {limit}");
    let context = Timeout { operation: SOURCE.to_owned(), limit_ms: limit.as_millis() };
    Fault::iteration_timeout(SOURCE, message, context)
}
