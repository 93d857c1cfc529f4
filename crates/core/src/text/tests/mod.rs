//! Texts: the linter's breadth, live sentences, and what an agent reads after a failure.

mod linter;
mod narration;
mod replanning;
