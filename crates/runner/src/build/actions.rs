//! The commit of checked work, and the irreversible actions of a build with their lookup: those of
//! git in this module, the others in `calls`.

use std::sync::Arc;

use unstuck_core::engine::EffectOutcome;
use unstuck_core::fault::{Code, Fault, GitOperation, Kind, Missing};
use unstuck_core::plan::MutationKind;
use unstuck_world::git::{Git, Oid};
use unstuck_world::tool::DeclaredPush;
use unstuck_world::workspace::{
    CommitOutcome, CommitWording, LandingOutcome, ProjectRepository, Workspace, to_failed_push,
    to_refused_push,
};

use super::context::BuildContext;
use crate::effects::{EffectRequest, failed_outcome, lock_unpoisoned};

/// The result of a merge or a push that had nothing to bring: no file was changed.
pub const NOTHING_CHANGED: &str = "nothing changed";

impl BuildContext {
    pub(super) async fn perform_commit(&self, order: &EffectRequest) -> EffectOutcome {
        match self.try_commit(order).await {
            Ok(()) => EffectOutcome::Done,
            Err(fault) => {
                self.remark_sandbox_block(order, &fault).await;
                failed_outcome(fault)
            }
        }
    }

    async fn try_commit(&self, order: &EffectRequest) -> Result<(), Fault> {
        let workspace = self.open_workspace(order).await?;
        self.commit_with_message(order, render_commit_message(order), &workspace).await
    }

    /// Commits the checked content with this message.
    pub(crate) async fn commit_with_message(
        &self,
        order: &EffectRequest,
        message: String,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let task = self.task_settings(order)?;
        let content = workspace.capture_content().await?;
        self.settings.secrets.check_patch(&workspace.create_patch_of(&content).await?)?;
        let wording =
            CommitWording { message, person: self.settings.person.clone(), at: self.clock.now() };
        // The repository's hooks run code that agents wrote, as checks do.
        let egress = &self.settings.check_egress;
        let (shell, _egress) =
            self.open_shell_with_egress(order, egress, self.task_shell(order)).await?;
        match workspace.commit_content(&content, &wording, &shell).await? {
            // A hook changed the content, so it is no longer what was checked.
            CommitOutcome::As { by_hook: true, .. } => {
                self.run_gate(order, task, &task.gates.pre_commit, workspace).await
            }
            CommitOutcome::As { .. } | CommitOutcome::Nothing => Ok(()),
        }
    }

    pub(super) async fn perform_action(&self, order: &EffectRequest) -> EffectOutcome {
        let done = match mutation_kind(order) {
            Some(MutationKind::Merge) => self.merge_task(order).await,
            Some(MutationKind::Push) => self.push_branch(order).await,
            Some(MutationKind::PullRequest | MutationKind::Http | MutationKind::Command) | None => {
                self.send_call(order).await
            }
        };
        done.unwrap_or_else(failed_outcome)
    }

    /// Looks up whether the action of an order happened.
    pub(super) async fn probe_action(&self, order: &EffectRequest) -> EffectOutcome {
        let found = match mutation_kind(order) {
            Some(MutationKind::Merge) => self.probe_merge(order).await,
            Some(MutationKind::Push) => self.probe_push(order).await,
            Some(MutationKind::PullRequest | MutationKind::Http | MutationKind::Command) | None => {
                self.probe_call(order).await
            }
        };
        // The lookup itself failed, so it can be retried.
        found.unwrap_or_else(failed_outcome)
    }

    /// Moves the build's branch to the task's commit. The merge lock makes this worker the only one
    /// of the build to do so; if the branch was moved from outside, the work is brought onto the
    /// new head first.
    async fn merge_task(&self, order: &EffectRequest) -> Result<EffectOutcome, Fault> {
        let workspace = self.open_workspace(order).await?;
        let commit = workspace.find_commit_made().await?;
        let base = workspace.resolve_base().await?;
        if commit != base {
            self.check_before_pull_request(order, &workspace).await?;
        }
        let brought = merge_outcome(&commit, &base);
        match workspace.fast_forward_build(&commit).await? {
            LandingOutcome::Done => Ok(brought),
            LandingOutcome::HeadMoved { .. } => Ok(EffectOutcome::HeadMoved),
            LandingOutcome::InUse { by } => {
                let message = format!("the build's branch is checked out in {}", by.display());
                let what = "the build's branch, not checked out anywhere".to_owned();
                Err(Fault::precondition_missing("git.merge", message, Missing { what }))
            }
        }
    }

