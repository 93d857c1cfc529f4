//! Confirmation of a green check: if other files than those of the commit could have made it pass,
//! it is run once more in a fresh checkout.

use unstuck_core::engine::Start;
use unstuck_core::fault::{Category, CheckStage, Class, Code, Fault, Kind, Validation};
use unstuck_world::commands::list_programs;
use unstuck_world::git::Oid;
use unstuck_world::validate::{GateChecks, GateReport};
use unstuck_world::workspace::Workspace;

use super::context::BuildContext;
use super::egress::explain_refused_hosts;
use super::settings::TaskSettings;
use crate::effects::EffectRequest;

/// The remark below the output of a check that is red only in a fresh checkout.
const ONLY_HERE: &str = "[This is how it ends in a fresh checkout of the change, with run.setup run anew. In \
    the worktree it passes, because of something that lies only there: a package that was installed and is \
    not declared, or what was built before.]";

impl BuildContext {
    /// Runs checks that passed once more in a fresh checkout of the change, where they were red before
    /// the work began or passed only at the second time, or where something was installed or removed. That
    /// fewer tests run is an error unless a person allowed it (`fewer_tests.rs`).
    pub(super) async fn confirm_in_fresh_checkout(
        &self,
        order: &EffectRequest,
        (task, checks): (&TaskSettings, &GateChecks),
        workspace: &Workspace,
        (seen, allows_tests): (&GateReport, bool),
    ) -> Result<(), Fault> {
        let is_due = self.can_confirm(checks.gate(), seen)
            && (self.was_base_red(order, task)
                || !seen.flaky.is_empty()
                || !seen.leftovers.is_empty()
                || !seen.proves_less.is_empty()
                || workspace.may_pass_by_leftovers().await?);
        if !is_due {
            return Ok(());
        }
        let commit = workspace.commit_current_content(self.clock.now()).await?;
        let place = Self::task_place(order).for_fresh_checkout();
        let mut fresh = order.clone();
        fresh.effect.task = place.task;
        // Leftovers of a first run could make a second one pass, so a flaky check is recognized by
        // another checkout.
        let gates = (task, checks);
        let mut checked = Box::pin(self.check_fresh_checkout(&fresh, gates, commit.clone())).await;
        if checked.as_ref().is_err_and(|fault| fault.category() == Category::Validation) {
            checked = Box::pin(self.check_fresh_checkout(&fresh, gates, commit)).await;
        }
        self.settings.project.discard_checkout(place).await?;
        match checked.map_err(|fault| self.blame_leftovers(fault, checks))? {
            Some(fault) if !allows_tests => {
                self.judge_fewer_tests(order, task, workspace, fault).await
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a fresh checkout decides about the findings of a gate.
    pub(super) fn can_confirm(&self, gate: CheckStage, seen: &GateReport) -> bool {
        gate == CheckStage::PreCommit
            && self.is_for_build()
            && !self.settings.in_place
            && seen.red_at_base.is_empty()
    }

    fn was_base_red(&self, order: &EffectRequest, task: &TaskSettings) -> bool {
        let known = self.baselines.find_baseline(order.build, &task.gates);
        known.is_some_and(|baseline| baseline.red_checks().next().is_some())
    }

    async fn check_fresh_checkout(
        &self,
        fresh: &EffectRequest,
        (task, checks): (&TaskSettings, &GateChecks),
        commit: Oid,
    ) -> Result<Option<Fault>, Fault> {
        self.settings.project.discard_checkout(Self::task_place(fresh)).await?;
        let workspace = self.prepare_worktree_at(fresh, Start::Fresh, commit).await?;
        let (shell, egress) = self.open_check_shell(fresh).await?;
        let mut shell = workspace.confine_shell(&shell);
        // Node looks for packages in all parent folders, which contain the operator's own.
        if self.settings.setup.iter().any(|command| installs_node_packages(command)) {
            let project = &self.settings.project;
            let above = [project.root(), project.checkout()];
            shell.wall.hidden.extend(above.map(|folder| folder.join("node_modules")));
        }
        let known = self.baselines.find_baseline(fresh.build, &task.gates);
        let checked =
            checks.run_once_in_folder(&workspace.project_folder(), known.as_deref(), &shell).await;
        checked.map_err(|fault| explain_refused_hosts(fault, egress.as_ref()))
    }

    /// Turns a failure that the change itself causes into a red check, with a remark for the agent
    /// about the difference to the worktree.
    fn blame_leftovers(&self, fault: Fault, checks: &GateChecks) -> Fault {
        let is_of_the_change = fault.class() == Class::CodeError
            || matches!(
                fault.code(),
                Code::ToolMissing
                    | Code::ToolCrash
                    | Code::ToolAccessDenied
                    | Code::OperationTimeout
                    | Code::PreconditionMissing
            );
        if fault.category() != Category::Validation && !is_of_the_change {
            return fault;
        }
        let (command, exit, output) = match &fault.kind {
            Kind::ValidationPreCommit(of)
            | Kind::ValidationPrePush(of)
            | Kind::ValidationPrePr(of) => (of.command.clone(), of.exit, of.output.clone()),
            _ if fault.is_setup_failure() => {
                (self.settings.setup.join(" && "), None, fault.message.clone())
            }
            _ => (checks.commands().join(" && "), None, fault.message.clone()),
        };
        let message = format!("{command} passes in the worktree and fails in a fresh checkout");
        let output = format!("{}\n{ONLY_HERE}", output.trim_end());
        let context = Validation { command, exit, output };
        Fault::validation_pre_commit(fault.source, message, context)
    }
}

/// Returns whether a command installs into `node_modules`.
fn installs_node_packages(command: &str) -> bool {
    let is_manager = |word: &str| matches!(word, "npm" | "pnpm" | "yarn" | "bun");
    list_programs(command).iter().any(|words| words.first().is_some_and(|word| is_manager(word)))
}
