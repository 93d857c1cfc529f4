//! Signals that end the process.

use tokio::signal::unix::{self, SignalKind, signal};

use crate::error::Error;
use crate::exit::Exit;

/// A signal that ends the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGINT, from the keyboard.
    Interrupted,
    /// SIGTERM, or SIGHUP because the terminal is gone.
    Terminated,
}

impl Signal {
    pub(crate) const fn exit(self) -> Exit {
        match self {
            Self::Interrupted => Exit::Interrupted,
            Self::Terminated => Exit::Terminated,
        }
    }
}

/// The listener for these signals.
pub(crate) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hangup: unix::Signal,
}

impl Signals {
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupted,
            _ = self.terminate.recv() => Signal::Terminated,
            _ = self.hangup.recv() => Signal::Terminated,
        }
    }
}
