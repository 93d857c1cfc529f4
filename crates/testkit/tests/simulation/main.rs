//! The engine under simulation: what must hold, held against seeds, crashes and people.

mod all_ways;
mod desk;
mod fate;
mod found;
mod seeds;
mod tries;
mod words;
