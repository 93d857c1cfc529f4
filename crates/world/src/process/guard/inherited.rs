//! The two pipes that a guard inherits from its supervisor.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::{BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use rustix::io::{FdFlags, Result, fcntl_setfd};

/// Takes over both pipes; processes that the guard starts do not inherit them.
pub(super) fn take_pipes() -> Result<(PipeReader, PipeWriter)> {
    let control = own_descriptor(super::CONTROL)?;
    let status = own_descriptor(super::STATUS)?;
    Ok((control.into(), status.into()))
}

#[expect(unsafe_code, reason = "a number becomes a descriptor: only we know that it is ours")]
fn own_descriptor(number: RawFd) -> Result<OwnedFd> {
    // SAFETY: this process has opened no file yet, so a descriptor with this number was put there
    // by the supervisor for the guard alone. If there is none, the call fails and no descriptor is
    // owned.
    unsafe {
        fcntl_setfd(BorrowedFd::borrow_raw(number), FdFlags::CLOEXEC)?;
        Ok(OwnedFd::from_raw_fd(number))
    }
}
