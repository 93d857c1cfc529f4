//! Programs and all processes that they start, kept together and ended together.
//!
//! A program runs under a guard, a small process of its own: [`guard`]. The guard collects every
//! descendant, holds the run's lock file while one of them lives, and ends them all when its
//! supervisor asks for it or is gone. [`Launch`] starts a program this way and [`Process::wait`]
//! returns how it ended; [`derive_fault`] turns that into a fault; [`reap_run`] is the first step of
//! recovery.
//!
//! This holds on Linux. On other Unix systems the guard can only end the process group of the
//! program, and [`reap_run`] only checks the lock.

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
mod socket;
mod tree;
mod turn;
mod verdict;
mod waiting;
pub mod wall;

pub use around::find_runs_around;
pub use deadlines::{Deadline, ProcessDeadlines};
pub use ended::{ProcessEnd, ProcessResult, StartFailure};
pub use guard::TerminalSession;
pub use launch::{GuardCommand, Launch, ProcessInput, ProcessOutput};
pub use lock::RunLock;
pub use log::ProcessLog;
pub use output::OutputExcerpt;
pub(crate) use output::last_lines;
pub use own_input::OwnInput;
pub use process::{Process, ProcessStopper};
pub use reap::reap_run;
pub use socket::{PortForward, PortForwarder, SocketPath};
pub use turn::FileLock;
pub(crate) use verdict::add_facts;
pub use verdict::{derive_fault, describe_end};
pub use waiting::IdleGuard;
pub use wall::{
    Connections, DeniedPath, EnforcementLevel, PrivateFolder, ResourceLimits, Wall,
    WallEnforcement, WallLayers,
};
