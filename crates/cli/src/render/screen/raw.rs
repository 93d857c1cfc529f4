//! A terminal that gives each key at once and shows none by itself, until this is dropped.

use std::io::{self, Stdin};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// The keyboard is ours until this is dropped.
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

    /// Takes the keyboard once more, after somebody else has had it.
    pub(super) fn again(&self) -> io::Result<()> {
        let mut wanted = self.before.clone();
        // Output stays as it is, so that whatever else is written looks right.
        wanted.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        wanted.input_modes -= InputModes::IXON | InputModes::ICRNL;
        wanted.special_codes[SpecialCodeIndex::VMIN] = 1;
        wanted.special_codes[SpecialCodeIndex::VTIME] = 0;
        set(&io::stdin(), &wanted)
    }

    /// Gives the keyboard back.
    pub(super) fn give_back(&self) -> io::Result<()> {
        set(&io::stdin(), &self.before)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = self.give_back();
    }
}

fn set(stdin: &Stdin, wanted: &Termios) -> io::Result<()> {
    Ok(tcsetattr(stdin, OptionalActions::Now, wanted)?)
}
