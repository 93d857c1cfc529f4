//! Stuck detection inside an attempt: recognizes an agent that loops by its actions.
//!
//! Four patterns, each over a bounded window:
//! - **same result**: an action gives the same observation repeatedly, with nothing new in between;
//! - **same failure**: an action fails repeatedly, and nothing was done about it in between. Reading does not
//!   count as doing. The agent gets one nudge for it; it is stuck when that action fails once more, or later
//!   reaches the same number of failures again;
//! - **alternation**: two steps take turns, each with the same observation;
//! - **only talk**: consecutive messages without any action.
//!
//! A step is *new* if its action and observation together are not in the window. A new step is progress: the
//! same test with fewer failures, the same page with another number. Waiting for a running process is a
//! state: such a step neither counts nor resets a count, but it is an action. Prose is never read; the words
//! of a message or an output about limits and errors are not evidence.
//!
//! This module reports that an agent is stuck, with evidence. The engine decides what follows.
//!
//! Design: the engine, "Stuck detection".

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::action::{ActionOutcome, AgentAction, ToolKind};
use super::hasher::{Digest, PieceHasher};
use crate::fault::{Fault, NoProgress};

/// Number of remembered steps. Larger limits are capped to it.
pub const WINDOW_STEPS: usize = 16;
/// Maximum number of failing actions tracked at once.
const FAILING_ACTIONS_MAX: usize = 8;
/// Maximum number of actions that get a nudge in one attempt.
const NUDGES_MAX: usize = 8;

/// The number of repetitions from which each pattern counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StuckLimits {
    /// Steps with the same action and the same observation.
    pub same_result: u32,
    /// Failures of the same action: the nudge comes with this one.
    pub same_failure: u32,
    /// Steps of two that take turns.
    pub alternation: u32,
    /// Consecutive messages without an action.
    pub messages: u32,
}

impl Default for StuckLimits {
    fn default() -> Self {
        Self { same_result: 4, same_failure: 3, alternation: 6, messages: 3 }
    }
}

/// A step of an agent.
#[derive(Clone, Copy, Debug)]
pub enum AgentStep<'a> {
    /// A call of a tool.
    Action(&'a AgentAction),
    /// A turn that ended with words alone.
    Message,
    /// A wait for a process that the agent started and that is still running.
    Waiting,
}

/// The verdict on a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[must_use]
pub enum StepVerdict {
    /// No pattern.
    Fine,
    /// The agent should be told once that this does not help.
    Nudge(LoopEvidence),
    /// The agent loops.
    Stuck(LoopEvidence),
}

/// A pattern of a looping agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopPattern {
    /// The same action with the same observation.
    SameResult,
    /// The same action fails.
    SameFailure,
    /// Two steps take turns.
    Alternation,
    /// Messages without an action.
    OnlyTalk,
}

/// The observed pattern with its repetitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopEvidence {
    /// The pattern.
    pub pattern: LoopPattern,
    /// Number of repetitions.
    pub times: u32,
    /// The repeated action, shortened; empty if there was none.
    pub action: String,
}

impl LoopPattern {
    /// Returns the name used in events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameResult => "same_result",
            Self::SameFailure => "same_failure",
            Self::Alternation => "alternation",
            Self::OnlyTalk => "only_talk",
        }
    }
}

impl LoopEvidence {
    /// Creates the fault of an agent that loops, seen at `source`.
    pub fn to_fault(&self, source: impl Into<String>) -> Fault {
        let context =
            NoProgress { pattern: self.pattern.as_str().to_owned(), evidence: self.action.clone() };
        Fault::logic_no_progress(source, self.to_string(), context)
    }
}

impl fmt::Display for LoopEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pattern, times, action } = self;
        match pattern {
            LoopPattern::SameResult => write!(f, "the same result {times} times: {action}"),
            LoopPattern::SameFailure => {
                write!(f, "failed {times} times, nothing changed: {action}")
            }
            LoopPattern::Alternation => write!(f, "back and forth for {times} steps: {action}"),
            LoopPattern::OnlyTalk => write!(f, "{times} messages in a row and no action"),
        }
    }
}

/// Watches the steps of an attempt. Memory and work per step are bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopDetector {
    limits: StuckLimits,
    worktree: String,
    /// Digests of action and observation of the last steps, oldest first.
    window: VecDeque<Digest>,
    /// Number of the last steps without anything new, counted from the last new one.
    stale: usize,
    failing: Vec<FailingAction>,
    nudged: Vec<Digest>,
    messages: u32,
    /// The label of the previous step, for showing both sides of an alternation.
    before: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FailingAction {
    action: Digest,
    times: u32,
}

impl LoopDetector {
    /// Creates a watch on an attempt in the folder `worktree` (its absolute path, or empty).
    pub fn new(limits: StuckLimits, worktree: impl Into<String>) -> Self {
        Self { limits, worktree: worktree.into(), ..Self::default() }
    }

