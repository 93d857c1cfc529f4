//! The engine under simulation: what must hold, held against seeds, crashes and people.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a story that cannot go on says so")]

mod all_ways;
mod breadth;
mod desk;
mod fate;
mod found;
mod journals;
mod same;
mod seeds;
mod tries;
mod words;
