//! A scripted agent: does what a file says, in a real worktree with real commands. For the demo,
//! for drills, and for people's own tests of their tasks.

mod file;
mod work;

pub use file::Script;
pub use work::ScriptedAgent;
