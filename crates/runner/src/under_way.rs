//! Effects in progress in this process, regardless of the holder that asked for them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Effect, EffectId};

use crate::lock::lock;
use crate::work::broke_down;
use crate::world::Report;

/// Effects that run or have ended in this process. They outlive the loop that asked for them: when
/// the holder ends before a result is on disk, the next one asks for the same effect again and gets
/// the same result. Dropping this aborts running effects.
#[derive(Debug, Default)]
pub(crate) struct UnderWay(Mutex<BTreeMap<EffectId, Running>>);

#[derive(Clone, Debug)]
struct Running {
    effect: Effect,
    stop: CancellationToken,
    progress: watch::Receiver<Progress>,
    task: AbortHandle,
}

/// The progress of an effect.
#[derive(Clone, Debug)]
enum Progress {
    UnderWay,
    /// Ended, without a report if it was stopped.
    Over(Option<Report>),
}

impl UnderWay {
    /// Performs an effect to its end, or joins it if it is running or has ended already.
    pub(crate) async fn perform<W>(
        &self,
        effect: &Effect,
        stop: &CancellationToken,
        work: impl FnOnce(CancellationToken) -> W,
    ) -> Option<Report>
    where
        W: Future<Output = Option<Report>> + Send + 'static,
    {
        let mut running = self.begin(effect, work);
        tokio::select! {
            report = running.over() => return report,
            () = stop.cancelled() => {}
        }
        running.stop.cancel();
        let report = running.over().await;
        lock(&self.0).remove(&effect.id);
        report
    }

    /// Returns all effects that run or have ended here.
    pub(crate) fn effects(&self) -> Vec<EffectId> {
        lock(&self.0).keys().copied().collect()
    }

    /// Stops all running effects, and returns when they are gone.
    pub(crate) async fn end(&self) {
        let running: Vec<Running> = lock(&self.0).values().cloned().collect();
        for mut running in running {
            running.stop.cancel();
            // Returns as well if the runtime is shutting down and the task is dropped without a
            // report.
            running.over().await;
        }
    }

    fn begin<W>(&self, effect: &Effect, work: impl FnOnce(CancellationToken) -> W) -> Running
    where
        W: Future<Output = Option<Report>> + Send + 'static,
    {
        let mut all = lock(&self.0);
        if let Some(running) = all.get(&effect.id) {
            return running.clone();
        }
        // The next effect of a task comes only when the results of all its earlier ones are on
        // disk.
        all.retain(|_, earlier| earlier.effect.task != effect.task || earlier.is_under_way());
        let (say, progress) = watch::channel(Progress::UnderWay);
        let stop = CancellationToken::new();
        let work = work(stop.clone());
        let task = tokio::spawn(async move {
            say.send_replace(Progress::Over(work.await));
        });
        let task = task.abort_handle();
        let running = Running { effect: effect.clone(), stop, progress, task };
        all.insert(effect.id, running.clone());
        running
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        for running in lock(&self.0).values() {
            running.task.abort();
        }
    }
}

impl Running {
    fn is_under_way(&self) -> bool {
        matches!(*self.progress.borrow(), Progress::UnderWay)
    }

    async fn over(&mut self) -> Option<Report> {
        let over = |progress: &Progress| matches!(progress, Progress::Over(_));
        match self.progress.wait_for(over).await.as_deref() {
            Ok(Progress::Over(report)) => report.clone(),
            Ok(Progress::UnderWay) => None,
            // The task ended without a report: it panicked or was aborted.
            Err(_) => Some(broke_down(&self.effect)),
        }
    }
}
