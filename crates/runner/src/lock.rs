//! Locking what is shared.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is shared here is whole between any two statements, so whoever panicked left nothing half
/// done in it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
