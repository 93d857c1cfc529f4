//! The worktree of a task: its disk space, preparation, setup commands and removal.
//!
//! If a setup command fails in a new worktree, no agent can fix it, so the operator is asked before
//! money is spent. If one fails with the work, because the work changed the files it installs from,
//! that is a red check.

use std::path::Path;

use unstuck_core::engine::{BuildId, RunId, Start, TaskState};
use unstuck_core::fault::{Class, Code, Fault, Kind, Missing, Tool, Validation};
use unstuck_core::text::brief::render_size;
use unstuck_core::text::span_words;
use unstuck_core::time::{Span, Time};
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;
use unstuck_world::git::Oid;
use unstuck_world::scope::PathVerdict;
use unstuck_world::workspace::{
    ProjectRepository, RemovalOutcome, Workspace, WorkspaceKey, WorkspacePreparation,
};

use super::context::BuildContext;
use super::egress::explain_refused_hosts;
use super::settings::TaskSettings;
use super::wording::collect_task_words;
use crate::effects::EffectRequest;

/// The source of a setup command's fault that the work caused.
const SOURCE: &str = "validate:setup";
/// The remark below the output of such a command.
const RUN_AGAIN: &str = "[This is run.setup, which runs again before the checks because the work changed a \
    file that says which packages there are. Before that change it succeeded.]";

impl BuildContext {
    pub(super) async fn prepare_worktree(
        &self,
        order: &EffectRequest,
        start: Start,
    ) -> Result<Workspace, Fault> {
        self.prepare_worktree_at(order, start, self.target_head(order).await?).await
    }

    /// Prepares the worktree for an attempt that starts from the commit `head`.
    pub(super) async fn prepare_worktree_at(
        &self,
        order: &EffectRequest,
        start: Start,
        head: Oid,
    ) -> Result<Workspace, Fault> {
        let settings = &self.settings;
        if settings.in_place {
            let kept = (&*self.store, self.project_name.as_str());
            save_left_out_work(&settings.project, kept, order.build, self.clock.now()).await?;
        }
        let wanted = WorkspacePreparation {
            place: Self::task_place(order),
            run: order.effect.run,
            start,
            head,
            share: settings.share.clone(),
            setup: settings.setup.clone(),
            in_place: settings.in_place,
            now: self.clock.now(),
        };
        let shell = self.task_shell(order);
        let (shell, egress) =
            self.open_shell_with_egress(order, &settings.setup_egress, shell).await?;
        let prepared = Workspace::prepare(&settings.project, &wanted, &shell).await;
        let workspace = prepared.map_err(|fault| {
            let fault = explain_refused_hosts(fault, egress.as_ref());
            ask_about_setup(fault, &settings.setup)
        })?;
        workspace
            .note_named_paths(&self.task_settings(order)?.scope, &collect_task_words(order))?;
        Ok(workspace)
    }

    /// Makes landed work the base of the next attempt. Work that was refused after it landed, by a
    /// check before the push for example, is part of the build.
    pub(super) async fn adopt_landed_work(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let made = workspace.find_commit_made().await?;
        if made == workspace.resolve_base().await? {
            return Ok(());
        }
        let head = self.target_head(order).await?;
        if self.settings.project.git().is_ancestor(&made, &head).await? {
            workspace.integrate_onto(&made, order.effect.run, self.clock.now()).await?;
        }
        Ok(())
    }

    /// Runs setup again before the checks if the work changed the files it installs from: setup
    /// reaches the registries, and checks do not.
    pub(super) async fn rerun_setup(
        &self,
        order: &EffectRequest,
        task: &TaskSettings,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let commands = &self.settings.setup;
        if commands.is_empty() {
            return Ok(());
        }
        let shell = self.task_shell(order);
        let (shell, egress) =
            self.open_shell_with_egress(order, &self.settings.setup_egress, shell).await?;
        let may_change = |path: &Path| task.scope.judge_path(path) == PathVerdict::Inside;
        match Box::pin(workspace.repeat_setup(commands, may_change, &shell)).await {
            Ok(false) => Ok(()),
            Ok(true) => {
                let commands = commands.join(" && ");
                let text = format!("I ran `{commands}` again, because the packages have changed.");
                self.send_remark(order, &text).await;
                Ok(())
            }
            Err(fault) => {
                let fault = explain_refused_hosts(fault, egress.as_ref());
                Err(if is_stopped_by_sandbox(&fault) {
                    ask_about_setup(fault, commands)
                } else {
                    blame_work(fault, commands)
                })
            }
        }
    }

    /// Requires enough disk space for another worktree.
    pub(super) fn require_disk_space(&self) -> Result<(), Fault> {
        let root = self.settings.project.root();
        let wanted = self.settings.disk_free_bytes_min;
        let disk = match rustix::fs::statvfs(root) {
            Ok(disk) => disk,
            Err(error) => {
                tracing::warn!(%error, "the free disk space is not known");
                return Ok(());
            }
        };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free >= wanted {
            return Ok(());
        }
        let message = format!(
            "{} are free at {}, and run.disk_free_mb asks for {}",
            render_size(free),
            root.display(),
            render_size(wanted)
        );
        Err(Fault::env_disk_full("workspace", message, Tool::default()))
    }

