//! The work of the loop: the effects in progress and the workers that perform them, the effects
//! that wait for a worker, and the leftovers that are cleared first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectId, EffectKind, TaskId};

use crate::effects::{EffectRequest, EffectResult, PerformScope, Performer, panic_result};

/// A worker that performs the effects of a scope.
struct PerformerAttachment {
    number: u64,
    scope: PerformScope,
    performer: Arc<dyn Performer>,
}

/// An effect that is being performed.
struct AssignedEffect {
    order: EffectRequest,
    by: u64,
    task: AbortHandle,
    stop: CancellationToken,
}

/// All outstanding effects that this loop has released.
pub(super) struct WorkList {
    attached: Vec<PerformerAttachment>,
    attachments_made: u64,
    running: BTreeMap<EffectId, AssignedEffect>,
    set: JoinSet<(EffectId, Option<EffectResult>)>,
    /// Orders that wait because the maximum number is running.
    queue: VecDeque<EffectRequest>,
    /// Orders that no attached worker covers.
    waiting: Vec<EffectRequest>,
    at_once_max: usize,
    /// Set when no further effect may start.
    closing: bool,
}

impl WorkList {
    pub(super) fn new(at_once_max: usize) -> Self {
        Self {
            attached: Vec::new(),
            attachments_made: 0,
            running: BTreeMap::new(),
            set: JoinSet::new(),
            queue: VecDeque::new(),
            waiting: Vec::new(),
            at_once_max,
            closing: false,
        }
    }

    pub(super) fn attach_performer(
        &mut self,
        scope: PerformScope,
        performer: Arc<dyn Performer>,
    ) -> u64 {
        self.attachments_made += 1;
        let number = self.attachments_made;
        self.attached.push(PerformerAttachment { number, scope, performer });
        for order in std::mem::take(&mut self.waiting) {
            self.perform_effect(order);
        }
        number
    }

    /// Returns whether a worker has this scope for itself.
    pub(super) fn is_scope_taken(&self, scope: &PerformScope) -> bool {
        self.attached.iter().any(|attached| attached.scope.conflicts_with(scope))
    }

    /// Returns the attachments that cover more than one task.
    pub(super) fn broad_attachments(&self) -> Vec<(u64, PerformScope)> {
        let broad = self.attached.iter().filter(|attached| attached.scope.is_broad());
        broad.map(|attached| (attached.number, attached.scope.clone())).collect()
    }

    /// Returns whether the attachment is for a build.
    pub(super) fn is_build_attachment(&self, attachment: u64) -> bool {
        let mut attached = self.attached.iter().filter(|attached| attached.number == attachment);
        attached.any(|attached| matches!(attached.scope, PerformScope::Build(_)))
    }

    /// Removes an attachment, and returns the tasks it was performing.
    pub(super) fn detach_performer(&mut self, attachment: u64) -> BTreeSet<TaskId> {
        self.attached.retain(|attached| attached.number != attachment);
        let gone: Vec<EffectId> =
            self.running.iter().filter(|(_, r)| r.by == attachment).map(|(id, _)| *id).collect();
        gone.into_iter()
            .filter_map(|effect| self.remove_running(effect))
            .map(|o| o.effect.task)
            .collect()
    }

    pub(super) fn find_performer(&self, number: u64) -> Option<&Arc<dyn Performer>> {
        self.attached.iter().find(|attached| attached.number == number).map(|a| &a.performer)
    }

    pub(super) fn perform_effect(&mut self, order: EffectRequest) {
        let Some(attached) = self.find_attachment(&order) else {
            self.waiting.push(order);
            return;
        };
        if self.closing || self.running.len() >= self.at_once_max {
            self.queue.push_back(order);
            return;
        }
        let by = attached.number;
        let performer = Arc::clone(&attached.performer);
        let stop = CancellationToken::new();
        let given = order.clone();
        let told = stop.clone();
        let id = order.effect.id;
        let task = self.set.spawn(async move { (id, performer.perform_effect(given, told).await) });
        self.running.insert(id, AssignedEffect { order, by, task, stop });
    }

    /// Stops an effect whose result is no longer wanted.
    pub(super) fn stop_effect(&mut self, effect: EffectId) {
        self.queue.retain(|order| order.effect.id != effect);
        self.waiting.retain(|order| order.effect.id != effect);
        if let Some(running) = self.running.get(&effect) {
            running.stop.cancel();
        }
    }

