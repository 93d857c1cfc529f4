//! What is being performed here, whoever decides.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Effect, EffectId};

use crate::lock::lock;
use crate::work::broke_down;
use crate::world::Report;

/// Effects that are performed here or have ended here. They outlive the loop that asked for them:
/// when the process that held the project ends before a result is on disk, another one asks for the
/// same effect again and gets the same result. When this is dropped, what is performed is cut off.
#[derive(Debug, Default)]
pub(crate) struct UnderWay(Mutex<BTreeMap<EffectId, Running>>);

#[derive(Clone, Debug)]
struct Running {
    effect: Effect,
    stop: CancellationToken,
    progress: watch::Receiver<Progress>,
    task: AbortHandle,
}

/// How far an effect is.
#[derive(Clone, Debug)]
enum Progress {
    UnderWay,
    /// Without a report when it was stopped.
    Over(Option<Report>),
}

impl UnderWay {
    /// Performs an effect to its end, unless that is done already.
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

    /// All that is known here.
    pub(crate) fn effects(&self) -> Vec<EffectId> {
        lock(&self.0).keys().copied().collect()
    }

    /// Ends what is running, and returns when it is gone.
    pub(crate) async fn end(&self) {
        let running: Vec<Running> = lock(&self.0).values().cloned().collect();
        for mut running in running {
            running.stop.cancel();
            // Nobody says it when the runtime is ending.
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
        // Another effect of a task comes only when the results of all its earlier ones are on disk.
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
            // It said nothing at its end.
            Err(_) => Some(broke_down(&self.effect)),
        }
    }
}
