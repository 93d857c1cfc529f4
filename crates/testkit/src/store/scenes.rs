//! The simulated runner on top of a store: its writes and crashes.

use std::collections::BTreeMap;

use unstuck_core::engine::{Event, Recorded, State};
use unstuck_store::{Batch, Checkpoint, Conversation, Receipt, snapshot};

use super::{Checked, Dump, PROJECT, Place, holder, same};
use crate::chance::Chance;
use crate::driver::Sim;
use crate::profile::Profile;
use crate::run;

/// An operation on a store.
#[derive(Clone, Debug)]
pub enum Scene {
    /// A decision becomes durable.
    Write(Vec<Recorded>),
    /// The process dies, or a write fails, and the project is claimed again.
    Restart,
}

/// Converts a seed of the simulator to operations on a store: only durable decisions are written, and each
/// crash and each failed write is a restart.
pub fn scenes(seed: u64, steps: u64) -> Checked<Vec<Scene>> {
    let mut watcher = Watcher::default();
    let sim = run::watched(Profile::wild(seed), steps, &mut |sim| watcher.see(sim));
    sim.map_err(|failure| failure.violation)?;
    Ok(watcher.scenes)
}

#[derive(Default)]
struct Watcher {
    journal: Vec<Recorded>,
    /// The ends of decisions that are not durable yet.
    pending: Vec<usize>,
    written: usize,
    restarts: u64,
    scenes: Vec<Scene>,
}

impl Watcher {
    fn see(&mut self, sim: &Sim) {
        let restarts = sim.stats.crashes + sim.stats.lost_writes;
        if restarts > self.restarts {
            self.restarts = restarts;
            let both = self.journal.iter().zip(&sim.journal);
            let common = both.take_while(|(old, new)| old == new).count();
            // The remaining events were durable: a decision is lost as a whole.
            let kept = self.pending.iter().copied().filter(|end| *end <= common).max();
            self.write(kept.unwrap_or(self.written));
            self.journal.truncate(self.written);
            self.pending.clear();
            self.scenes.push(Scene::Restart);
        }
        if sim.journal.len() > self.journal.len() {
            self.journal.extend_from_slice(&sim.journal[self.journal.len()..]);
            self.pending.push(self.journal.len());
        }
        if sim.is_durable() {
            self.write(self.journal.len());
        }
    }

    fn write(&mut self, upto: usize) {
        for end in std::mem::take(&mut self.pending) {
            if end > upto {
                self.pending.push(end);
                continue;
            }
            self.scenes.push(Scene::Write(self.journal[self.written..end].to_vec()));
            self.written = end;
        }
    }
}

/// Plays scenes on a store and returns its final content. At every restart, the content found is the one
/// written.
pub async fn told(place: &dyn Place, scenes: &[Scene], seed: u64) -> Checked<Dump> {
    let mut chance = Chance::at(seed, &["store"], 0);
    let mut state = State::new(PROJECT);
    let mut store = place.open();
    let mut claim = store.claim(PROJECT, &holder("run")).await?;
    let mut receipts: Vec<Receipt> = Vec::new();
    let mut conversations = BTreeMap::new();
    for scene in scenes {
        match scene {
            Scene::Write(events) => {
                for recorded in events {
                    state.apply(recorded);
                }
                let mut batch = Batch::new(&state, events.clone());
                batch.checkpoint = said(&state, events)?;
                conversations.extend(batch.checkpoint.clone().map(|c| (c.task, c.conversation)));
                conversations.retain(|task, _| !batch.changes.conversations_over.contains(task));
                if chance.one_in(16) {
                    batch.snapshot = Some(snapshot(&state));
                }
                receipts.push(claim.journal.append(batch));
            }
            Scene::Restart => {
                for receipt in receipts.drain(..) {
                    receipt.durable().await?;
                }
                drop(claim);
                if chance.one_in(4) {
                    drop(store);
                    store = place.open();
                }
                claim = store.claim(PROJECT, &holder("run")).await?;
                same("what is found is what was written", &claim.state, &state)?;
                for task in state.tasks() {
                    let kept = store.checkpoint(PROJECT, task.id).await?;
                    let wanted = conversations.get(&task.id).cloned();
                    same("so is what was said", &kept, &wanted)?;
                }
            }
        }
    }
    for receipt in receipts {
        receipt.durable().await?;
    }
    claim.journal.close(&state).await?;
    drop(store);
    let store = place.open();
    let claim = store.claim(PROJECT, &holder("run")).await?;
    same("what is found after a proper end is what was written", &claim.state, &state)?;
    let dump = Dump::of(&*store, PROJECT).await?;
    dump.agrees(&state)?;
    Ok(dump)
}

/// Returns the conversation of an agent that reports progress.
fn said(state: &State, events: &[Recorded]) -> Checked<Option<Checkpoint>> {
    let progress = events.iter().find_map(|recorded| match recorded.event {
        Event::RunProgress { run, .. } => Some((recorded.seq, state.run(run)?.task)),
        _ => None,
    });
    let Some((seq, task)) = progress else { return Ok(None) };
    let conversation = Conversation::new(format!("said by {seq}"))?;
    Ok(Some(Checkpoint { task, conversation }))
}
