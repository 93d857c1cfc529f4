//! The two pipes that a guard gets from its supervisor.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::{BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use rustix::io::{FdFlags, Result, fcntl_setfd};

/// Takes over both pipes; nothing that the guard starts will get them.
pub(super) fn pipes() -> Result<(PipeReader, PipeWriter)> {
    let control = own(super::CONTROL)?;
    let status = own(super::STATUS)?;
    Ok((control.into(), status.into()))
}

#[expect(unsafe_code, reason = "a number becomes a descriptor: only we know that it is ours")]
fn own(number: RawFd) -> Result<OwnedFd> {
    // SAFETY: nothing in this process has opened a file yet, so what has this number was put there
    // by the supervisor for us alone. If it put nothing there, the call fails and nothing is owned.
    unsafe {
        fcntl_setfd(BorrowedFd::borrow_raw(number), FdFlags::CLOEXEC)?;
        Ok(OwnedFd::from_raw_fd(number))
    }
}
