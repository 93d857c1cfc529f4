//! The common parts of agent programs: finding the executable, running it under a guard, reading
//! its stream with deadlines, and interpreting failures of the program itself.

mod closed;
mod converse;
mod find;
mod start;
mod stream;

pub(super) use closed::{ProgramRunEnd, clip_message};
pub(super) use converse::{LineEffects, ProgramDialog, ProgramRun};
pub(super) use find::{check_program, find_native_program};
pub use find::{find_program, query_version};
pub(super) use start::{
    HomeInitLock, build_launch, build_wall, create_home, filter_environment, home_fault,
};
pub(super) use stream::{
    DENIALS_MAX, INPUT_BYTES_MAX, RunningCalls, WHAT_BYTES_MAX, clip_denial, clip_text,
    shorten_middle, subtract_usage,
};
pub use stream::{LINE_BYTES_MAX, LineSplitter};
