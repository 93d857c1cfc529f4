//! The linter's breadth, and the sentences people see live.
