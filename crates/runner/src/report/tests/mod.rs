//! What a report says, table by table.

mod counting;
mod healing;
mod stage;
mod telling;
mod working;
