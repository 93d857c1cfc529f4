//! How long somebody is waited for who holds the project and is just coming or going.

use std::time::Duration;

/// How often it is tried to reach them.
pub(super) const TRIES: u32 = 100;
/// Between two tries.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
