//! Effects in progress in this process, regardless of the holder that asked for them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Effect, EffectId};

use super::locks::lock_unpoisoned;
use super::performer::{EffectResult, panic_result};

/// Effects that run or have ended in this process. They outlive the loop that asked for them: when
/// the holder ends before a result is on disk, the next one asks for the same effect again and gets
/// the same result. Dropping this aborts running effects.
#[derive(Debug, Default)]
pub(crate) struct RunningEffects(Mutex<BTreeMap<EffectId, RunningEffect>>);

#[derive(Clone, Debug)]
struct RunningEffect {
    effect: Effect,
    stop: CancellationToken,
    progress: watch::Receiver<EffectProgress>,
    task: AbortHandle,
}

#[derive(Clone, Debug)]
enum EffectProgress {
    UnderWay,
    /// Ended, without a report if it was stopped.
    Over(Option<EffectResult>),
}

impl RunningEffects {
    /// Performs an effect to its end, or joins it if it is running or has ended already.
    pub(crate) async fn perform_or_join<W>(
        &self,
        effect: &Effect,
        stop: &CancellationToken,
        work: impl FnOnce(CancellationToken) -> W,
    ) -> Option<EffectResult>
    where
        W: Future<Output = Option<EffectResult>> + Send + 'static,
    {
        let mut running = self.start_or_get(effect, work);
        tokio::select! {
            report = running.wait_for_end() => return report,
            () = stop.cancelled() => {}
        }
        running.stop.cancel();
        let report = running.wait_for_end().await;
        lock_unpoisoned(&self.0).remove(&effect.id);
        report
    }

    /// Returns all effects that run or have ended here.
    pub(crate) fn effect_ids(&self) -> Vec<EffectId> {
        lock_unpoisoned(&self.0).keys().copied().collect()
    }

    /// Stops all running effects, and returns when they are gone.
    pub(crate) async fn stop_all(&self) {
        let running: Vec<RunningEffect> = lock_unpoisoned(&self.0).values().cloned().collect();
        for mut running in running {
            running.stop.cancel();
            // Returns as well if the runtime is shutting down and the task is dropped without a
            // report.
            running.wait_for_end().await;
        }
    }

    fn start_or_get<W>(
        &self,
        effect: &Effect,
        work: impl FnOnce(CancellationToken) -> W,
    ) -> RunningEffect
    where
        W: Future<Output = Option<EffectResult>> + Send + 'static,
    {
        let mut all = lock_unpoisoned(&self.0);
        if let Some(running) = all.get(&effect.id) {
            return running.clone();
        }
        // The next effect of a task comes only when the results of all its earlier ones are on
        // disk.
        all.retain(|_, earlier| earlier.effect.task != effect.task || earlier.is_under_way());
        let (say, progress) = watch::channel(EffectProgress::UnderWay);
        let stop = CancellationToken::new();
        let work = work(stop.clone());
        let task = tokio::spawn(async move {
            say.send_replace(EffectProgress::Over(work.await));
        });
        let task = task.abort_handle();
        let running = RunningEffect { effect: effect.clone(), stop, progress, task };
        all.insert(effect.id, running.clone());
        running
    }
}

impl Drop for RunningEffects {
    fn drop(&mut self) {
        for running in lock_unpoisoned(&self.0).values() {
            running.task.abort();
        }
    }
}

impl RunningEffect {
    fn is_under_way(&self) -> bool {
        matches!(*self.progress.borrow(), EffectProgress::UnderWay)
    }

    async fn wait_for_end(&mut self) -> Option<EffectResult> {
        let over = |progress: &EffectProgress| matches!(progress, EffectProgress::Over(_));
        match self.progress.wait_for(over).await.as_deref() {
            Ok(EffectProgress::Over(report)) => report.clone(),
            Ok(EffectProgress::UnderWay) => None,
            // The task ended without a report: it panicked or was aborted.
            Err(_) => Some(panic_result(&self.effect)),
        }
    }
}
