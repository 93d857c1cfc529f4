//! The ledger of irreversible actions: each happens at most once, and its outcome is looked up
//! where it is unknown.

mod action;
mod probe;
mod results;

pub use action::{ActionResult, LedgerAction};
pub(crate) use action::{find_known_action, sender_gone_fault};
pub use probe::{ActionProber, IDEMPOTENCY_KEY};
pub(crate) use probe::{idempotency_key, run_probe_command};
pub use results::{RESULT_BYTES_MAX, ResultFiles};