    /// Observes the next step.
    pub fn observe(&mut self, step: AgentStep<'_>) -> StepVerdict {
        match step {
            AgentStep::Message => self.observe_message(),
            AgentStep::Action(action) if action.observation.outcome == ActionOutcome::Waiting => {
                self.observe_wait()
            }
            AgentStep::Action(action) if action.tool == ToolKind::Narrate => self.observe_message(),
            AgentStep::Action(action) => self.observe_action(action),
            AgentStep::Waiting => self.observe_wait(),
        }
    }

    fn observe_message(&mut self) -> StepVerdict {
        self.messages = self.messages.saturating_add(1);
        if self.messages < self.limits.messages.max(1) {
            return StepVerdict::Fine;
        }
        let pattern = LoopPattern::OnlyTalk;
        let times = self.messages;
        StepVerdict::Stuck(LoopEvidence { pattern, times, action: String::new() })
    }

    fn observe_wait(&mut self) -> StepVerdict {
        self.messages = 0;
        StepVerdict::Fine
    }

    fn observe_action(&mut self, action: &AgentAction) -> StepVerdict {
        self.messages = 0;
        let label = action.label(&self.worktree);
        let digest = action.digest(&self.worktree);
        self.remember_step(step_digest(digest, action));
        let failures = self.count_failures(digest, action);
        let verdict = self
            .detect_same_result(&label)
            .or_else(|| self.detect_alternation(&label))
            .or_else(|| self.detect_same_failure(digest, failures, &label));
        self.before = label;
        verdict.unwrap_or(StepVerdict::Fine)
    }

    fn remember_step(&mut self, step: Digest) {
        let is_new = !self.window.contains(&step);
        self.stale = if is_new { 1 } else { (self.stale + 1).min(WINDOW_STEPS) };
        if self.window.len() >= WINDOW_STEPS {
            self.window.pop_front();
        }
        self.window.push_back(step);
    }

    fn detect_same_result(&self, label: &str) -> Option<StepVerdict> {
        let last = self.window.back()?;
        let times = self.window.iter().rev().take(self.stale).filter(|step| *step == last).count();
        (times >= within_window(self.limits.same_result)).then(|| {
            StepVerdict::Stuck(new_evidence(LoopPattern::SameResult, times, label.to_owned()))
        })
    }

    fn detect_alternation(&self, label: &str) -> Option<StepVerdict> {
        let mut turns = self.window.iter().rev();
        let one = turns.next()?;
        let other = turns.next()?;
        if one == other {
            return None;
        }
        let sides = [one, other].into_iter().cycle();
        let times = 2 + turns.zip(sides).take_while(|(step, side)| step == side).count();
        (times >= within_window(self.limits.alternation)).then(|| {
            // The entry point of the loop does not matter: the same loop has the same text.
            let (first, second) = if *label <= *self.before {
                (label, &*self.before)
            } else {
                (&*self.before, label)
            };
            let action = format!("{first} / {second}");
            StepVerdict::Stuck(new_evidence(LoopPattern::Alternation, times, action))
        })
    }

    /// Counts the failures of this action since something was last done about it.
    fn count_failures(&mut self, digest: Digest, action: &AgentAction) -> u32 {
        if !action.is_read_only() {
            self.failing.retain(|failing| failing.action == digest);
        }
        let place = self.failing.iter().position(|failing| failing.action == digest);
        let before = place.map_or(0, |place| self.failing.remove(place).times);
        if action.observation.outcome != ActionOutcome::Failed {
            return 0;
        }
        if self.failing.len() >= FAILING_ACTIONS_MAX {
            self.failing.remove(0);
        }
        let times = before.saturating_add(1);
        self.failing.push(FailingAction { action: digest, times });
        times
    }

    fn detect_same_failure(
        &mut self,
        action: Digest,
        times: u32,
        label: &str,
    ) -> Option<StepVerdict> {
        if times == 0 || times < self.limits.same_failure {
            return None;
        }
        let seen = new_evidence(LoopPattern::SameFailure, times as usize, label.to_owned());
        if self.nudged.contains(&action) || self.nudged.len() >= NUDGES_MAX {
            return Some(StepVerdict::Stuck(seen));
        }
        self.nudged.push(action);
        Some(StepVerdict::Nudge(seen))
    }
}

fn step_digest(digest: Digest, action: &AgentAction) -> Digest {
    let mut hasher = PieceHasher::for_purpose("step");
    hasher.push_number(digest.0);
    hasher.push_number(action.observation.output.0);
    hasher.push_number(u64::from(action.observation.outcome == ActionOutcome::Failed));
    hasher.take_digest()
}

/// Clamps a limit: a single step is not a pattern, and more than the window cannot be observed.
fn within_window(limit: u32) -> usize {
    (limit as usize).clamp(2, WINDOW_STEPS)
}

fn new_evidence(pattern: LoopPattern, times: usize, action: String) -> LoopEvidence {
    LoopEvidence { pattern, times: u32::try_from(times).unwrap_or(u32::MAX), action }
}

#[cfg(test)]
#[path = "stuck_tests.rs"]
mod tests;
