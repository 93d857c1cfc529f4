//! Draws a part of the terminal in place and reads the keys that a person presses there.
//!
//! [`Screen::enter`] takes the keyboard; [`Screen::draw`] replaces the previous lines and writes only the
//! differences, so that nothing flickers; [`Screen::write_above`] writes lines above them that stay;
//! [`Screen::next_input`] waits for a key, a new size or the end, and is cancel-safe, as in a `select!`. The
//! rest of the window and its previous content are left alone.
//!
//! The terminal is restored in every case: when the screen is dropped, also by a panic; while the process
//! is stopped with Ctrl-Z; and at a signal, which arrives as an [`ScreenInput`] and does not end the process.
//! Ctrl-C arrives as an [`ScreenInput`] too, because the keyboard sends no signals meanwhile.
//!
//! The caller decides the meaning of keys and the content of lines. The parts that can be tested without a
//! terminal are [`KeyDecoder`], from bytes to keys, and [`ScreenFrame`], from lines to bytes.
//!
//! The module uses `rustix`, which is a dependency anyway. The usual crate for terminals would bring a
//! second version of the crate that catches signals, for few more keys and no drawing in place.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _, Stdin, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use anstream::adapter::strip_str;
use rustix::fs::OFlags;
use rustix::process::{Signal as Number, kill_current_process_group};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use terminal_size::{Height, Width};
use tokio::net::unix::pipe::Receiver;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::frame::ScreenFrame;
pub(crate) use super::frame::ScreenSize;
use super::key::KeyDecoder;
pub(crate) use super::key::KeyPress;
use super::terminal::Terminal;

/// Time after which an Escape without further bytes is the key and not the beginning of a sequence.
const ESCAPE_PATIENCE: Duration = Duration::from_millis(50);
/// Maximum number of bytes per read.
const READ_BYTES: usize = 1024;
/// The size assumed for a terminal that does not tell its own.
const USUAL: ScreenSize = ScreenSize { columns: 80, rows: 24 };
/// Turns bracketed paste on: a paste arrives as one key, so that a line break in it confirms nothing.
const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";

/// An input from the terminal, or a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScreenInput {
    Key(KeyPress),
    /// The terminal was resized, or other output was shown on it: draw again.
    Resized,
    /// Ctrl-C, or SIGINT.
    Interrupted,
    /// SIGTERM or SIGHUP, or the terminal is gone.
    Terminated,
}

/// A terminal on which lines are drawn in place.
#[derive(Debug)]
pub(crate) struct Screen {
    raw: RawMode,
    keyboard: Receiver,
    signals: ScreenSignals,
    keys: KeyDecoder,
    frame: ScreenFrame,
    coloured: bool,
}

#[derive(Debug)]
struct ScreenSignals {
    resized: Signal,
    interrupted: Signal,
    terminated: Signal,
    hung_up: Signal,
    continued: Signal,
}

impl Screen {
    /// Takes the terminal; returns `None` where the terminal cannot be drawn on, or standard input is not a
    /// keyboard.
    pub(crate) fn enter(terminal: &Terminal) -> io::Result<Option<Self>> {
        let dumb = std::env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb");
        if dumb || !terminal.is_terminal() || !io::stdin().is_terminal() {
            return Ok(None);
        }
        let signals = ScreenSignals::new()?;
        let Ok(keyboard) = open_keyboard() else { return Ok(None) };
        let raw = RawMode::enter()?;
        let keys = KeyDecoder::default();
        let frame = ScreenFrame::default();
        let screen = Self { raw, keyboard, signals, keys, frame, coloured: terminal.is_coloured() };
        screen.write_bytes(PASTE_ON)?;
        Ok(Some(screen))
    }

    #[expect(clippy::unused_self, reason = "only who has the screen needs to know")]
    pub(crate) fn size(&self) -> ScreenSize {
        let size = terminal_size::terminal_size_of(io::stdout());
        size.map_or(USUAL, |(Width(columns), Height(rows))| ScreenSize {
            columns: columns.into(),
            rows: rows.into(),
        })
    }

    /// Draws these lines over the previous ones, with the cursor at a row and column or hidden. A line
    /// holds styles and no other control characters; lines that do not fit are left out.
    pub(crate) fn draw(
        &mut self,
        lines: Vec<String>,
        cursor: Option<(usize, usize)>,
    ) -> io::Result<()> {
        let lines = lines.into_iter().map(|line| self.style_line(line)).collect();
        let bytes = self.frame.draw(lines, cursor, self.size());
        self.write_bytes(&bytes)
    }

    /// Writes a text that stays, above the next drawing.
    pub(crate) fn write_above(&mut self, text: &str) -> io::Result<()> {
        let cleared = self.frame.clear(self.size());
        let text = self.style_line(text.to_owned());
        self.write_bytes(&format!("{cleared}{text}\n"))
    }

