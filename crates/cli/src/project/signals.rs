//! Signals that end the process.

use tokio::signal::unix::{self, SignalKind, signal};

use crate::error::CliError;
use crate::exit::Exit;

/// A signal that ends the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndSignal {
    /// SIGINT, from the keyboard.
    Interrupted,
    /// SIGTERM, or SIGHUP because the terminal is gone.
    Terminated,
}

impl EndSignal {
    pub(crate) const fn to_exit(self) -> Exit {
        match self {
            Self::Interrupted => Exit::Interrupted,
            Self::Terminated => Exit::Terminated,
        }
    }
}

/// The listener for these signals.
pub(crate) struct EndSignals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hangup: unix::Signal,
}

impl EndSignals {
    pub(crate) fn new() -> Result<Self, CliError> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> EndSignal {
        tokio::select! {
            _ = self.interrupt.recv() => EndSignal::Interrupted,
            _ = self.terminate.recv() => EndSignal::Terminated,
            _ = self.hangup.recv() => EndSignal::Terminated,
        }
    }
}
