//! Process trees under the real guard: what ends, what is told, what is left (nothing).

mod ahead;
mod deadlines;
mod ending;
mod grouping;
mod killed;
mod launches;
mod output;
mod reaping;
mod verdicts;
