//! The terminal while a part of it is drawn in place.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use anstream::adapter::strip_str;
use rustix::fs::OFlags;
use rustix::process::{Signal as Number, kill_current_process_group};
use terminal_size::{Height, Width};
use tokio::net::unix::pipe::Receiver;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::frame::Frame;
use super::key::{Key, Keys};
use super::raw::Raw;
use crate::render::Terminal;

/// Time after which an Escape without further bytes is the key and not the beginning of a sequence.
const ESCAPE_PATIENCE: Duration = Duration::from_millis(50);
/// Maximum number of bytes per read.
const READ_BYTES: usize = 1024;
/// The size assumed for a terminal that does not tell its own.
const USUAL: Size = Size { columns: 80, rows: 24 };
/// Turns bracketed paste on: a paste arrives as one key, so that a line break in it confirms nothing.
const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// An input from the terminal, or a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A person pressed a key.
    Key(Key),
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
    raw: Raw,
    keyboard: Receiver,
    signals: Signals,
    keys: Keys,
    frame: Frame,
    coloured: bool,
}

#[derive(Debug)]
struct Signals {
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
        let signals = Signals::new()?;
        let Ok(keyboard) = keyboard() else { return Ok(None) };
        let raw = Raw::enter()?;
        let keys = Keys::default();
        let frame = Frame::default();
        let screen = Self { raw, keyboard, signals, keys, frame, coloured: terminal.is_coloured() };
        screen.write(PASTE_ON)?;
        Ok(Some(screen))
    }

    /// Returns the current size.
    #[expect(clippy::unused_self, reason = "only who has the screen needs to know")]
    pub(crate) fn size(&self) -> Size {
        let size = terminal_size::terminal_size_of(io::stdout());
        size.map_or(USUAL, |(Width(columns), Height(rows))| Size {
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
        let lines = lines.into_iter().map(|line| self.styled(line)).collect();
        let bytes = self.frame.draw(lines, cursor, self.size());
        self.write(&bytes)
    }

    /// Writes a text that stays, above the next drawing.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        let cleared = self.frame.clear(self.size());
        let text = self.styled(text.to_owned());
        self.write(&format!("{cleared}{text}\n"))
    }

    /// Removes the drawn lines.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let cleared = self.frame.clear(self.size());
        self.write(&cleared)
    }

    /// Waits for the next input. Cancel-safe: no input is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> io::Result<Input> {
        loop {
            if let Some(key) = self.keys.next() {
                return self.pressed(key);
            }
            tokio::select! {
                read = read(&self.keyboard) => match read {
                    Ok(bytes) if !bytes.is_empty() => self.keys.push(&bytes),
                    // The other end of the terminal is closed.
                    _ => return Ok(Input::Terminated),
                },
                () = sleep(ESCAPE_PATIENCE), if self.keys.is_partial() => {
                    if let Some(key) = self.keys.end() {
                        return self.pressed(key);
                    }
                }
                _ = self.signals.resized.recv() => return Ok(Input::Resized),
                _ = self.signals.interrupted.recv() => return Ok(Input::Interrupted),
                _ = self.signals.terminated.recv() => return Ok(Input::Terminated),
                _ = self.signals.hung_up.recv() => return Ok(Input::Terminated),
                _ = self.signals.continued.recv() => {
                    self.take_back()?;
                    return Ok(Input::Resized);
                }
            }
        }
    }

    /// Handles the keys that the terminal would handle itself outside raw mode.
    fn pressed(&mut self, key: Key) -> io::Result<Input> {
        match key {
            Key::Ctrl('c') => Ok(Input::Interrupted),
            Key::Ctrl('z') => {
                self.stop()?;
                Ok(Input::Resized)
            }
            key => Ok(Input::Key(key)),
        }
    }

    /// Restores the terminal and stops the process group, as Ctrl-Z does; returns when it is continued.
    fn stop(&mut self) -> io::Result<()> {
        let left = self.frame.leave();
        self.write(&format!("{left}{PASTE_OFF}"))?;
        self.raw.give_back()?;
        kill_current_process_group(Number::TSTP)?;
        self.take_back()
    }

    fn take_back(&self) -> io::Result<()> {
        self.raw.again()?;
        self.write(PASTE_ON)
    }

    fn styled(&self, line: String) -> String {
        if self.coloured { line } else { strip_str(&line).to_string() }
    }

    #[expect(clippy::unused_self, reason = "only who has the screen may write to it")]
    fn write(&self, bytes: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes.as_bytes())?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let left = self.frame.leave();
        // A terminal that is gone cannot be restored.
        let _ = self.write(&format!("{left}{PASTE_OFF}"));
    }
}

impl Signals {
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
fn keyboard() -> io::Result<Receiver> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open("/dev/stdin")?;
    Receiver::from_file_unchecked(file)
}

/// Waits for typed bytes and returns them.
async fn read(keyboard: &Receiver) -> io::Result<Vec<u8>> {
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
