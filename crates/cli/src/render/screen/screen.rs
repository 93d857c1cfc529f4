//! The terminal while something is drawn in place on it.

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

/// An Escape that nothing follows for so long is the key and not the beginning of another one.
const ESCAPE_PATIENCE: Duration = Duration::from_millis(50);
/// How much is read at once.
const READ_BYTES: usize = 1024;
/// Where nobody says how large a terminal is.
const USUAL: Size = Size { columns: 80, rows: 24 };
/// What is pasted comes as one key, so that a line break in it confirms nothing.
const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";

/// How large a terminal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// What comes from a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A person pressed a key.
    Key(Key),
    /// It has another size, or something else was shown on it: draw again.
    Resized,
    /// Ctrl-C, or the signal.
    Interrupted,
    /// It is to end, or the terminal is gone.
    Terminated,
}

/// A terminal that is drawn on in place.
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
    /// Takes the terminal; nothing where there is none that can be drawn on, or nobody at its
    /// keyboard.
    pub(crate) fn enter(terminal: &Terminal) -> io::Result<Option<Self>> {
        let dumb = std::env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb");
        if dumb || !terminal.is_terminal() || !io::stdin().is_terminal() {
            return Ok(None);
        }
        let signals = Signals::new()?;
        let Ok(keyboard) = keyboard() else { return Ok(None) };
        let raw = Raw::enter()?;
        let (keys, frame) = (Keys::default(), Frame::default());
        let screen = Self { raw, keyboard, signals, keys, frame, coloured: terminal.is_coloured() };
        screen.write(PASTE_ON)?;
        Ok(Some(screen))
    }

    /// How large it is now.
    #[expect(clippy::unused_self, reason = "only who has the screen needs to know")]
    pub(crate) fn size(&self) -> Size {
        let size = terminal_size::terminal_size_of(io::stdout());
        size.map_or(USUAL, |(Width(columns), Height(rows))| Size {
            columns: columns.into(),
            rows: rows.into(),
        })
    }

    /// Shows these lines where the last ones were, and the cursor at a row and column, or not. A
    /// line holds styles and no other control characters; those that have no room are left out.
    pub(crate) fn draw(
        &mut self,
        lines: Vec<String>,
        cursor: Option<(usize, usize)>,
    ) -> io::Result<()> {
        let lines = lines.into_iter().map(|line| self.styled(line)).collect();
        let bytes = self.frame.draw(lines, cursor, self.size());
        self.write(&bytes)
    }

    /// Writes a text that stays, above what is drawn next.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        let cleared = self.frame.clear(self.size());
        let text = self.styled(text.to_owned());
        self.write(&format!("{cleared}{text}\n"))
    }

    /// Takes away what is drawn.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let cleared = self.frame.clear(self.size());
        self.write(&cleared)
    }

    /// Waits for what comes next. Nothing is lost when it is not waited for to the end.
    pub(crate) async fn next(&mut self) -> io::Result<Input> {
        loop {
            if let Some(key) = self.keys.next() {
                return self.pressed(key);
            }
            tokio::select! {
                read = read(&self.keyboard) => match read {
                    Ok(bytes) if !bytes.is_empty() => self.keys.push(&bytes),
                    // Nobody is at the other end.
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

    /// What the keyboard would do by itself if it were not ours is done here.
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

    /// Gives the terminal back and stops, as Ctrl-Z does; goes on when the person lets us.
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
        // A terminal that is gone is not told.
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

/// The keyboard, for waiting. What stands for standard input is opened once more: the shell has the
/// same one, and would be in for a surprise if it did not wait for input any more.
fn keyboard() -> io::Result<Receiver> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open("/dev/stdin")?;
    Receiver::from_file_unchecked(file)
}

/// What was typed.
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