    async fn probe_merge(&self, order: &EffectRequest) -> Result<EffectOutcome, Fault> {
        let workspace = self.open_workspace(order).await?;
        let commit = workspace.find_commit_made().await?;
        let settings = &self.settings;
        let head = settings.project.ensure_build_head(order.build, &settings.start).await?;
        let merged = settings.project.git().is_ancestor(&commit, &head).await?;
        if !merged {
            return Ok(EffectOutcome::NotApplied);
        }
        Ok(merge_outcome(&commit, &workspace.resolve_base().await?))
    }

    /// Runs the checks before the pull request that is opened for the build, because it will
    /// contain what lands now: a red check goes back to the agent, like any other.
    async fn check_before_pull_request(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        if !self.settings.pull_request || self.settings.in_place {
            return Ok(());
        }
        let task = self.task_settings(order)?;
        self.run_gate(order, task, &task.gates.pre_pr, workspace).await
    }

    /// Pushes the build's branch, unless nothing has changed since its start. A failure on the way says nothing about whether the push arrived.
    async fn push_branch(&self, order: &EffectRequest) -> Result<EffectOutcome, Fault> {
        let task = self.task_settings(order)?;
        let workspace = self.open_workspace(order).await?;
        let commit = workspace.find_commit_made().await?;
        if commit == self.settings.start {
            return Ok(EffectOutcome::Applied { result: NOTHING_CHANGED.into() });
        }
        self.run_gate(order, task, &task.gates.pre_push, &workspace).await?;
        let remote = self.require_remote()?;
        let branch = ProjectRepository::build_branch(order.build);
        let git = self.git_past_push_hook(order, &workspace, (remote, &commit, &branch)).await?;
        match git.push_commit(remote, &commit, &branch).await {
            Ok(()) => Ok(applied_commit_outcome(&commit)),
            // The response may have been lost, so the push is looked up.
            Err(fault) => {
                let fault = Arc::new(to_push_failure(fault, remote, &branch));
                Ok(EffectOutcome::Unknown { fault })
            }
        }
    }

    /// Turns the refusal of a push that another attempt of the agent has not changed into a question.
    fn ask_about_push_hook(&self, order: &EffectRequest, fault: Fault) -> Fault {
        let refused = (order.effect.task, fault.signature);
        let is_new = lock_unpoisoned(&self.refused_pushes).insert(refused);
        if is_new { fault } else { to_refused_push(fault) }
    }

    async fn probe_push(&self, order: &EffectRequest) -> Result<EffectOutcome, Fault> {
        let commit = self.open_workspace(order).await?.find_commit_made().await?;
        if commit == self.settings.start {
            return Ok(EffectOutcome::Applied { result: NOTHING_CHANGED.into() });
        }
        let branch = ProjectRepository::build_branch(order.build);
        let arrived = self.has_arrived((self.require_remote()?, &branch), &commit).await?;
        Ok(if arrived { applied_commit_outcome(&commit) } else { EffectOutcome::NotApplied })
    }

    /// Pushes the task's commit as its agent declared it.
    pub(super) async fn push_as_declared(
        &self,
        order: &EffectRequest,
        push: &DeclaredPush,
    ) -> Result<EffectOutcome, Fault> {
        let DeclaredPush { remote, reference, is_forced } = push;
        let task = self.task_settings(order)?;
        let workspace = self.open_workspace(order).await?;
        let commit = workspace.find_commit_made().await?;
        self.require_known_remote(remote).await?;
        self.run_gate(order, task, &task.gates.pre_push, &workspace).await?;
        let git = self.git_past_push_hook(order, &workspace, (remote, &commit, reference)).await?;
        let pushed = if *is_forced {
            git.force_push_commit(remote, &commit, reference).await
        } else {
            git.push_commit(remote, &commit, reference).await
        };
        let Err(fault) = pushed else { return Ok(applied_commit_outcome(&commit)) };
        match self.has_arrived((remote, reference), &commit).await {
            Ok(true) => Ok(applied_commit_outcome(&commit)),
            // The push has ended, and the remote does not have the commit.
            Ok(false) if fault.code() != Code::OperationTimeout => {
                Err(to_failed_push(fault, remote))
            }
            Err(_) if has_not_begun(&fault) => Err(fault),
            Ok(false) | Err(_) => Ok(EffectOutcome::Unknown { fault: Arc::new(fault) }),
        }
    }

