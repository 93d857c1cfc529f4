//! The common parts of agent programs: finding the executable, running it under a guard, reading
//! its stream with deadlines, and interpreting failures of the program itself.

mod closed;
mod converse;
mod find;
mod home;
mod lines;
mod start;
mod text;
mod usage;
mod version;

pub(super) use closed::{ProgramRunEnd, clip_message};
pub(super) use converse::{LineEffects, ProgramDialog, ProgramRun};
pub use find::find_program;
pub(super) use find::{check_program, find_native_program};
pub(super) use home::HomeInitLock;
pub use lines::{LINE_BYTES_MAX, LineSplitter};
pub(super) use start::{build_launch, build_wall, create_home, filter_environment, home_fault};
pub(super) use text::{INPUT_BYTES_MAX, RunningCalls, clip_text, shorten_middle};
pub(super) use usage::subtract_usage;
pub use version::query_version;
