//! Scripts: commands that are run under the guard, and whose end is reported.

mod perform;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod script;
mod world;

pub use script::ScriptCommand;
pub use world::ScriptPerformer;
