//! An execution of a script, and how far it is.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::world::Report;

/// An execution, under way or over. It outlives the loop that asked for it: when the process that
/// held the project ends before the result is on disk, another one asks for the same effect again
/// and gets the same result.
#[derive(Clone, Debug)]
pub(super) struct Running {
    pub(super) stop: CancellationToken,
    pub(super) progress: watch::Receiver<Progress>,
}

/// How far an execution is.
#[derive(Clone, Debug)]
pub(super) enum Progress {
    UnderWay,
    /// Without a report when it was stopped.
    Over(Option<Report>),
}

impl Running {
    pub(super) async fn over(&mut self) -> Option<Report> {
        let over = |progress: &Progress| matches!(progress, Progress::Over(_));
        match self.progress.wait_for(over).await.as_deref() {
            Ok(Progress::Over(report)) => report.clone(),
            _ => None,
        }
    }
}
