//! The runner's loop: a command comes in, the core decides, the store writes the events, and only
//! then effects are performed.
//!
//! Decisions are applied to memory at once and become durable in groups; effects, replies and
//! notices are released in journal order, each when its decision is on disk.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{broadcast, mpsc};
use unstuck_core::chance::Rng;
use unstuck_core::engine::{Command, EffectId, QuestionId, Rejected, State, Task, decide};
use unstuck_core::policy::Policy;
use unstuck_store::{Batch, Holder, Journal, Store, StoreError, crash, snapshot};

use crate::clock::Clock;
use crate::gates::GateMirror;
use crate::handle::{Attach, CommandError, Decided, Handle, Reply, Request};
use crate::pending::{Entry, Pending};
use crate::recover::Clearing;
use crate::timer::Timer;
use crate::turn::Turns;
use crate::work::{Step, WorkList};
use crate::world::{Order, Report};

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
pub struct Setup {
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
    pub turns: Option<Turns>,
}

/// The loop of one project. It holds the project's lock.
pub struct Runner {
    pub(crate) setup: Setup,
    pub(crate) state: State,
    pub(crate) journal: Option<Box<dyn Journal>>,
    /// Set if the previous holder released the project properly.
    pub(crate) clean: bool,
    /// Effects that were outstanding when this holder took over: their worker is gone.
    pub(crate) leftover: Vec<EffectId>,
    pub(crate) handle: Handle,
    pub(crate) work: WorkList,
    pub(crate) pending: Pending,
    requests: mpsc::Receiver<Request>,
    /// Workers that wait until their scope is free.
    line: VecDeque<Attach>,
    pub(crate) clearing: Clearing,
    /// Questions whose answers are taken up and not durable yet.
    pub(crate) answering: BTreeSet<QuestionId>,
    timer: Timer,
    closing: bool,
}

/// The result of the loop.
pub type Ended = Result<(), StoreError>;

impl Runner {
    /// Claims the project's lock and reads its state. No effect is performed before
    /// [`run`](Self::run).
    pub async fn open(setup: Setup) -> Result<Self, StoreError> {
        let claim = setup.store.claim(&setup.project, &setup.holder).await?;
        let (send, requests) = mpsc::channel(REQUESTS_MAX);
        let (notices, _) = broadcast::channel(NOTICES_MAX);
        let leftover = leftover(&claim.state);
        Ok(Self {
            setup,
            leftover,
            state: claim.state,
            journal: Some(claim.journal),
            clean: claim.clean,
            handle: Handle {
                requests: send,
                notices,
                unwritten: Arc::default(),
                closing: Arc::default(),
            },
            work: WorkList::new(EFFECTS_MAX),
            pending: Pending::default(),
            requests,
            line: VecDeque::new(),
            clearing: Clearing::default(),
            answering: BTreeSet::new(),
            timer: Timer::default(),
            closing: false,
        })
    }

