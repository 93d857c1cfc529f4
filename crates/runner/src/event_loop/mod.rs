//! The one loop of a project: a command comes in, the core decides, the store writes the events,
//! and only then effects are performed.

mod clock;
mod decisions;
mod gate_mirror;
mod handle;
mod recovery;
mod runner;
mod work_list;

pub use clock::{Clock, SystemClock};
pub use gate_mirror::GateMirror;
pub use handle::{CommandError, DurableDecision, RunnerHandle, RunnerNotice};
pub use runner::{Runner, RunnerResult, RunnerSetup};
