//! The linter's breadth.

mod linter;
