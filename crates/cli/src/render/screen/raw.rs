//! Raw mode: the terminal delivers each key at once and echoes none, until the guard is dropped.

use std::io::{self, Stdin};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// The guard of raw mode; dropping it restores the previous mode.
#[derive(Debug)]
pub(super) struct Raw {
    before: Termios,
}

impl Raw {
    pub(super) fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let raw = Self { before };
        raw.again()?;
        Ok(raw)
    }

    /// Enters raw mode again, after another process has had the terminal.
    pub(super) fn again(&self) -> io::Result<()> {
        let mut wanted = self.before.clone();
        // Output modes stay unchanged, so that other output looks right.
        wanted.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        wanted.input_modes -= InputModes::IXON | InputModes::ICRNL;
        wanted.special_codes[SpecialCodeIndex::VMIN] = 1;
        wanted.special_codes[SpecialCodeIndex::VTIME] = 0;
        set(&io::stdin(), &wanted)
    }

    /// Restores the previous mode.
    pub(super) fn give_back(&self) -> io::Result<()> {
        set(&io::stdin(), &self.before)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = self.give_back();
    }
}

fn set(stdin: &Stdin, wanted: &Termios) -> io::Result<()> {
    Ok(tcsetattr(stdin, OptionalActions::Now, wanted)?)
}
