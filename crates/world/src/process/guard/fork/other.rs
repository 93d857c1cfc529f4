//! Systems other than Linux do not tell whether a process has a single thread, so no guard is
//! forked.

/// An uninhabited type: there is no forked guard.
#[derive(Debug)]
pub enum ForkedGuard {}

/// Returns `None`.
pub const fn fork_guard() -> Option<ForkedGuard> {
    None
}
