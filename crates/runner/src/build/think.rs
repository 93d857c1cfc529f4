//! An attempt of a model behind an API, with Unstuck's own loop and tools in the task's worktree.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_core::fault::Fault;
use unstuck_world::agent::End;
use unstuck_world::commands::{Commands, Enforced, Environment};
use unstuck_world::tool::{Means, Toolbox};
use unstuck_world::workspace::Workspace;

use super::attempt::{WayToUs, Worked, path_of};
use super::settings::TaskSettings;
use super::walls::Reached;
use super::worker::ModelWorker;
use super::world::Shared;
use crate::agent::{self, AgentLoop};
use crate::control::RunSocket;
use crate::world::Order;

impl Shared {
    /// Lets the model work. Returns `None` if it was stopped or the run has ended meanwhile.
    pub(super) async fn let_think(
        &self,
        order: &Order,
        (task, worker): (&TaskSettings, &ModelWorker),
        workspace: &Workspace,
        stop: &CancellationToken,
    ) -> Result<Option<Worked>, Fault> {
        let (tools, _socket) = self.toolbox(order, (task, worker), workspace).await?;
        let Enforced { held, network, .. } = tools.enforced();
        self.tell_walls(order, || (held, Reached::ByCommands(network))).await;
        let around = AgentLoop {
            decider: Arc::clone(&self.decider),
            clock: Arc::clone(&self.clock),
            policy: Arc::clone(&worker.policy),
            model: Arc::clone(&worker.model),
            redactor: Arc::clone(&self.settings.redactor),
            settings: worker.settings,
        };
        let notes = self.notes(order, task);
        let given = agent::Assignment {
            order,
            notes: &notes,
            tools: &tools,
            workspace,
            kept: self.kept(order).await,
        };
        let agent::Finished { end, actions, spent } = around.work(given, stop).await;
        let end = match end {
            agent::End::Done { summary } => End::Finished { said: summary, denials: Vec::new() },
            agent::End::Failed(fault) => End::Failed(fault),
            agent::End::Stopped => return Ok(None),
        };
        Ok(Some(Worked { end, actions, spent, held, content: None }))
    }

    /// Returns the tools for the task's worktree and scope. Commands get less than agent programs:
    /// only the environment variables on the allowlist.
    async fn toolbox(
        &self,
        order: &Order,
        (task, worker): (&TaskSettings, &ModelWorker),
        workspace: &Workspace,
    ) -> Result<(Toolbox, Option<RunSocket>), Fault> {
        let settings = &self.settings;
        let run = order.effect.run;
        let all = &self.environment(order);
        let shims = self.shims(order, |shims| {
            let path = path_of(all);
            shims.refusing_mutators(path, |_| false)?.refusing_never(path, &self.never_run())
        })?;
        let WayToUs { variables, socket } = self.way_to_us(order)?;
        let wall = self.wall(order, workspace, &[&all[..], &variables[..]].concat());
        let (wall, proxy, egress) = self.open_for_commands(order, worker, wall).await?;
        let way_to_us: Vec<_> =
            variables.into_iter().map(|(name, value)| (name, Some(value))).collect();
        let allowed = self.allowed_commands(order).await;
        let also = &worker.commands.environment;
        let narrowed = Environment::narrowed(all.iter().cloned(), also, shims.folder());
        let toolbox = Toolbox::new(Means {
            root: workspace.directory().to_owned(),
            scope: task.scope.clone(),
            commands: Commands::new(&worker.commands).permitting(allowed),
            guard: settings.guard.clone(),
            lock: self.runs.lock_path(order.effect.task, run),
            environment: narrowed
                .with(workspace.environment(run).await?)
                .with(way_to_us)
                .with(proxy),
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
