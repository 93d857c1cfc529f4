//! The consequences of a decision once it is on disk.

use std::sync::Arc;

use unstuck_core::engine::{Effect, Recorded, Task, Work, effects};
use unstuck_core::fault::{Fault, RunFailure};
use unstuck_core::tell;

use crate::notice::Notice;
use crate::runner::Runner;
use crate::work::Step;
use crate::world::Order;

impl Runner {
    /// Returns the steps that follow from an event that was just decided.
    pub(crate) fn steps(&self, recorded: &Recorded) -> Vec<Step> {
        effects(&self.state, recorded).filter_map(|effect| self.step(effect)).collect()
    }

    fn step(&self, effect: Effect) -> Option<Step> {
        match effect.what {
            Work::Stop { effect } => Some(Step::Stop(effect)),
            _ => self.order(effect).map(|order| Step::Perform(Box::new(order))),
        }
    }

    /// Returns the order of an effect with all it takes to perform it; `None` if it is not
    /// performed by this process.
    pub(crate) fn order(&self, effect: Effect) -> Option<Order> {
        // An effect of a session is performed and reported by a runtime elsewhere.
        let task = self.state.task(effect.task).filter(|task| !task.is_session())?;
        let (mutation, context) = match effect.what {
            Work::Perform { mutation } | Work::Probe { mutation } => {
                (self.state.mutation(mutation).cloned(), None)
            }
            Work::Attempt { .. } | Work::Repair { .. } => {
                (None, tell::context(&self.state, &self.setup.policy, effect.run))
            }
            _ => (None, None),
        };
        let build = task.build;
        let spec = Arc::clone(&task.spec);
        let (attempt, broke) = match effect.what {
            Work::Repair { .. } => (task.repairs.called_for, task.repairs.broke.clone()),
            _ => (task.attempts, None),
        };
        Some(Order {
            project: Arc::clone(&self.setup.project),
            build,
            firing: task.firing,
            attempt,
            mutation,
            context,
            nudged: task.nudged == Some(effect.run),
            cut_off: cut_off(task, &effect),
            guidance: task.guidance.as_ref().and_then(|guidance| guidance.text.clone()),
            mended: mended(task, &effect),
            broke,
            task: spec,
            effect,
        })
    }

    /// Returns the notices for watchers; without a watcher no narration is composed.
    pub(crate) fn notices(&self, events: &[Arc<Recorded>]) -> Vec<Notice> {
        if self.handle.notices.receiver_count() == 0 {
            return Vec::new();
        }
        let tell = |recorded: &Arc<Recorded>| Notice::Event {
            recorded: Arc::clone(recorded),
            narration: tell::narration(&self.state, &self.setup.policy, recorded).map(Arc::from),
        };
        events.iter().map(tell).collect()
    }
}

/// Returns the text about the commands that were still running when the previous agent of the task
/// was last heard of.
fn cut_off(task: &Task, effect: &Effect) -> Option<String> {
    match effect.what {
        Work::Attempt { .. } | Work::Repair { .. } => tell::cut_off(task),
        _ => None,
    }
}

/// Returns the authentication or permission fault that paused a script and that the operator says
/// is fixed.
fn mended(task: &Task, effect: &Effect) -> Option<Arc<Fault>> {
    let Work::Execute { retry: 1.. } = effect.what else { return None };
    let paused =
        |fault: &&Arc<Fault>| fault.error_type().run_status() == RunFailure::PausedApproval;
    task.failure.as_ref().filter(paused).cloned()
}
