//! The loop: a command comes in, the core decides, the store remembers, and only then the world
//! acts.
//!
//! Decisions are applied to memory at once and become durable in groups; effects, replies and
//! notices are let go in the order of the journal, each when its decision is on disk.

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

/// Requests that may wait for the loop.
const REQUESTS_MAX: usize = 1_024;
/// Decisions that may be on their way to the disk.
const PENDING_MAX: usize = 4_096;
/// Notices a slow watcher may be behind.
const NOTICES_MAX: usize = 4_096;
/// Effects that may be performed at the same time: thousands that come back after a crash take
/// their turns.
const EFFECTS_MAX: usize = 512;

/// What the loop needs.
#[derive(Clone)]
pub struct Setup {
    /// Where the project is remembered.
    pub store: Arc<dyn Store>,
    /// Its name.
    pub project: Arc<str>,
    /// Who we are.
    pub holder: Holder,
    /// The limits.
    pub policy: Arc<Policy>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where projects tell each other of limited accounts, if they do.
    pub gates: Option<GateMirror>,
    /// Where processes that live say which tasks they perform, if they do.
    pub turns: Option<Turns>,
}

/// The loop of one project. It holds the project's lock.
pub struct Runner {
    pub(crate) setup: Setup,
    pub(crate) state: State,
    pub(crate) journal: Option<Box<dyn Journal>>,
    /// Whether whoever held the project before let go of it properly.
    pub(crate) clean: bool,
    /// Effects that were owed when we came: whoever performed them is gone.
    pub(crate) leftover: Vec<EffectId>,
    pub(crate) handle: Handle,
    pub(crate) work: WorkList,
    pub(crate) pending: Pending,
    requests: mpsc::Receiver<Request>,
    /// Those who wait until somebody else has done with what they want to perform.
    line: VecDeque<Attach>,
    pub(crate) clearing: Clearing,
    /// Answers that are taken up and on their way to the disk.
    pub(crate) answering: BTreeSet<QuestionId>,
    timer: Timer,
    closing: bool,
}

/// How the loop ended.
pub type Ended = Result<(), StoreError>;

impl Runner {
    /// Takes the project's lock and reads what it adds up to. Nothing happens before
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

    /// A way to talk to it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The state it begins with.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Runs until it is shut down or the store is lost.
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
                    // What was not recorded is found out at the next start.
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

    /// Everything is recorded that can be, and nothing is being performed.
    fn is_over(&self) -> bool {
        self.closing && self.pending.is_empty() && !self.work.is_running()
    }

    async fn take(&mut self, request: Request) -> Result<(), StoreError> {
        match request {
            // What is not begun here is begun by whoever comes next.
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
            // Whoever attached has gone in this very moment and has done nothing.
            self.detached(number, true);
        }
    }

    /// Somebody has left: whoever waited for their place may have it.
    pub(crate) fn next_in_line(&mut self) {
        for attach in std::mem::take(&mut self.line) {
            self.attach(attach);
        }
    }

    fn close(&mut self) {
        self.closing = true;
        self.handle.closing.store(true, Ordering::Release);
        // They turn to whoever comes next.
        self.line.clear();
        self.work.close();
    }

    fn wake(&mut self) {
        let now = self.setup.clock.now();
        // The clock may have been set: then the time has not come.
        if self.state.next_wake().is_some_and(|at| at <= now) {
            self.decide(Command::Wake, None, None);
        }
    }

    /// Has an effect performed, unless another project found its account limited.
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

    /// Decides a command. `result` is the command once more if it has to survive a failed write.
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

    /// What a command leads to, in memory.
    pub(crate) fn decided(&mut self, command: Command) -> Result<Batch, Rejected> {
        let now = self.setup.clock.now();
        let mut rng = Rng::at(&self.setup.project, self.state.seq());
        let events = decide(&mut self.state, command, &self.setup.policy, now, &mut rng)?;
        Ok(Batch::new(&self.state, events))
    }

    /// A refusal waits for its turn too.
    pub(crate) fn refuse(&mut self, rejected: Rejected, reply: Option<Reply>) {
        if let Rejected::Stale(effect) = &rejected {
            tracing::debug!(%effect, "a result came that nobody waits for");
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

    /// Hands a batch to the writer; what follows from it waits for its turn.
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

    /// A decision is on disk.
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
            // Nobody may be watching.
            let _ = self.handle.notices.send(notice);
        }
        if let Some(reply) = entry.reply {
            let decided = match entry.rejected {
                Some(rejected) => Err(CommandError::Rejected(rejected)),
                None => Ok(Decided { events: entry.events }),
            };
            // Whoever asked may have gone.
            let _ = reply.send(decided);
        }
    }
}

/// What is owed by whoever is gone. A runtime elsewhere is not: its sessions go on as they are.
fn leftover(state: &State) -> Vec<EffectId> {
    let is_ours = |task| !state.task(task).is_some_and(Task::is_session);
    let owed = state.outstanding().into_iter().filter(|effect| is_ours(effect.task));
    owed.map(|effect| effect.id).collect()
}
