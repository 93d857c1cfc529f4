//! The signals that reach a guard, as an event to wait for.
//!
//! Signals are handled rather than ignored or blocked, because programs inherit ignored and blocked
//! signals.

use std::io::{self, PipeReader, Read as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// The events that a guard waits for: signals, and the end of its supervisor.
pub(super) struct GuardEvents<'a> {
    control: &'a PipeReader,
    signals: PipeReader,
    told_to_end: Arc<AtomicBool>,
}

impl<'a> GuardEvents<'a> {
    /// Installs the handlers. From then on only SIGTERM and the supervisor's end are a reason to
    /// end; signals of a terminal to its foreground process group are for the program.
    pub(super) fn install(control: &'a PipeReader) -> io::Result<Self> {
        let (signals, wake) = io::pipe()?;
        fcntl_setfl(&signals, OFlags::NONBLOCK)?;
        fcntl_setfl(&wake, OFlags::NONBLOCK)?;
        let told_to_end = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGTERM, Arc::clone(&told_to_end))?;
        for signal in [SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT] {
            signal_hook::low_level::pipe::register(signal, OwnedFd::from(wake.try_clone()?))?;
        }
        Ok(Self { control, signals, told_to_end })
    }

    /// Waits for a signal, the timeout `limit`, the control pipe if `also_control`, or a message on
    /// `inside`, the pipe from the init process.
    pub(super) fn wait_for_event(
        &self,
        limit: Option<Duration>,
        also_control: bool,
        inside: Option<&PipeReader>,
    ) {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if also_control {
            fds.push(PollFd::new(self.control, PollFlags::IN));
        }
        fds.extend(inside.map(|inside| PollFd::new(inside, PollFlags::IN)));
        // An interruption counts as an event: every caller checks its state again after waiting.
        let _ = poll(&mut fds, limit.as_ref());
        let mut pending = [0; 64];
        while matches!((&self.signals).read(&mut pending), Ok(1..)) {}
    }

    /// Returns how the tree has to be ended now, if it has to.
    pub(super) fn requested_ending(&self) -> Option<TreeEnding> {
        let mut control = [PollFd::new(self.control, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut control, Some(&now)).is_ok_and(|ready| ready > 0) {
            // After the order, the pipe carries at most one byte before its end.
            let mut word = [0];
            let came = (&mut &*self.control).read(&mut word).is_ok_and(|length| length > 0);
            return Some(if came { TreeEnding::WithGrace } else { TreeEnding::AtOnce });
        }
        self.told_to_end.load(Ordering::Relaxed).then_some(TreeEnding::WithGrace)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeEnding {
    /// SIGTERM first, and time to react.
    WithGrace,
    /// SIGKILL at once, because the supervisor is gone and its programs must not outlive it.
    AtOnce,
}
