//! Programs and all processes that they start, kept together and ended together.
//!
//! A program runs under a guard, a small process of its own: [`guard`]. The guard collects every
//! descendant, holds the run's lock file while one of them lives, and ends them all when its
//! supervisor asks for it or is gone. [`Launch`] starts a program this way and [`Process::wait`]
//! returns how it ended; [`verdict`] turns that into a fault; [`reap`] is the first step of
//! recovery.
//!
//! This holds on Linux. On other Unix systems the guard can only end the process group of the
//! program, and [`reap`] only checks the lock.

#[cfg(target_os = "linux")]
mod around;
#[cfg(not(target_os = "linux"))]
#[path = "around_other.rs"]
mod around;
#[cfg(target_os = "linux")]
mod cgroup;
mod deadlines;
mod ended;
pub mod guard;
mod guard_child;
mod launch;
mod lock;
mod log;
mod marker;
mod output;
mod own_input;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod process;
mod reap;
mod socket_path;
mod tree;
mod turn;
mod verdict;
mod waiting;
pub mod wall;

pub use around::find_runs_around;
pub use deadlines::{Deadline, Deadlines};
pub use ended::{Ended, How, NotStarted};
pub use guard::Session;
pub use launch::{Guard, Input, Launch, Output};
pub use lock::Lock;
pub use log::Log;
pub use output::Kept;
pub(crate) use output::last_lines;
pub use own_input::OwnInput;
pub use process::{Process, Stop};
pub use reap::reap;
pub use socket_path::SocketPath;
pub use turn::Turn;
pub(crate) use verdict::with_facts;
pub use verdict::{how_it_ended, verdict};
pub use waiting::Waiting;
pub use wall::{Connections, Denied, Held, Hold, Layers, Limits, Private, Wall};
