//! The world of the story: what was done to it stays done, whoever is killed.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Outcome, TaskId, Work};
use unstuck_core::policy::Amount;
use unstuck_core::time::Span;
use unstuck_runner::{Clock as _, Order, Report, World};

use super::clock::NightClock;
use super::story::{self, Push};

/// What an agent's second costs in the story, in millionths.
const MICROS_PER_SECOND: u64 = 1_200;

/// The world of the story. It lies in a folder, as any world outside of us would.
pub(super) struct StoryWorld {
    folder: PathBuf,
    clock: Arc<NightClock>,
}

impl StoryWorld {
    pub(super) const fn new(folder: PathBuf, clock: Arc<NightClock>) -> Self {
        Self { folder, clock }
    }

    fn outcome(&self, order: &Order) -> Outcome {
        match order.effect.what {
            Work::Attempt { start } => story::attempt(&order.task.name, start, order.attempt),
            Work::Check => story::check(&order.task.name, order.attempt),
            Work::Perform { .. } => self.perform(order),
            Work::Probe { .. } if self.was_applied(order) => story::applied("it had arrived"),
            Work::Probe { .. } => Outcome::NotApplied,
            _ => Outcome::Done,
        }
    }

    fn perform(&self, order: &Order) -> Outcome {
        let (task, key) = (order.task.name.as_str(), key(order));
        if key == "preview" && !renewed(&self.folder).exists() {
            return story::locked_out();
        }
        let first = !self.was_applied(order);
        if first && let Err(error) = self.apply(order) {
            return story::disk(&error);
        }
        match story::push(task, key) {
            // It arrives, and the news of that is lost on the way back.
            Push::Lost if first => story::lost(),
            _ => story::applied("done"),
        }
    }

    fn apply(&self, order: &Order) -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(applied(&self.folder))?;
        writeln!(file, "{}", entry(order))
    }

    fn was_applied(&self, order: &Order) -> bool {
        applied_in(&self.folder).contains(&entry(order))
    }
}

#[async_trait]
impl World for StoryWorld {
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        let takes = story::takes(&order.task.name, order.effect.what, order.attempt);
        let until = self.clock.now() + takes;
        tokio::select! {
            () = self.clock.until(until) => {}
            () = stop.cancelled() => return None,
        }
        Some(Report { outcome: self.outcome(&order), spent: cost(order.effect.what, takes) })
    }

    /// Nothing of the story runs outside of this process.
    async fn clear(&self, _tasks: &[TaskId]) {}
}

/// A person renews the key of the hosting account.
pub(super) fn renew_key(folder: &Path) -> std::io::Result<()> {
    fs::write(renewed(folder), "renewed\n")
}

/// What was done to the world, in order.
pub(super) fn applied_in(folder: &Path) -> Vec<String> {
    let written = fs::read_to_string(applied(folder)).unwrap_or_default();
    written.lines().map(str::to_owned).collect()
}

fn renewed(folder: &Path) -> PathBuf {
    folder.join("hosting-key")
}

fn applied(folder: &Path) -> PathBuf {
    folder.join("applied.log")
}

fn entry(order: &Order) -> String {
    format!("{} {}", order.task.name, key(order))
}

fn key(order: &Order) -> &str {
    order.mutation.as_ref().map_or("", |mutation| mutation.spec.key.as_str())
}

const fn cost(work: Work, takes: Span) -> Amount {
    match work {
        Work::Attempt { .. } => {
            Amount { money_micros: takes.as_millis() / 1_000 * MICROS_PER_SECOND, ..Amount::ZERO }
        }
        _ => Amount::ZERO,
    }
}
