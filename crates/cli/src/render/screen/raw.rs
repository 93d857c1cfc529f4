//! Raw mode: the terminal delivers each key at once and echoes none, until the guard is dropped.

use std::io::{self, Stdin};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// The guard of raw mode; dropping it restores the previous mode.
#[derive(Debug)]
pub(super) struct RawMode {
    before: Termios,
}

impl RawMode {
    pub(super) fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let raw = Self { before };
        raw.reenter()?;
        Ok(raw)
    }

    /// Enters raw mode again, after another process has had the terminal.
    pub(super) fn reenter(&self) -> io::Result<()> {
        let mut wanted = self.before.clone();
        // Output modes stay unchanged, so that other output looks right.
        wanted.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        wanted.input_modes -= InputModes::IXON | InputModes::ICRNL;
        wanted.special_codes[SpecialCodeIndex::VMIN] = 1;
        wanted.special_codes[SpecialCodeIndex::VTIME] = 0;
        set_mode(&io::stdin(), &wanted)
    }

    /// Restores the previous mode.
    pub(super) fn restore(&self) -> io::Result<()> {
        set_mode(&io::stdin(), &self.before)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = self.restore();
    }
}

fn set_mode(stdin: &Stdin, wanted: &Termios) -> io::Result<()> {
    Ok(tcsetattr(stdin, OptionalActions::Now, wanted)?)
}
