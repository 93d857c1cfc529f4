//! The building blocks of a simulation: its moves, the running effects, and its statistics.

use unstuck_core::engine::{Command, Effect, EffectKind, SessionReport, State, Task, TaskId};

/// A step of a simulation. A list of moves can be replayed, and shortened.
#[derive(Clone, Debug)]
pub enum SimulationMove {
    /// The oldest decision becomes durable, and its effects begin.
    Ack,
    /// The task's effect of this kind makes progress.
    Work(TaskId, &'static str),
    /// A person gives a command.
    Person(Command),
    /// A result arrives that is no longer expected.
    Stale(Command),
    /// Time passes up to the next timer.
    Wake,
    /// The clock is set by so many milliseconds, forward or back.
    Clock(i64),
    /// The process dies and is started again.
    Crash,
    /// A write fails: everything that is not durable is dropped.
    LostWrite,
}

/// An effect that the outside is performing.
#[derive(Clone, Debug)]
pub struct SimulatedEffect {
    /// The effect.
    pub effect: Effect,
    /// The result, if the effect was performed and not yet reported.
    pub result: Option<Command>,
}

/// The statistics of a simulation.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulationStats {
    /// Number of moves.
    pub steps: u64,
    /// Number of recorded events.
    pub events: u64,
    /// Number of process crashes.
    pub crashes: u64,
    /// Number of failed writes.
    pub lost_writes: u64,
    /// Number of refused commands.
    pub rejected: u64,
    /// Number of questions asked.
    pub questions: u64,
}

/// Returns whether the work is done by an external runtime.
pub fn is_elsewhere(state: &State, effect: &Effect) -> bool {
    state.task(effect.task).is_some_and(Task::is_session)
}

/// Returns whether the runtime has to report the outcome of an allowed action first.
pub fn has_to_settle(state: &State, effect: &Effect) -> bool {
    let attempts = matches!(effect.what, EffectKind::Attempt { .. });
    attempts
        && is_elsewhere(state, effect)
        && state.mutations().any(|known| known.task == effect.task && known.state.is_open())
}

/// Returns whether a report is the last about its effect.
pub const fn ends_effect(command: &Command) -> bool {
    match command {
        Command::Settle { .. } => true,
        Command::Report { told, .. } => !matches!(told, SessionReport::Intends { .. }),
        _ => false,
    }
}
