//! The runner's loop: a command comes in, the core decides, the store writes the events, and only
//! then effects are performed.
//!
//! Decisions are applied to memory at once and become durable in groups; effects, replies and
//! notices are released in journal order, each when its decision is on disk.

use std::collections::{BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{broadcast, mpsc};
use unstuck_core::engine::{
    Command, CommandRejection, EffectId, QuestionId, RecordedEvent, State, Task,
};
use unstuck_core::policy::Policy;
use unstuck_store::{Batch, Holder, Journal, Store, StoreError};

use super::clock::{Clock, WakeTimer};
use super::gate_mirror::GateMirror;
use super::handle::{
    AttachRequest, CommandError, CommandReply, LoopRequest, RunnerHandle, RunnerNotice,
};
use super::work_list::{LeftoverCleanup, WorkList};
use crate::effects::{EffectRequest, TaskLocks};

/// Capacity of the request queue.
const REQUESTS_MAX: usize = 1_024;
/// Maximum number of decisions that are not durable yet.
const PENDING_MAX: usize = 4_096;
/// Maximum number of notices that a slow watcher may be behind.
const NOTICES_MAX: usize = 4_096;
/// Maximum number of effects performed at the same time: thousands that are recovered after a crash
/// take turns.
const EFFECTS_MAX: usize = 512;

/// The configuration of the loop.
#[derive(Clone)]
pub struct RunnerSetup {
    /// The store of the project.
    pub store: Arc<dyn Store>,
    /// The project's name.
    pub project: Arc<str>,
    /// The identity of this process as holder.
    pub holder: Holder,
    /// The policy, with its limits.
    pub policy: Arc<Policy>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The folder by which projects tell each other of limited accounts, if any.
    pub gates: Option<GateMirror>,
    /// The locks by which living processes claim the tasks they perform, if any.
    pub turns: Option<TaskLocks>,
}

/// The loop of one project. It holds the project's lock.
pub struct Runner {
    pub(super) setup: RunnerSetup,
    pub(super) state: State,
    pub(super) journal: Option<Box<dyn Journal>>,
    /// Set if the previous holder released the project properly.
    pub(super) clean: bool,
    /// Effects that were outstanding when this holder took over: their worker is gone.
    pub(super) leftover: Vec<EffectId>,
    pub(super) handle: RunnerHandle,
    pub(super) work: WorkList,
    pub(super) pending: PendingDecisions,
    requests: mpsc::Receiver<LoopRequest>,
    /// Workers that wait until their scope is free.
    queued: VecDeque<AttachRequest>,
    pub(super) clearing: LeftoverCleanup,
    /// Questions whose answers are taken up and not durable yet.
    pub(super) answering: BTreeSet<QuestionId>,
    timer: WakeTimer,
    closing: bool,
}

/// The result of the loop.
pub type RunnerResult = Result<(), StoreError>;

impl Runner {
    /// Claims the project's lock and reads its state. No effect is performed before
    /// [`run`](Self::run).
    pub async fn open(setup: RunnerSetup) -> Result<Self, StoreError> {
        let claim = setup.store.claim_project(&setup.project, &setup.holder).await?;
        let (send, requests) = mpsc::channel(REQUESTS_MAX);
        let (notices, _) = broadcast::channel(NOTICES_MAX);
        let leftover = find_leftover_effects(&claim.state);
        Ok(Self {
            setup,
            leftover,
            state: claim.state,
            journal: Some(claim.journal),
            clean: claim.clean,
            handle: RunnerHandle {
                requests: send,
                notices,
                unwritten: Arc::default(),
                closing: Arc::default(),
            },
            work: WorkList::new(EFFECTS_MAX),
            pending: PendingDecisions::default(),
            requests,
            queued: VecDeque::new(),
            clearing: LeftoverCleanup::default(),
            answering: BTreeSet::new(),
            timer: WakeTimer::default(),
            closing: false,
        })
    }

    /// Returns a handle of the loop.
    pub fn handle(&self) -> RunnerHandle {
        self.handle.clone()
    }

    /// Returns the state as the claim read it.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Runs until the loop is shut down or the store is lost.
    pub async fn run(mut self) -> RunnerResult {
        self.take_answers().await?;
        while !self.is_over() {
            self.handle.unwritten.store(self.pending.len(), Ordering::Release);
            let room = self.pending.len() < PENDING_MAX;
            let wake = self.state.next_wake().filter(|_| !self.closing && room);
            tokio::select! {
                biased;
                durable = self.pending.next_durable(), if !self.pending.is_empty() => match durable {
                    Ok(entry) => self.release_decision(entry),
                    Err(error) => self.reload_from_store(error).await?,
                },
                ended = self.work.next_ended(), if room && self.work.is_running() => {
                    if let Some((effect, Some(report))) = ended {
                        self.settle_effect(effect, report);
                    }
                }
                cleared = self.clearing.next_step(), if room && self.clearing.is_pending() => {
                    self.handle_cleanup_step(cleared);
                }
                request = self.requests.recv(), if room => match request {
                    // Results that were not recorded are recovered at the next start.
                    Some(LoopRequest::Shutdown { now: true }) => return Ok(()),
                    Some(request) => self.handle_request(request).await?,
                    None => self.begin_shutdown(),
                },
                () = self.timer.wait_until(&self.setup.clock, wake) => self.wake_up(),
            }
        }
        let Some(journal) = self.journal.take() else { return Ok(()) };
        journal.close(&self.state).await
    }

    /// Returns whether the loop can end: it is closing, all decisions are durable, and no effect is
    /// running.
    fn is_over(&self) -> bool {
        self.closing && self.pending.is_empty() && !self.work.is_running()
    }

    async fn handle_request(&mut self, request: LoopRequest) -> Result<(), StoreError> {
        match request {
            // The next holder starts the work that this one refuses.
            LoopRequest::Command { reply, .. } | LoopRequest::Checkpoint { reply, .. }
                if self.closing =>
            {
                let _ = reply.send(Err(CommandError::Ended));
            }
            LoopRequest::Attach(_) if self.closing => {}
            LoopRequest::Command { command, reply } => {
                self.decide_command(*command, None, Some(reply));
            }
            LoopRequest::Checkpoint { effect, report, conversation, reply } => {
                self.record_checkpoint(effect, report, conversation, reply);
            }
            LoopRequest::Attach(attach) => self.attach_performer(attach),
            LoopRequest::Detach { attachment, clean } => self.detach_performer(attachment, clean),
            LoopRequest::Look(look) => look(&self.state),
            LoopRequest::Answers { reply } => {
                self.take_answers().await?;
                self.append_batch(Batch::default(), None, Some(reply));
            }
            LoopRequest::Shutdown { .. } => self.begin_shutdown(),
        }
        Ok(())
    }

    fn attach_performer(&mut self, attach: AttachRequest) {
        let AttachRequest { scope, performer, waits, attached } = attach;
        if attached.is_closed() {
            return;
        }
        if self.work.is_scope_taken(&scope) {
            if waits {
                self.queued.push_back(AttachRequest { scope, performer, waits, attached });
            } else {
                let _ = attached.send(None);
            }
            return;
        }
        let number = self.work.attach_performer(scope.clone(), performer);
        self.take_up_leftovers(&scope, number);
        if attached.send(Some(number)).is_err() {
            // The worker left in this very moment and has performed no effect.
            self.detach_performer(number, true);
        }
    }

    /// Retries the attachments in line, after a worker has left.
    pub(super) fn retry_queued_attachments(&mut self) {
        for attach in std::mem::take(&mut self.queued) {
            self.attach_performer(attach);
        }
    }

    fn begin_shutdown(&mut self) {
        self.closing = true;
        self.handle.closing.store(true, Ordering::Release);
        // The waiting workers turn to the next holder.
        self.queued.clear();
        self.work.close();
    }

    fn wake_up(&mut self) {
        let now = self.setup.clock.now();
        // The clock may have been set back since.
        if self.state.next_wake().is_some_and(|at| at <= now) {
            self.decide_command(Command::Wake, None, None);
        }
    }
}

/// Returns the outstanding effects whose worker is gone. Sessions are excluded: their runtimes are
/// elsewhere and continue.
fn find_leftover_effects(state: &State) -> Vec<EffectId> {
    let is_ours = |task| !state.task(task).is_some_and(Task::is_session);
    let owed = state.outstanding_effects().into_iter().filter(|effect| is_ours(effect.task));
    owed.map(|effect| effect.id).collect()
}

/// A future that resolves when a batch is durable.
pub(super) type DurableFuture = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// A decision that is not durable yet.
pub(super) struct PendingDecision {
    /// Resolves when the decision is durable; `None` for a decision without events, which needs no
    /// write.
    pub(super) durable: Option<DurableFuture>,
    /// The result of an effect, submitted again if this write fails.
    pub(super) result: Option<Command>,
    pub(super) events: Arc<[Arc<RecordedEvent>]>,
    pub(super) rejected: Option<CommandRejection>,
    pub(super) steps: Vec<DecisionStep>,
    pub(super) notices: Vec<RunnerNotice>,
    pub(super) reply: Option<CommandReply>,
}

/// The queue of decisions that are not durable yet, in journal order. Effects, replies and even
/// refusals wait for their turn here, because a refusal may rest on a decision that is not on disk
/// yet.
#[derive(Default)]
pub(super) struct PendingDecisions(VecDeque<PendingDecision>);

impl PendingDecisions {
    pub(super) fn push(&mut self, entry: PendingDecision) {
        self.0.push_back(entry);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the oldest decision once it is durable, or the error of its write. Cancel safe.
    pub(super) async fn next_durable(&mut self) -> Result<Option<PendingDecision>, StoreError> {
        if let Some(durable) = self.0.front_mut().and_then(|entry| entry.durable.as_mut()) {
            durable.await?;
        }
        Ok(self.0.pop_front())
    }

    /// Removes all decisions that have not become durable, oldest first.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = PendingDecision> {
        self.0.drain(..)
    }
}

/// A step that follows from a durable decision.
#[derive(Clone, Debug)]
pub(super) enum DecisionStep {
    Perform(Box<EffectRequest>),
    /// Stops the effect, because its result is no longer wanted.
    Stop(EffectId),
}
