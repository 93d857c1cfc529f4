//! Programs and all processes that they start, kept together and ended together.
//!
//! A program runs under a guard, a small process of its own: [`guard`]. The guard collects every
//! descendant, holds the run's lock file while one of them lives, and ends them all when its
//! supervisor asks for it or is gone. [`Launch`] starts a program this way and [`Process::wait`]
//! returns how it ended; [`derive_fault`] turns that into a fault; [`reap_run`] is the first step
//! of recovery.
//!
//! This holds on Linux. On other Unix systems the guard can only end the process group of the
//! program, and [`reap_run`] only checks the lock.

#[cfg(target_os = "linux")]
mod around;
#[cfg(target_os = "linux")]
pub mod attack;
#[cfg(target_os = "linux")]
mod cgroup;
mod deadlines;
mod ended;
pub mod guard;
mod launch;
mod lock;
mod marker;
mod output;
mod own_input;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod process;
mod reap;
mod resources;
mod socket;
mod supervisor;
mod tree;
pub mod wall;

#[cfg(target_os = "linux")]
pub use around::find_runs_around;
pub use deadlines::{Deadline, ProcessDeadlines};
pub(crate) use ended::add_facts;
pub use ended::{
    ExceededLimit, ProcessEnd, ProcessResult, StartFailure, derive_fault, describe_end,
};
pub use guard::TerminalSession;
pub use launch::{GuardCommand, Launch, ProcessInput, ProcessOutput};
pub use lock::{FileLock, RunLock};
pub(crate) use output::last_lines;
pub use output::{OutputExcerpt, ProcessLog};
pub use own_input::OwnInput;
pub use process::Process;
pub use reap::reap_run;
pub use resources::find_memory_size;
pub use socket::{PortForward, PortForwarder, SocketPath};
pub use supervisor::{IdleGuard, ProcessStopper};
pub use wall::{
    Connections, DeniedPath, EnforcementLevel, PrivateFolder, ResourceLimits, Wall,
    WallEnforcement, WallLayers,
};

/// Returns an empty list: systems other than Linux do not tell which runs a process belongs to.
/// There a child of a run is recognized by its token.
#[cfg(not(target_os = "linux"))]
pub fn find_runs_around(
    _process: rustix::process::Pid,
    _folder: &std::path::Path,
) -> std::io::Result<Vec<String>> {
    Ok(Vec::new())
}
