//! Setup commands. If one fails in a new worktree, no agent can fix it, so the operator is asked
//! before money is spent. If one fails with the work, because the work changed the files it
//! installs from, that is a red check.

use std::path::Path;

use unstuck_core::fault::{Class, Code, Fault, Kind, Missing, Validation};
use unstuck_world::scope::PathVerdict;
use unstuck_world::workspace::Workspace;

use super::egress::explain_refused_hosts;
use super::settings::TaskSettings;
use super::world::BuildContext;
use crate::effects::EffectRequest;

/// The source of a setup command's fault that the work caused.
const SOURCE: &str = "validate:setup";
/// The remark below the output of such a command.
const RUN_AGAIN: &str = "[This is run.setup, which runs again before the checks because the work changed a \
    file that says which packages there are. Before that change it succeeded.]";

impl BuildContext {
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
                let refused =
                    egress.as_ref().is_some_and(|egress| !egress.list_refusals().is_empty());
                let fault = explain_refused_hosts(fault, egress.as_ref());
                Err(if refused {
                    ask_about_setup(fault, commands, true)
                } else {
                    blame_work(fault, commands)
                })
            }
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
    let command = find_setup_command(&fault, commands).unwrap_or_default();
    let message = format!("{command} {}", describe_command_end(&fault.kind));
    let output = format!("{}\n{RUN_AGAIN}", fault.message.trim_end());
    let context = Validation { command, exit: None, output };
    Fault::validation_pre_commit(SOURCE, message, context)
}

/// Returns the setup command that a fault is about.
fn find_setup_command(fault: &Fault, commands: &[String]) -> Option<String> {
    let number: usize = fault.source.rsplit('#').next()?.parse().ok()?;
    commands.get(number.checked_sub(1)?).cloned()
}

/// Turns the failure of a setup command into a question to the operator. A fault that passes by
/// itself, or has a question of its own, stays unchanged; a connection refused by the proxy does
/// not pass.
pub(super) fn ask_about_setup(fault: Fault, commands: &[String], refused: bool) -> Fault {
    let code = fault.code();
    let stays = !refused
        && fault.class() != Class::CodeError
        && !matches!(code, Code::ToolCrash | Code::OperationTimeout | Code::ToolAccessDenied);
    if !fault.is_setup_failure() || stays {
        return fault;
    }
    let context = Missing { what: find_setup_command(&fault, commands).unwrap_or_default() };
    let ended = describe_command_end(&fault.kind);
    Fault::precondition_missing(fault.source, fault.message, context).with_cause(ended)
}

/// Describes the end of a command, to be put after its name.
fn describe_command_end(kind: &Kind) -> String {
    let exit = match kind {
        Kind::ToolMissing(tool) | Kind::ToolConfig(tool) | Kind::ToolAccessDenied(tool) => {
            tool.exit
        }
        Kind::LogicError(logic) | Kind::LogicBadInput(logic) => logic.exit,
        Kind::ToolCrash(crash) => crash.exit,
        Kind::OperationTimeout(_) => return "did not end in time".to_owned(),
        _ => None,
    };
    exit.map_or_else(|| "did not succeed".to_owned(), |exit| format!("ended with {exit}"))
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::{Logic, Tool};

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
