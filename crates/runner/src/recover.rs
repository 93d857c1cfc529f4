//! Taking up what somebody else left: a process that died, or one that ended properly.
//!
//! First everything that may still be running for a task is ended; only then its runs are declared
//! gone, and what follows from that is decided.

use std::collections::BTreeSet;

use tokio::task::JoinSet;
use unstuck_core::engine::{Command, EffectId, TaskId};

use crate::notice::Notice;
use crate::runner::Runner;
use crate::world::Scope;

/// Tasks of which whatever was running is being ended, or waited for.
#[derive(Default)]
pub(crate) struct Clearing {
    set: JoinSet<Cleared>,
    /// Those that are performed elsewhere and waited for.
    elsewhere: BTreeSet<TaskId>,
}

/// What has come of it.
pub(crate) enum Cleared {
    /// Nothing of these tasks is running any more.
    Gone(BTreeSet<TaskId>),
    /// The process that performed this task elsewhere has done with it, or is gone.
    TurnFree(TaskId),
}

impl Clearing {
    pub(crate) fn is_pending(&self) -> bool {
        !self.set.is_empty()
    }

    /// The next thing that has come of it.
    pub(crate) async fn next(&mut self) -> Cleared {
        let next = self.set.join_next().await.and_then(Result::ok);
        next.unwrap_or_else(|| Cleared::Gone(BTreeSet::new()))
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
            let (id, task) = (order.effect.id, order.effect.task);
            match leftover.contains(&id) {
                true if !scope.covers(&order) => self.leftover.push(id),
                true if performing.contains(&id) => self.work.perform(order),
                true if self.is_elsewhere(scope, task) => self.leftover.push(id),
                true => {
                    tasks.insert(task);
                }
                false => {}
            }
        }
        if !tasks.is_empty() {
            self.clearing.set.spawn(async move {
                let all: Vec<TaskId> = tasks.iter().copied().collect();
                world.clear(&all).await;
                Cleared::Gone(tasks)
            });
        }
    }

    /// Whether a process that lives performs a task, for a holder that is gone: it will come to us,
    /// or its turn is waited for. Whoever attaches for one task has the turn at it.
    fn is_elsewhere(&mut self, scope: &Scope, task: TaskId) -> bool {
        let Some(turns) = self.setup.turns.as_ref().filter(|_| scope.is_broad()) else {
            return false;
        };
        if !turns.is_taken(task) {
            return false;
        }
        if self.clearing.elsewhere.insert(task) {
            let turns = turns.clone();
            self.clearing.set.spawn(async move {
                if let Err(error) = turns.take(task).await {
                    tracing::error!(%error, %task, "the turn at a task cannot be waited for");
                    std::future::pending::<()>().await;
                }
                Cleared::TurnFree(task)
            });
        }
        true
    }

    /// What is left over can be taken up.
    pub(crate) fn cleared(&mut self, cleared: Cleared) {
        match cleared {
            Cleared::Gone(tasks) => self.recover(&tasks, self.clean),
            Cleared::TurnFree(task) => {
                self.clearing.elsewhere.remove(&task);
                for (attachment, scope) in self.work.broad() {
                    self.clear(&scope, attachment);
                }
            }
        }
    }

    /// Whoever performed is gone, and what they were doing with them: `clean` if they said so.
    /// Whoever is next in line takes their place.
    pub(crate) fn detached(&mut self, attachment: u64, clean: bool) {
        let of_a_build = self.work.performs_a_build(attachment);
        let tasks = self.work.detach(attachment);
        if !tasks.is_empty() {
            self.recover(&tasks, clean);
        }
        self.next_in_line();
        if of_a_build {
            // Nobody may be watching.
            let _ = self.handle.notices.send(Notice::Left);
        }
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