    pub(super) async fn probe_declared_push(
        &self,
        order: &EffectRequest,
        push: &DeclaredPush,
    ) -> Result<EffectOutcome, Fault> {
        let commit = self.open_workspace(order).await?.find_commit_made().await?;
        let arrived = self.has_arrived((&push.remote, &push.reference), &commit).await?;
        Ok(if arrived { applied_commit_outcome(&commit) } else { EffectOutcome::NotApplied })
    }

    /// Runs the pre-push hook, and returns the git that pushes.
    async fn git_past_push_hook(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
        (remote, commit, reference): (&str, &Oid, &str),
    ) -> Result<Git, Fault> {
        let shell = self.task_shell(order);
        let passed = workspace.pass_push_hook(remote, commit, reference, &shell).await;
        passed.map_err(|fault| self.ask_about_push_hook(order, fault))?;
        let git = self.settings.project.git().with_timeout(shell.timeout);
        Ok(git.with_guard(shell.guard, shell.lock))
    }

    /// Returns whether a ref at a remote has the commit. Another task of the build may have pushed
    /// since.
    async fn has_arrived(
        &self,
        (remote, reference): (&str, &str),
        commit: &Oid,
    ) -> Result<bool, Fault> {
        let git = self.settings.project.git().with_timeout(self.settings.command_timeout);
        match git.query_remote_ref(remote, reference).await? {
            Some(head) if head == *commit => Ok(true),
            Some(head) => git.is_ancestor(commit, &head).await,
            None => Ok(false),
        }
    }

    /// Requires that a remote of the operator's repository has this name.
    async fn require_known_remote(&self, name: &str) -> Result<(), Fault> {
        let remotes = self.settings.project.git().list_remotes().await?;
        if remotes.iter().any(|remote| remote == name) {
            return Ok(());
        }
        let message = format!("the project has no remote {name:?}");
        let what = format!("a remote named {name}");
        Err(Fault::precondition_missing("git.push", message, Missing { what }))
    }

    fn require_remote(&self) -> Result<&str, Fault> {
        self.settings.remote.as_deref().ok_or_else(|| {
            let what = "a remote to push to".to_owned();
            Fault::precondition_missing("git.push", "no remote is set", Missing { what })
        })
    }
}

/// Returns the commit message: the task's title, its name and the run.
fn render_commit_message(order: &EffectRequest) -> String {
    let title = if order.task.title.is_empty() { &order.task.name } else { &order.task.title };
    format!("{title}\n\nUnstuck-Task: {}\nUnstuck-Run: {}\n", order.task.name, order.effect.run)
}

fn mutation_kind(order: &EffectRequest) -> Option<MutationKind> {
    order.mutation.as_ref().map(|mutation| mutation.spec.kind)
}

/// Returns the outcome of a merge: the commit, or [`NOTHING_CHANGED`].
fn merge_outcome(commit: &Oid, base: &Oid) -> EffectOutcome {
    if commit == base {
        EffectOutcome::Applied { result: NOTHING_CHANGED.into() }
    } else {
        applied_commit_outcome(commit)
    }
}

/// Turns any fault of a push into `GitPushFailed`, because the work is done without the push.
fn to_push_failure(fault: Fault, remote: &str, branch: &str) -> Fault {
    let exit = match &fault.kind {
        Kind::GitPushFailed(known) => known.exit,
        _ => None,
    };
    let operation = "push".to_owned();
    let reference = Some(branch.to_owned());
    let context = GitOperation { operation, exit, reference, remote: Some(remote.to_owned()) };
    Fault::git_push_failed("git.push", fault.message, context)
}

/// Returns whether a push failed before the remote got anything.
fn has_not_begun(fault: &Fault) -> bool {
    matches!(
        fault.code(),
        Code::EnvDns
            | Code::NetworkUnreachable
            | Code::AuthInvalid
            | Code::AuthExpired
            | Code::AuthMissing
    )
}

fn applied_commit_outcome(commit: &Oid) -> EffectOutcome {
    EffectOutcome::Applied { result: commit.to_string().into() }
}
