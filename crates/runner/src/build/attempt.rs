//! An agent works on a task.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{Approach, Change};
use unstuck_core::engine::{Outcome, Start};
use unstuck_core::fault::Fault;
use unstuck_core::policy::Amount;
use unstuck_world::agent::{ACTIVITIES_QUEUED_MAX, Assignment, End, Ended};
use unstuck_world::validate::Compare;
use unstuck_world::workspace::{Preparation, Workspace};

use super::follow::{Follower, Seen};
use super::prompt::prompt;
use super::settings::{BuildSettings, TaskSettings};
use super::world::{Shared, failed};
use crate::world::{Order, Report};

impl Shared {
    pub(super) async fn attempt(
        &self,
        order: &Order,
        start: Start,
        stop: &CancellationToken,
    ) -> Option<Report> {
        let began = tokio::time::Instant::now();
        let outcome = match self.work(order, start, stop).await {
            Ok(outcome) => outcome?,
            Err(fault) => failed(fault),
        };
        let time_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Some(Report { outcome, spent: Amount { time_ms, ..Amount::ZERO } })
    }

    /// Nothing, when it was stopped.
    async fn work(
        &self,
        order: &Order,
        start: Start,
        stop: &CancellationToken,
    ) -> Result<Option<Outcome>, Fault> {
        let task = self.task(order)?;
        task.agent.check().await?;
        let workspace = self.prepare(order, start).await?;
        self.go_on_from_landed(order, &workspace).await?;
        if task.gates.compare != Compare::Off {
            let at = (order.effect.run, self.clock.now());
            self.baselines.measure(&task.gates, &workspace, &self.shell(order), at).await?;
        }
        let assignment = self.assignment(order, start, task, &workspace).await?;
        let (ended, seen) = self.let_work(order, task, assignment, stop).await;
        workspace.restore_shared(order.effect.run).await?;
        self.denied.note(order.effect.task, &ended.end);
        let stuck = seen.stuck.as_ref().map(|evidence| Box::new(evidence.fault("agent")));
        let end = match (ended.end, stuck) {
            (_, Some(fault)) => End::Failed(fault),
            (End::Stopped, None) if stop.is_cancelled() => return Ok(None),
            (end, None) => end,
        };
        let approach = self.approach(&end, &seen, &workspace).await?;
        Ok(Some(outcome(end, approach)))
    }

    async fn prepare(&self, order: &Order, start: Start) -> Result<Workspace, Fault> {
        let settings = &self.settings;
        let wanted = Preparation {
            place: Self::place(order),
            run: order.effect.run,
            start,
            head: settings.project.build_head(order.build, &settings.start).await?,
            share: settings.share.clone(),
            setup: settings.setup.clone(),
            in_place: settings.in_place,
            now: self.clock.now(),
        };
        Workspace::prepare(&settings.project, &wanted, &self.shell(order)).await
    }

    /// Work that has landed and was refused further on, by a check before the push for example, is
    /// part of the build: the next attempt is counted from it.
    async fn go_on_from_landed(&self, order: &Order, workspace: &Workspace) -> Result<(), Fault> {
        let made = workspace.commit_made().await?;
        if made == workspace.base().await? {
            return Ok(());
        }
        let BuildSettings { project, start, .. } = &self.settings;
        let head = project.build_head(order.build, start).await?;
        if project.git().is_ancestor(&made, &head).await? {
            workspace.integrate(&made, order.effect.run, self.clock.now()).await?;
        }
        Ok(())
    }

    async fn assignment(
        &self,
        order: &Order,
        start: Start,
        task: &TaskSettings,
        workspace: &Workspace,
    ) -> Result<Assignment, Fault> {
        let mut environment = self.settings.environment.clone();
        for (name, value) in workspace.environment(order.effect.run).await? {
            environment.retain(|(known, _)| *known != name);
            environment.extend(value.map(|value| (name, value)));
        }
        Ok(Assignment {
            directory: workspace.directory().to_owned(),
            lock: self.runs.lock_path(order.effect.task, order.effect.run),
            prompt: prompt(order, &task.brief, start),
            thread: self.thread(order, start).await,
            attempt: order.attempt,
            model: task.model.clone(),
            fence: workspace.fence(&environment),
            environment,
            limits: task.limits,
        })
    }

    /// The conversation that goes on. One that cannot be read, or has grown too long, is begun anew:
    /// the worktree is there.
    async fn thread(&self, order: &Order, start: Start) -> Option<String> {
        if start != Start::Resume {
            return None;
        }
        match self.store.checkpoint(&self.project_name, order.effect.task).await {
            Ok(conversation) => conversation.map(|said| said.as_str().to_owned()),
            Err(error) => {
                tracing::warn!(%error, "a conversation could not be read; it begins anew");
                None
            }
        }
    }

    async fn let_work(
        &self,
        order: &Order,
        task: &TaskSettings,
        assignment: Assignment,
        stop: &CancellationToken,
    ) -> (Ended, Seen) {
        let (tell, told) = mpsc::channel(ACTIVITIES_QUEUED_MAX);
        let worktree = assignment.directory.to_string_lossy().into_owned();
        let redactor = Arc::clone(&self.settings.redactor);
        let follower = Follower::new(self.handle.clone(), order.effect.id, redactor, worktree);
        let stop = stop.child_token();
        let work = task.agent.work(assignment, tell, stop.clone());
        tokio::join!(work, follower.follow(told, stop))
    }

    /// What the attempt did, by what it left and what was seen of it.
    async fn approach(
        &self,
        end: &End,
        seen: &Seen,
        workspace: &Workspace,
    ) -> Result<Approach, Fault> {
        let change = Change::of(&workspace.patch().await?);
        let said = match end {
            End::Finished { said, .. } => Some(self.settings.redactor.text(said)),
            End::Failed(_) | End::Stopped => None,
        };
        let worktree = workspace.directory().to_string_lossy();
        Ok(Approach::of(&change, &seen.actions, said.as_deref(), &worktree))
    }
}

fn outcome(end: End, approach: Approach) -> Outcome {
    let approach = Arc::new(approach);
    match end {
        End::Finished { .. } | End::Stopped => Outcome::Attempted { approach },
        End::Failed(fault) => Outcome::Failed { fault: Arc::from(fault), approach: Some(approach) },
    }
}