    /// Returns a handle of the loop.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns the state as the claim read it.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Runs until the loop is shut down or the store is lost.
    pub async fn run(mut self) -> Ended {
        self.take_answers().await?;
        while !self.is_over() {
            self.handle.unwritten.store(self.pending.len(), Ordering::Release);
            let room = self.pending.len() < PENDING_MAX;
            let wake = self.state.next_wake().filter(|_| !self.closing && room);
            tokio::select! {
                biased;
                durable = self.pending.next(), if !self.pending.is_empty() => match durable {
                    Ok(entry) => self.let_go(entry),
                    Err(error) => self.start_over(error).await?,
                },
                ended = self.work.ended(), if room && self.work.is_running() => {
                    if let Some((effect, Some(report))) = ended {
                        self.settle(effect, report);
                    }
                }
                cleared = self.clearing.next(), if room && self.clearing.is_pending() => {
                    self.cleared(cleared);
                }
                request = self.requests.recv(), if room => match request {
                    // Results that were not recorded are recovered at the next start.
                    Some(Request::Shutdown { now: true }) => return Ok(()),
                    Some(request) => self.take(request).await?,
                    None => self.close(),
                },
                () = self.timer.until(&self.setup.clock, wake) => self.wake(),
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

    async fn take(&mut self, request: Request) -> Result<(), StoreError> {
        match request {
            // The next holder starts the work that this one refuses.
            Request::Command { reply, .. } | Request::Checkpoint { reply, .. } if self.closing => {
                let _ = reply.send(Err(CommandError::Ended));
            }
            Request::Attach(_) if self.closing => {}
            Request::Command { command, reply } => self.decide(*command, None, Some(reply)),
            Request::Checkpoint { effect, report, conversation, reply } => {
                self.checkpoint(effect, report, conversation, reply);
            }
            Request::Attach(attach) => self.attach(attach),
            Request::Detach { attachment, clean } => self.detached(attachment, clean),
            Request::Look(look) => look(&self.state),
            Request::Answers { reply } => {
                self.take_answers().await?;
                self.write(Batch::default(), None, Some(reply));
            }
            Request::Shutdown { .. } => self.close(),
        }
        Ok(())
    }

    fn attach(&mut self, attach: Attach) {
        let Attach { scope, world, waits, attached } = attach;
        if attached.is_closed() {
            return;
        }
        if self.work.is_taken(&scope) {
            if waits {
                self.line.push_back(Attach { scope, world, waits, attached });
            } else {
                let _ = attached.send(None);
            }
            return;
        }
        let number = self.work.attach(scope.clone(), world);
        self.clear(&scope, number);
        if attached.send(Some(number)).is_err() {
            // The worker left in this very moment and has performed no effect.
            self.detached(number, true);
        }
    }

    /// Retries the attachments in line, after a worker has left.
    pub(crate) fn next_in_line(&mut self) {
        for attach in std::mem::take(&mut self.line) {
            self.attach(attach);
        }
    }

    fn close(&mut self) {
        self.closing = true;
        self.handle.closing.store(true, Ordering::Release);
        // The waiting workers turn to the next holder.
        self.line.clear();
        self.work.close();
    }

    fn wake(&mut self) {
        let now = self.setup.clock.now();
        // The clock may have been set back since.
        if self.state.next_wake().is_some_and(|at| at <= now) {
            self.decide(Command::Wake, None, None);
        }
    }

    /// Starts an effect, unless another project found its account limited.
    fn perform(&mut self, order: Order) {
        let gates = self.setup.gates.as_ref();
        match gates.and_then(|gates| gates.refuses(&order, self.setup.clock.now())) {
            Some(report) => self.settle(order.effect.id, report),
            None => self.work.perform(order),
        }
    }

    fn settle(&mut self, effect: EffectId, report: Report) {
        crash::point();
        let command = Command::Settle { effect, outcome: report.outcome, spent: report.spent };
        let result = Some(command.clone());
        self.decide(command, result, None);
    }

    /// Decides a command. `result` is a copy of the command if it has to survive a failed write.
    pub(crate) fn decide(
        &mut self,
        command: Command,
        result: Option<Command>,
        reply: Option<Reply>,
    ) {
        match self.decided(command) {
            Ok(batch) => self.write(batch, result, reply),
            Err(rejected) => self.refuse(rejected, reply),
        }
    }

    /// Applies a command to the state in memory, and returns the batch to write.
    pub(crate) fn decided(&mut self, command: Command) -> Result<Batch, Rejected> {
        let now = self.setup.clock.now();
        let mut rng = Rng::at(&self.setup.project, self.state.seq());
        let events = decide(&mut self.state, command, &self.setup.policy, now, &mut rng)?;
        Ok(Batch::new(&self.state, events))
    }

    /// Queues a refusal, which waits for its turn like a decision.
    pub(crate) fn refuse(&mut self, rejected: Rejected, reply: Option<Reply>) {
        if let Rejected::Stale(effect) = &rejected {
            tracing::debug!(%effect, "a result came that is no longer awaited");
        }
        self.pending.push(Entry {
            durable: None,
            result: None,
            events: Arc::new([]),
            rejected: Some(rejected),
            steps: Vec::new(),
            notices: Vec::new(),
            reply,
        });
    }

    /// Appends a batch to the journal, and queues its consequences until it is durable.
    pub(crate) fn write(
        &mut self,
        mut batch: Batch,
        result: Option<Command>,
        reply: Option<Reply>,
    ) {
        let due = self.journal.as_ref().is_some_and(|journal| journal.snapshot_due());
        if due && !batch.events.is_empty() {
            batch.snapshot = Some(snapshot(&self.state));
        }
        let steps = batch.events.iter().flat_map(|recorded| self.steps(recorded)).collect();
        let events: Arc<[_]> = batch.events.iter().cloned().map(Arc::new).collect();
        let notices = self.notices(&events);
        let durable = match &mut self.journal {
            _ if batch.events.is_empty() && batch.taken.is_empty() => None,
            Some(journal) => Some(journal.append(batch)),
            None => None,
        };
        let durable = durable.map(|receipt| Box::pin(receipt.durable()) as _);
        self.pending.push(Entry { durable, result, events, rejected: None, steps, notices, reply });
    }

    /// Releases the effects, notices and reply of a decision that is on disk.
    fn let_go(&mut self, entry: Option<Entry>) {
        let Some(entry) = entry else { return };
        for step in entry.steps {
            crash::point();
            match step {
                Step::Perform(order) => self.perform(*order),
                Step::Stop(effect) => self.work.stop(effect),
            }
        }
        if let Some(gates) = &self.setup.gates {
            let now = self.setup.clock.now();
            entry.events.iter().for_each(|recorded| gates.note(&recorded.event, now));
        }
        for notice in entry.notices {
            // There may be no watcher.
            let _ = self.handle.notices.send(notice);
        }
        if let Some(reply) = entry.reply {
            let decided = match entry.rejected {
                Some(rejected) => Err(CommandError::Rejected(rejected)),
                None => Ok(Decided { events: entry.events }),
            };
            // The caller may be gone.
            let _ = reply.send(decided);
        }
    }
}

/// Returns the outstanding effects whose worker is gone. Sessions are excluded: their runtimes are
/// elsewhere and continue.
fn leftover(state: &State) -> Vec<EffectId> {
    let is_ours = |task| !state.task(task).is_some_and(Task::is_session);
    let owed = state.outstanding().into_iter().filter(|effect| is_ours(effect.task));
    owed.map(|effect| effect.id).collect()
}
