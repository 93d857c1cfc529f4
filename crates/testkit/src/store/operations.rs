//! The simulated runner on top of a store: its writes and crashes.

use std::collections::BTreeMap;

use unstuck_core::engine::{Event, RecordedEvent, State};
use unstuck_store::{Batch, Checkpoint, Receipt, StoredConversation, serialize_snapshot};

use super::{PROJECT, StoreDump, StoreOpener, SuiteResult, check_equal, make_holder};
use crate::chance::Chance;
use crate::driver::Simulation;
use crate::profile::WorldProfile;
use crate::run;

/// An operation on a store.
#[derive(Clone, Debug)]
pub enum StoreOperation {
    /// A decision becomes durable.
    Write(Vec<RecordedEvent>),
    /// The process dies, or a write fails, and the project is claimed again.
    Restart,
}

/// Converts a seed of the simulator to operations on a store: only durable decisions are written, and each
/// crash and each failed write is a restart.
pub fn simulate_operations(seed: u64, steps: u64) -> SuiteResult<Vec<StoreOperation>> {
    let mut watcher = SimulationWatcher::default();
    let sim = run::play_watched(WorldProfile::wild_from_seed(seed), steps, &mut |sim| {
        watcher.observe_move(sim);
    });
    sim.map_err(|failure| failure.violation)?;
    Ok(watcher.scenes)
}

#[derive(Default)]
struct SimulationWatcher {
    journal: Vec<RecordedEvent>,
    /// The ends of decisions that are not durable yet.
    pending: Vec<usize>,
    written: usize,
    restarts: u64,
    scenes: Vec<StoreOperation>,
}

impl SimulationWatcher {
    fn observe_move(&mut self, sim: &Simulation) {
        let restarts = sim.stats.crashes + sim.stats.lost_writes;
        if restarts > self.restarts {
            self.restarts = restarts;
            let both = self.journal.iter().zip(&sim.journal);
            let common = both.take_while(|(old, new)| old == new).count();
            // The remaining events were durable: a decision is lost as a whole.
            let kept = self.pending.iter().copied().filter(|end| *end <= common).max();
            self.push_writes(kept.unwrap_or(self.written));
            self.journal.truncate(self.written);
            self.pending.clear();
            self.scenes.push(StoreOperation::Restart);
        }
        if sim.journal.len() > self.journal.len() {
            self.journal.extend_from_slice(&sim.journal[self.journal.len()..]);
            self.pending.push(self.journal.len());
        }
        if sim.is_durable() {
            self.push_writes(self.journal.len());
        }
    }

    fn push_writes(&mut self, upto: usize) {
        for end in std::mem::take(&mut self.pending) {
            if end > upto {
                self.pending.push(end);
                continue;
            }
            self.scenes.push(StoreOperation::Write(self.journal[self.written..end].to_vec()));
            self.written = end;
        }
    }
}

/// Plays scenes on a store and returns its final content. At every restart, the content found is the one
/// written.
pub async fn play_operations(
    place: &dyn StoreOpener,
    scenes: &[StoreOperation],
    seed: u64,
) -> SuiteResult<StoreDump> {
    let mut chance = Chance::for_place(seed, &["store"], 0);
    let mut state = State::new(PROJECT);
    let mut store = place.open();
    let mut claim = store.claim_project(PROJECT, &make_holder("run")).await?;
    let mut receipts: Vec<Receipt> = Vec::new();
    let mut conversations = BTreeMap::new();
    for scene in scenes {
        match scene {
            StoreOperation::Write(events) => {
                for recorded in events {
                    state.apply(recorded)?;
                }
                let mut batch = Batch::new(&state, events.clone());
                batch.checkpoint = checkpoint_of_progress(&state, events)?;
                conversations.extend(batch.checkpoint.clone().map(|c| (c.task, c.conversation)));
                conversations.retain(|task, _| !batch.changes.conversations_over.contains(task));
                if chance.one_in(16) {
                    batch.snapshot = Some(serialize_snapshot(&state));
                }
                receipts.push(claim.journal.append_batch(batch));
            }
            StoreOperation::Restart => {
                for receipt in receipts.drain(..) {
                    receipt.wait_until_durable().await?;
                }
                drop(claim);
                if chance.one_in(4) {
                    drop(store);
                    store = place.open();
                }
                claim = store.claim_project(PROJECT, &make_holder("run")).await?;
                check_equal("what is found is what was written", &claim.state, &state)?;
                for task in state.tasks() {
                    let kept = store.load_checkpoint(PROJECT, task.id).await?;
                    let wanted = conversations.get(&task.id).cloned();
                    check_equal("so is what was said", &kept, &wanted)?;
                }
            }
        }
    }
    for receipt in receipts {
        receipt.wait_until_durable().await?;
    }
    claim.journal.close(&state).await?;
    drop(store);
    let store = place.open();
    let claim = store.claim_project(PROJECT, &make_holder("run")).await?;
    check_equal("what is found after a proper end is what was written", &claim.state, &state)?;
    let dump = StoreDump::read_project(&*store, PROJECT).await?;
    dump.check_against(&state)?;
    Ok(dump)
}

/// Returns the conversation of an agent that reports progress.
fn checkpoint_of_progress(
    state: &State,
    events: &[RecordedEvent],
) -> SuiteResult<Option<Checkpoint>> {
    let progress = events.iter().find_map(|recorded| match recorded.event {
        Event::RunProgress { run, .. } => Some((recorded.seq, state.run(run)?.task)),
        _ => None,
    });
    let Some((seq, task)) = progress else { return Ok(None) };
    let conversation = StoredConversation::new(format!("said by {seq}"))?;
    Ok(Some(Checkpoint { task, conversation }))
}
