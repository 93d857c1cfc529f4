//! Confirmation of a green check: if other files than those of the commit could have made it pass,
//! it is run once more in a fresh checkout.

use unstuck_core::engine::Start;
use unstuck_core::fault::{Category, Class, Code, Fault, Gate, Kind, Validation};
use unstuck_world::commands::programs_of;
use unstuck_world::git::Oid;
use unstuck_world::validate::{Checks, Seen};
use unstuck_world::workspace::Workspace;

use super::egress::explain_refused;
use super::settings::TaskSettings;
use super::world::Shared;
use crate::world::Order;

/// The remark below the output of a check that is red only in a fresh checkout.
const ONLY_HERE: &str = "[This is how it ends in a fresh checkout of the change, with run.setup run anew. In \
    the worktree it passes, because of something that lies only there: a package that was installed and is \
    not declared, or what was built before.]";

impl Shared {
    /// Runs checks that passed once more in a fresh checkout of the change, where they were red before
    /// the work began or passed only at the second time, or where something was installed or removed. That
    /// fewer tests run is an error unless a person allowed it (`fewer_tests.rs`).
    pub(super) async fn confirm(
        &self,
        order: &Order,
        (task, checks): (&TaskSettings, &Checks),
        workspace: &Workspace,
        (seen, allows_tests): (&Seen, bool),
    ) -> Result<(), Fault> {
        let is_due = self.confirms(checks.gate(), seen)
            && (self.was_red(order, task)
                || !seen.flaky.is_empty()
                || !seen.proves_less.is_empty()
                || workspace.may_pass_by_leftovers().await?);
        if !is_due {
            return Ok(());
        }
        let commit = workspace.commit_as_it_is(self.clock.now()).await?;
        let place = Self::place(order).fresh();
        let mut fresh = order.clone();
        fresh.effect.task = place.task;
        // Leftovers of a first run could make a second one pass, so a flaky check is recognized by
        // another checkout.
        let gates = (task, checks);
        let mut checked = Box::pin(self.check_fresh(&fresh, gates, commit.clone())).await;
        if checked.as_ref().is_err_and(|fault| fault.category() == Category::Validation) {
            checked = Box::pin(self.check_fresh(&fresh, gates, commit)).await;
        }
        self.settings.project.discard(place).await?;
        match checked.map_err(|fault| self.blame_leftovers(fault, checks))? {
            Some(fault) if !allows_tests => self.judge_fewer(order, task, workspace, fault).await,
            _ => Ok(()),
        }
    }

    /// Returns whether a fresh checkout decides about the findings of a gate.
    pub(super) fn confirms(&self, gate: Gate, seen: &Seen) -> bool {
        gate == Gate::PreCommit
            && self.is_of_a_build()
            && !self.settings.in_place
            && seen.red_at_base.is_empty()
    }

    fn was_red(&self, order: &Order, task: &TaskSettings) -> bool {
        let known = self.baselines.known(order.build, &task.gates);
        known.is_some_and(|baseline| baseline.red().next().is_some())
    }

    async fn check_fresh(
        &self,
        fresh: &Order,
        (task, checks): (&TaskSettings, &Checks),
        commit: Oid,
    ) -> Result<Option<Fault>, Fault> {
        self.settings.project.discard(Self::place(fresh)).await?;
        let workspace = self.prepare_at(fresh, Start::Fresh, commit).await?;
        let (shell, egress) = self.shell_of_checks(fresh).await?;
        let mut shell = workspace.behind_wall(&shell);
        // Node looks for packages in all parent folders, which contain the operator's own.
        if self.settings.setup.iter().any(|command| installs_node_packages(command)) {
            shell.wall.hidden.push(self.settings.project.root().join("node_modules"));
        }
        let known = self.baselines.known(fresh.build, &task.gates);
        let checked = checks.run_once_at(workspace.directory(), known.as_deref(), &shell).await;
        checked.map_err(|fault| explain_refused(fault, egress.as_ref()))
    }

    /// Turns a failure that the change itself causes into a red check, with a remark for the agent
    /// about the difference to the worktree.
    fn blame_leftovers(&self, fault: Fault, checks: &Checks) -> Fault {
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
            _ if fault.is_of_setup() => {
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
    programs_of(command).iter().any(|words| words.first().is_some_and(|word| is_manager(word)))
}
