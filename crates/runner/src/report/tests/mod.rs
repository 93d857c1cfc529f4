//! Tests of a report's texts, as tables.

mod counting;
mod healing;
mod stage;
mod telling;
mod working;
