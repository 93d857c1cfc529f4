//! What a simulation is made of: its moves, what the outside is at, and what it came to.

use unstuck_core::engine::{Command, Effect, TaskId};

/// One step of a simulation. A list of moves can be replayed, and shortened.
#[derive(Clone, Debug)]
pub enum Move {
    /// The oldest decision becomes durable, and its effects begin.
    Ack,
    /// The task's effect of this kind gets on.
    Work(TaskId, &'static str),
    /// Somebody commands something.
    Person(Command),
    /// A result comes that nobody waits for.
    Stale(Command),
    /// Time passes up to the next timer.
    Wake,
    /// The clock is set, by so many milliseconds, forward or back.
    Clock(i64),
    /// The process dies and is started again.
    Crash,
    /// A write fails: everything that is not durable is dropped.
    LostWrite,
}

/// An effect that the outside is at.
#[derive(Clone, Debug)]
pub struct Running {
    /// What it is.
    pub effect: Effect,
    /// Its result, when it has been performed and not yet reported.
    pub result: Option<Command>,
}

/// What a simulation came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Moves.
    pub steps: u64,
    /// Events that were recorded.
    pub events: u64,
    /// Deaths of the process.
    pub crashes: u64,
    /// Failed writes.
    pub lost_writes: u64,
    /// Commands that were refused.
    pub rejected: u64,
    /// Questions asked.
    pub questions: u64,
}
