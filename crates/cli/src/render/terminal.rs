//! Standard output and its abilities: width, colors, terminal or pipe.

use std::io::{self, BufWriter, IsTerminal, Stdout, StdoutLock};

use anstream::{AutoStream, ColorChoice};
use terminal_size::Width;

/// Maximum width of text in columns; longer lines are hard to read, however wide the window is.
const WIDTH_MAX: usize = 96;
/// Minimum width of text in columns; a narrower terminal wraps the lines itself.
const WIDTH_MIN: usize = 40;
/// Size of the output buffer, large enough that an answer in bulk output costs no system call of its own.
const BUFFER_BYTES: usize = 64 * 1024;

/// Standard output.
#[derive(Debug)]
pub(crate) struct Terminal {
    stdout: Stdout,
    color: ColorChoice,
}

impl Terminal {
    /// Opens standard output, without colors if they were declined.
    pub(crate) fn new(no_color: bool) -> Self {
        let stdout = io::stdout();
        let color = if no_color { ColorChoice::Never } else { AutoStream::choice(&stdout) };
        Self { stdout, color }
    }

    /// Returns whether a person is looking, as far as can be known.
    pub(crate) fn is_terminal(&self) -> bool {
        self.stdout.is_terminal()
    }

    /// Returns whether styles are shown.
    pub(crate) fn is_coloured(&self) -> bool {
        self.color != ColorChoice::Never
    }

    /// Returns the width to lay text out for.
    pub(crate) fn width(&self) -> usize {
        let size = terminal_size::terminal_size_of(&self.stdout);
        size.map_or(WIDTH_MAX, |(Width(columns), _)| columns.into()).clamp(WIDTH_MIN, WIDTH_MAX)
    }

    /// Returns the width at which lists wrap; output that is not a terminal is not wrapped.
    pub(crate) fn line_width(&self) -> usize {
        if self.is_terminal() { self.width() } else { usize::MAX }
    }

    /// Returns a writer that keeps styles only where they are wanted: not in a pipe, not with `NO_COLOR`,
    /// not with `--no-color`.
    pub(crate) fn styled(&self) -> BufWriter<AutoStream<StdoutLock<'static>>> {
        BufWriter::with_capacity(BUFFER_BYTES, AutoStream::new(self.stdout.lock(), self.color))
    }

    /// Returns a writer for bytes without styles.
    pub(crate) fn plain(&self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::with_capacity(BUFFER_BYTES, self.stdout.lock())
    }
}
