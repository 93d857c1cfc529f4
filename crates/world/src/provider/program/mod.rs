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

pub(super) use closed::{Closed, message};
pub(super) use converse::{Conversation, Heard, Run};
pub use find::find;
pub(super) use find::{native, usable};
pub(super) use home::FirstInHome;
pub use lines::{LINE_BYTES_MAX, Lines};
pub(super) use start::{launch, make_home, no_home, wall, without};
pub(super) use text::{Calls, INPUT_BYTES_MAX, clip, shown};
pub(super) use usage::less;
pub use version::version;
