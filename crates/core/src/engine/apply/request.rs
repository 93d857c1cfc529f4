//! What events do to requests: which ones were taken is remembered.

use std::sync::Arc;

use crate::engine::ids::{BuildId, TaskId};
use crate::engine::state::{State, Taken};
use crate::plan::Request;

/// How many requests of one session are remembered, the latest ones.
const REPORTS_KEPT_MAX: usize = 256;
/// How many requests of people are remembered, the latest ones.
const REQUESTS_KEPT_MAX: usize = 1_024;

impl State {
    /// A build is found by its request even when it is forgotten itself.
    pub(super) fn ordered(&mut self, request: &Request, build: Option<BuildId>) {
        if self.requests.len() >= REQUESTS_KEPT_MAX {
            self.requests.pop_front();
        }
        self.requests.push_back(Taken { request: request.clone(), build });
    }

    pub(super) fn reported(&mut self, task: TaskId, request: &Request) {
        let Some(task) = self.tasks.get_mut(&task) else { return };
        if task.reports.len() >= REPORTS_KEPT_MAX {
            task.reports.remove(0);
        }
        task.reports.push(Request { key: Arc::clone(&request.key), said: request.said });
    }
}
