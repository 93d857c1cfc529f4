//! A scripted agent: follows a file, in a real worktree with real commands. It serves the demo,
//! drills, and people's own tests of their tasks.

mod file;
mod work;

pub use file::AgentScript;
pub use work::ScriptedAgent;