    /// Drops waiting effects of a task, which recovery replaces by others.
    pub(super) fn forget_waiting(&mut self, concerns: impl Fn(TaskId) -> bool) {
        self.queue.retain(|order| !concerns(order.effect.task));
        self.waiting.retain(|order| !concerns(order.effect.task));
    }

    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Returns whether no effect is running or waiting.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.queue.is_empty() && self.waiting.is_empty()
    }

    /// Returns whether an effect is running or waiting.
    pub(super) fn contains_effect(&self, effect: EffectId) -> bool {
        self.running.contains_key(&effect)
            || self.queue.iter().chain(&self.waiting).any(|order| order.effect.id == effect)
    }

    /// Waits for the next effect that ends, and returns its result. Cancel safe.
    pub(super) async fn next_ended(&mut self) -> Option<(EffectId, Option<EffectResult>)> {
        let ended = self.set.join_next().await?;
        let (effect, report) = match ended {
            Ok(ended) => ended,
            Err(panic) => {
                let broken =
                    self.running.values().find(|running| running.task.id() == panic.id())?;
                (broken.order.effect.id, Some(panic_result(&broken.order.effect)))
            }
        };
        // A report of a worker that was detached meanwhile is ignored.
        self.running.remove(&effect)?;
        if let Some(order) = (!self.closing).then(|| self.queue.pop_front()).flatten() {
            self.perform_effect(order);
        }
        Some((effect, report))
    }

    /// Starts no further effect, and stops those that can be interrupted without harm. Effects in
    /// other processes continue there: these processes take them along to the next holder.
    pub(super) fn close(&mut self) {
        self.closing = true;
        let theirs = |attached: &&PerformerAttachment| attached.performer.outlives_the_loop();
        let theirs: BTreeSet<u64> = self.attached.iter().filter(theirs).map(|a| a.number).collect();
        for (_, running) in self.running.extract_if(.., |_, running| theirs.contains(&running.by)) {
            running.task.abort();
        }
        for running in self.running.values() {
            if can_be_interrupted(running.order.effect.what) {
                running.stop.cancel();
            }
        }
    }

    fn find_attachment(&self, order: &EffectRequest) -> Option<&PerformerAttachment> {
        let covering = self.attached.iter().filter(|attached| attached.scope.covers_request(order));
        covering.min_by_key(|attached| attached.scope.breadth_rank())
    }

    fn remove_running(&mut self, effect: EffectId) -> Option<EffectRequest> {
        let running = self.running.remove(&effect)?;
        running.stop.cancel();
        Some(running.order)
    }
}

/// Returns whether an effect can be stopped halfway: an agent or a script starts again, all others
/// are short.
const fn can_be_interrupted(work: EffectKind) -> bool {
    match work {
        EffectKind::Attempt { .. } | EffectKind::Repair { .. } | EffectKind::Execute { .. } => true,
        EffectKind::Check
        | EffectKind::Commit
        | EffectKind::Perform { .. }
        | EffectKind::Probe { .. }
        | EffectKind::Emit
        | EffectKind::TakeBack => false,
    }
}

/// Tasks whose leftover processes are being ended, or whose turn is waited for.
#[derive(Default)]
pub(super) struct LeftoverCleanup {
    pub(super) set: JoinSet<CleanupStep>,
    /// Tasks that a living process performs, and whose turn is waited for.
    pub(super) elsewhere: BTreeSet<TaskId>,
}

/// A completed step of the clearing.
pub(super) enum CleanupStep {
    /// No process of these tasks is running any more.
    Gone(BTreeSet<TaskId>),
    /// The process that performed this task elsewhere has finished with it, or is gone.
    TurnFree(TaskId),
}

impl LeftoverCleanup {
    pub(super) fn is_pending(&self) -> bool {
        !self.set.is_empty()
    }

    /// Waits for the next completed step.
    pub(super) async fn next_step(&mut self) -> CleanupStep {
        match self.set.join_next().await {
            Some(Ok(step)) => return step,
            Some(Err(error)) => tracing::error!(%error, "the cleanup of an old run broke down"),
            None => {}
        }
        CleanupStep::Gone(BTreeSet::new())
    }
}
