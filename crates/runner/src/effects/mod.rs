//! Effects as the workers see them: requests and results, the effects in progress, the lock files
//! of their processes, and the redaction of what they record.

mod files;
mod locks;
mod performer;
mod redaction;
mod running_effects;

pub(crate) use files::{read_json, remove_if_exists};
pub(crate) use locks::{RunLocks, lock_unpoisoned};
pub use locks::{TaskLocks, action_lock_path};
pub use performer::{EffectRequest, EffectResult, PerformScope, Performer};
pub(crate) use performer::{failed_outcome, panic_result};
pub(crate) use redaction::{
    redact_command, redact_fault, redact_outcome, redact_tool_input, redact_value,
};
pub(crate) use running_effects::RunningEffects;
