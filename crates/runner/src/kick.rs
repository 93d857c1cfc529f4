//! Commands that end waits early.

use std::collections::BTreeSet;

use unstuck_core::engine::{Command, TaskState};
use unstuck_store::tables::TaskRow;

/// Returns the commands that end the waits of these tasks: one per gate, however many tasks wait
/// for it.
pub fn collect_kick_commands<'r>(rows: impl IntoIterator<Item = &'r TaskRow>) -> Vec<Command> {
    let mut gates = BTreeSet::new();
    let mut commands = Vec::new();
    for row in rows {
        match row.moved.state {
            TaskState::BackingOff { gate: Some(gate), .. } if gates.insert(gate) => {
                commands.push(Command::KickGate { gate });
            }
            TaskState::BackingOff { gate: None, .. } => {
                commands.push(Command::Kick { task: row.id });
            }
            _ => {}
        }
    }
    commands
}