    /// Removes the worktree of a task that has landed. One with unsaved content stays.
    pub(super) async fn remove_landed_worktree(&self, order: &EffectRequest) {
        let removed = match self.open_workspace(order).await {
            Ok(workspace) => workspace.remove_worktree(order.effect.run).await,
            Err(fault) => Err(fault),
        };
        match removed {
            Ok(RemovalOutcome::Gone) => {}
            Ok(RemovalOutcome::Kept(why)) => tracing::debug!(?why, "a worktree stays"),
            // The work is done; the rest is cleaned up later.
            Err(fault) => tracing::debug!(%fault, "a worktree could not be removed"),
        }
    }
}

/// Turns the failure of a setup command that the work caused into a red check. A fault that passes
/// by itself stays unchanged.
fn blame_work(fault: Fault, commands: &[String]) -> Fault {
    let is_of_work = fault.class() == Class::CodeError
        || matches!(
            fault.code(),
            Code::ToolMissing | Code::ToolCrash | Code::ToolAccessDenied | Code::OperationTimeout
        );
    if !fault.is_setup_failure() || !is_of_work {
        return fault;
    }
    let command = find_setup_command(&fault, commands);
    let message = format!("{command} {}", describe_command_end(&fault.kind));
    let output = format!("{}\n{RUN_AGAIN}", fault.message.trim_end());
    let context = Validation { command, exit: None, output };
    Fault::validation_pre_commit(SOURCE, message, context)
}

/// Returns the setup command that a fault is about, or the fault's source if it names none.
fn find_setup_command(fault: &Fault, commands: &[String]) -> String {
    let number = fault.source.rsplit_once('#').and_then(|(_, number)| number.parse::<usize>().ok());
    let command = number.and_then(|number| commands.get(number.checked_sub(1)?));
    command.unwrap_or(&fault.source).clone()
}

/// Turns the failure of a setup command into a question to the operator. A fault that passes by
/// itself, or has a question of its own, stays unchanged; what the sandbox refused does not pass.
fn ask_about_setup(fault: Fault, commands: &[String]) -> Fault {
    let code = fault.code();
    let stays = !is_stopped_by_sandbox(&fault)
        && fault.class() != Class::CodeError
        && !matches!(code, Code::ToolCrash | Code::OperationTimeout | Code::ToolAccessDenied);
    if !fault.is_setup_failure() || stays {
        return fault;
    }
    let context = Missing { what: find_setup_command(&fault, commands) };
    let ended = fault.cause.unwrap_or_else(|| describe_command_end(&fault.kind));
    Fault::precondition_missing(fault.source, fault.message, context).with_cause(ended)
}

/// Returns whether the sandbox stopped a setup command; the cause of the fault then says from what.
fn is_stopped_by_sandbox(fault: &Fault) -> bool {
    fault.is_setup_failure() && fault.cause.is_some()
}

/// Describes the end of a command, to be put after its name.
fn describe_command_end(kind: &Kind) -> String {
    let exit = match kind {
        Kind::ToolMissing(tool) | Kind::ToolConfig(tool) | Kind::ToolAccessDenied(tool) => {
            tool.exit
        }
        Kind::LogicError(logic) | Kind::LogicBadInput(logic) => logic.exit,
        Kind::ToolCrash(crash) => crash.exit,
        Kind::OperationTimeout(of) => {
            let span = span_words(Span::from_millis(of.limit_ms));
            return format!("did not end within {span} (“run.command” sets this limit)");
        }
        _ => None,
    };
    exit.map_or_else(|| "did not succeed".to_owned(), |exit| format!("ended with {exit}"))
}

/// Saves and removes the work of tasks that ended without being done from the operator's own
/// working tree. Returns these tasks, with the runs whose attempts keep the work.
pub async fn save_left_out_work(
    project: &ProjectRepository,
    (store, name): (&dyn Store, &str),
    build: BuildId,
    now: Time,
) -> Result<Vec<(TaskRow, RunId)>, Fault> {
    let tasks = match store.load_build_tasks(name, build).await {
        Ok(tasks) => tasks,
        Err(error) => {
            tracing::warn!(%error, "what was left out cannot be known");
            return Ok(Vec::new());
        }
    };
    let mut taken = Vec::new();
    for task in tasks {
        let is_left_out = task.moved.state.has_ended() && task.moved.state != TaskState::Done;
        let Some(run) = task.moved.last_run.filter(|_| is_left_out) else { continue };
        let place = WorkspaceKey { build, task: task.id };
        let saved = Workspace::withdraw_skipped_work(project, place, run, now).await?;
        taken.extend(saved.map(|_| (task, run)));
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Logic;

    use super::*;

    // B31: a setup that fails with the work goes back to the agent, an outage does not
    #[test]
    fn a_setup_that_fails_with_the_work_is_a_red_check() {
        let commands = ["true".to_owned(), "npm ci".to_owned()];
        let logic = Logic { exit: Some(1), ..Logic::default() };
        let red = blame_work(Fault::logic_error("setup#2", "not in sync", logic), &commands);
        let Kind::ValidationPreCommit(of) = &red.kind else { panic!("{red:?}") };
        assert_eq!((of.command.as_str(), red.message.as_str()), ("npm ci", "npm ci ended with 1"));
        assert!(of.output.starts_with("not in sync\n[This is run.setup"), "{}", of.output);
        let outage = Fault::env_registry("setup#2", "503", Tool::default());
        assert_eq!(blame_work(outage.clone(), &commands), outage);
    }
}
