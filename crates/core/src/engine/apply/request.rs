//! Applies request events to the state: accepted requests are remembered by their idempotency keys.

use std::sync::Arc;

use crate::engine::ids::{BuildId, TaskId};
use crate::engine::state::{HandledRequest, State};
use crate::plan::Request;

/// Maximum number of requests remembered per session; the oldest are dropped first.
const REPORTS_KEPT_MAX: usize = 256;
/// Maximum number of requests of people that are remembered; the oldest are dropped first.
const REQUESTS_KEPT_MAX: usize = 1_024;

impl State {
    /// Remembers a request together with its build, so that the build is found by the request even
    /// after the state has dropped it.
    pub(super) fn command_ordered(&mut self, request: &Request, build: Option<BuildId>) {
        if self.requests.len() >= REQUESTS_KEPT_MAX {
            self.requests.pop_front();
        }
        self.requests.push_back(HandledRequest { request: request.clone(), build });
    }

    pub(super) fn session_reported(&mut self, task: TaskId, request: &Request) {
        let Some(task) = self.tasks.get_mut(&task) else { return };
        if task.reports.len() >= REPORTS_KEPT_MAX {
            task.reports.remove(0);
        }
        task.reports.push(Request { key: Arc::clone(&request.key), said: request.said });
    }
}