    /// Removes the drawn lines.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let cleared = self.frame.clear(self.size());
        self.write_bytes(&cleared)
    }

    /// Waits for the next input. Cancel-safe: no input is lost when the future is dropped.
    pub(crate) async fn next_input(&mut self) -> io::Result<ScreenInput> {
        loop {
            if let Some(key) = self.keys.next() {
                return self.handle_key(key);
            }
            tokio::select! {
                read = read_keyboard(&self.keyboard) => match read {
                    Ok(bytes) if !bytes.is_empty() => self.keys.push(&bytes),
                    // The other end of the terminal is closed.
                    _ => return Ok(ScreenInput::Terminated),
                },
                () = sleep(ESCAPE_PATIENCE), if self.keys.is_partial() => {
                    if let Some(key) = self.keys.finish() {
                        return self.handle_key(key);
                    }
                }
                _ = self.signals.resized.recv() => return Ok(ScreenInput::Resized),
                _ = self.signals.interrupted.recv() => return Ok(ScreenInput::Interrupted),
                _ = self.signals.terminated.recv() => return Ok(ScreenInput::Terminated),
                _ = self.signals.hung_up.recv() => return Ok(ScreenInput::Terminated),
                _ = self.signals.continued.recv() => {
                    self.resume()?;
                    return Ok(ScreenInput::Resized);
                }
            }
        }
    }

    /// Handles the keys that the terminal would handle itself outside raw mode.
    fn handle_key(&mut self, key: KeyPress) -> io::Result<ScreenInput> {
        match key {
            KeyPress::Ctrl('c') => Ok(ScreenInput::Interrupted),
            KeyPress::Ctrl('z') => {
                self.suspend()?;
                Ok(ScreenInput::Resized)
            }
            key => Ok(ScreenInput::Key(key)),
        }
    }

    /// Restores the terminal and stops the process group, as Ctrl-Z does; returns when it is continued.
    fn suspend(&mut self) -> io::Result<()> {
        let left = self.frame.leave();
        self.write_bytes(&format!("{left}{PASTE_OFF}"))?;
        self.raw.restore()?;
        kill_current_process_group(Number::TSTP)?;
        self.resume()
    }

    fn resume(&self) -> io::Result<()> {
        self.raw.reenter()?;
        self.write_bytes(PASTE_ON)
    }

    fn style_line(&self, line: String) -> String {
        if self.coloured { line } else { strip_str(&line).to_string() }
    }

    #[expect(clippy::unused_self, reason = "only who has the screen may write to it")]
    fn write_bytes(&self, bytes: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes.as_bytes())?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let left = self.frame.leave();
        // A terminal that is gone cannot be restored.
        let _ = self.write_bytes(&format!("{left}{PASTE_OFF}"));
    }
}

impl ScreenSignals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            resized: signal(SignalKind::window_change())?,
            interrupted: signal(SignalKind::interrupt())?,
            terminated: signal(SignalKind::terminate())?,
            hung_up: signal(SignalKind::hangup())?,
            continued: signal(SignalKind::from_raw(Number::CONT.as_raw()))?,
        })
    }
}

/// Opens the keyboard for non-blocking reads. Standard input is opened a second time, because the shell
/// shares the first file description, and the non-blocking flag would break its reads.
fn open_keyboard() -> io::Result<Receiver> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open("/dev/stdin")?;
    Receiver::from_file_unchecked(file)
}

/// Waits for typed bytes and returns them.
async fn read_keyboard(keyboard: &Receiver) -> io::Result<Vec<u8>> {
    loop {
        keyboard.readable().await?;
        let mut bytes = vec![0; READ_BYTES];
        match keyboard.try_read(&mut bytes) {
            Ok(read) => {
                bytes.truncate(read);
                return Ok(bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// The guard of raw mode, in which the terminal delivers each key at once and echoes none; dropping it
/// restores the previous mode.
#[derive(Debug)]
struct RawMode {
    before: Termios,
}

impl RawMode {
    fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let raw = Self { before };
        raw.reenter()?;
        Ok(raw)
    }

    /// Enters raw mode again, after another process has had the terminal.
    fn reenter(&self) -> io::Result<()> {
        let mut wanted = self.before.clone();
        // Output modes stay unchanged, so that other output looks right.
        wanted.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        wanted.input_modes -= InputModes::IXON | InputModes::ICRNL;
        wanted.special_codes[SpecialCodeIndex::VMIN] = 1;
        wanted.special_codes[SpecialCodeIndex::VTIME] = 0;
        set_mode(&io::stdin(), &wanted)
    }

    fn restore(&self) -> io::Result<()> {
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
