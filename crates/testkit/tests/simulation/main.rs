//! The engine under simulation: what must hold, held against seeds, crashes and people.

mod fate;
