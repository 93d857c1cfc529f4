//! The consequences of a decision once it is on disk.

use std::sync::Arc;

use unstuck_core::engine::{Effect, EffectKind, RecordedEvent, Task, requested_effects};
use unstuck_core::fault::{Fault, RunFailure};
use unstuck_core::tell;

use crate::notice::RunnerNotice;
use crate::runner::Runner;
use crate::work::DecisionStep;
use crate::world::EffectRequest;

impl Runner {
    /// Returns the steps that follow from an event that was just decided.
    pub(crate) fn derive_steps(&self, recorded: &RecordedEvent) -> Vec<DecisionStep> {
        requested_effects(&self.state, recorded)
            .filter_map(|effect| self.derive_step(effect))
            .collect()
    }

    fn derive_step(&self, effect: Effect) -> Option<DecisionStep> {
        match effect.what {
            EffectKind::Stop { effect } => Some(DecisionStep::Stop(effect)),
            _ => {
                self.make_effect_request(effect).map(|order| DecisionStep::Perform(Box::new(order)))
            }
        }
    }

    /// Returns the order of an effect with all it takes to perform it; `None` if it is not
    /// performed by this process.
    pub(crate) fn make_effect_request(&self, effect: Effect) -> Option<EffectRequest> {
        // An effect of a session is performed and reported by a runtime elsewhere.
        let task = self.state.task(effect.task).filter(|task| !task.is_session())?;
        let (mutation, context) = match effect.what {
            EffectKind::Perform { mutation } | EffectKind::Probe { mutation } => {
                (self.state.mutation(mutation).cloned(), None)
            }
            EffectKind::Attempt { .. } | EffectKind::Repair { .. } => {
                (None, tell::replan_context(&self.state, &self.setup.policy, effect.run))
            }
            _ => (None, None),
        };
        let build = task.build;
        let spec = Arc::clone(&task.spec);
        let (attempt, broke) = match effect.what {
            EffectKind::Repair { .. } => (task.repairs.called_for, task.repairs.broke.clone()),
            _ => (task.attempts, None),
        };
        Some(EffectRequest {
            project: Arc::clone(&self.setup.project),
            build,
            firing: task.firing,
            attempt,
            mutation,
            context,
            nudged: task.nudged == Some(effect.run),
            cut_off: render_cut_off_commands(task, &effect),
            guidance: task.guidance.as_ref().and_then(|guidance| guidance.text.clone()),
            mended: find_mended_fault(task, &effect),
            broke,
            task: spec,
            effect,
        })
    }

    /// Returns the notices for watchers; without a watcher no narration is composed.
    pub(crate) fn compose_notices(&self, events: &[Arc<RecordedEvent>]) -> Vec<RunnerNotice> {
        if self.handle.notices.receiver_count() == 0 {
            return Vec::new();
        }
        let tell = |recorded: &Arc<RecordedEvent>| RunnerNotice::Event {
            recorded: Arc::clone(recorded),
            narration: tell::narrate_event(&self.state, &self.setup.policy, recorded)
                .map(Arc::from),
        };
        events.iter().map(tell).collect()
    }
}

/// Returns the text about the commands that were still running when the previous agent of the task
/// was last heard of.
fn render_cut_off_commands(task: &Task, effect: &Effect) -> Option<String> {
    match effect.what {
        EffectKind::Attempt { .. } | EffectKind::Repair { .. } => tell::render_cut_off(task),
        _ => None,
    }
}

/// Returns the authentication or permission fault that paused a script and that the operator says
/// is fixed.
fn find_mended_fault(task: &Task, effect: &Effect) -> Option<Arc<Fault>> {
    let EffectKind::Execute { retry: 1.. } = effect.what else { return None };
    let paused =
        |fault: &&Arc<Fault>| fault.error_type().run_status() == RunFailure::PausedApproval;
    task.failure.as_ref().filter(paused).cloned()
}
