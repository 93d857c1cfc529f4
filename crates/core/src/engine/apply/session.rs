//! What events do to sessions: which requests were taken is remembered.

use std::sync::Arc;

use crate::engine::ids::{BuildId, TaskId};
use crate::engine::state::{Opened, State};
use crate::plan::{Plan, Request, TaskSpec};

/// How many requests of one session are remembered, the latest ones.
const REPORTS_KEPT_MAX: usize = 256;
/// How many sessions can be found by the request that opened them, the latest ones.
const OPENED_KEPT_MAX: usize = 1_024;

impl State {
    /// A session is found by its request even when its build is forgotten.
    pub(super) fn session_opened(&mut self, build: BuildId, plan: &Plan) {
        let Some(request) = plan.session().and_then(TaskSpec::opened_by) else {
            return;
        };
        self.opened.push_back(Opened { request: request.clone(), build });
        if self.opened.len() > OPENED_KEPT_MAX {
            self.opened.pop_front();
        }
    }

    pub(super) fn reported(&mut self, task: TaskId, request: &Request) {
        let Some(task) = self.tasks.get_mut(&task) else { return };
        if task.reports.len() >= REPORTS_KEPT_MAX {
            task.reports.remove(0);
        }
        task.reports.push(Request { key: Arc::clone(&request.key), said: request.said });
    }
}
