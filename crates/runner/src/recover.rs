//! Taking up what somebody else left: a process that died, or one that ended properly.
//!
//! First everything that may still be running for a task is ended; only then its runs are declared
//! gone, and what follows from that is decided.

use std::collections::BTreeSet;

use tokio::task::JoinSet;
use unstuck_core::engine::{Command, EffectId, TaskId};

use crate::runner::Runner;
use crate::world::Scope;

/// Tasks of which whatever was running is being ended.
#[derive(Default)]
pub(crate) struct Clearing(JoinSet<BTreeSet<TaskId>>);

impl Clearing {
    pub(crate) fn is_pending(&self) -> bool {
        !self.0.is_empty()
    }

    /// The next tasks of which nothing is running any more.
    pub(crate) async fn next(&mut self) -> BTreeSet<TaskId> {
        self.0.join_next().await.and_then(Result::ok).unwrap_or_default()
    }
}

impl Runner {
    /// Somebody performs the effects of `scope` from now on: what is left over there is taken up.
    pub(crate) fn clear(&mut self, scope: &Scope, attachment: u64) {
        let Some(world) = self.work.world(attachment).cloned() else { return };
        let mut tasks = BTreeSet::new();
        let performing = world.performing();
        let leftover: BTreeSet<EffectId> = self.leftover.drain(..).collect();
        for effect in self.state.outstanding() {
            let Some(order) = self.order(effect) else { continue };
            match leftover.contains(&order.effect.id) {
                true if !scope.covers(&order) => self.leftover.push(order.effect.id),
                true if performing.contains(&order.effect.id) => self.work.perform(order),
                true => {
                    tasks.insert(order.effect.task);
                }
                false => {}
            }
        }
        if !tasks.is_empty() {
            self.clearing.0.spawn(async move {
                let all: Vec<TaskId> = tasks.iter().copied().collect();
                world.clear(&all).await;
                tasks
            });
        }
    }

    /// Whoever performed is gone, and what they were doing with them: `clean` if they said so.
    /// Whoever is next in line takes their place.
    pub(crate) fn detached(&mut self, attachment: u64, clean: bool) {
        let tasks = self.work.detach(attachment);
        if !tasks.is_empty() {
            self.recover(&tasks, clean);
        }
        self.next_in_line();
    }

    /// Nothing of these tasks is running any more.
    pub(crate) fn recover(&mut self, tasks: &BTreeSet<TaskId>, clean: bool) {
        self.work.forget_waiting(|task| tasks.contains(&task));
        if self.is_all_that_was_left() {
            self.decide(Command::Recover { task: None, clean }, None, None);
            return;
        }
        for task in tasks {
            self.decide(Command::Recover { task: Some(*task), clean }, None, None);
        }
    }

    /// Whether nothing else is under way: not with anybody, not on its way to the disk, not being
    /// cleared away.
    fn is_all_that_was_left(&self) -> bool {
        self.leftover.is_empty()
            && self.work.is_idle()
            && self.pending.is_empty()
            && !self.clearing.is_pending()
    }
}
