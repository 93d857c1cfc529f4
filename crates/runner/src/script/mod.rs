//! A command that is kept alive: runs it under the guard and says how it ended.

mod perform;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod script;
mod world;

pub use script::Script;
pub use world::ScriptWorld;
