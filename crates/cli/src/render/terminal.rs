//! Where output goes, and what it may look like there.

use std::io::{self, BufWriter, IsTerminal, Stdout, StdoutLock};

use anstream::{AutoStream, ColorChoice};
use terminal_size::Width;

/// Longer lines are hard to read, however wide the window is.
const WIDTH_MAX: usize = 96;
/// Narrower windows get lines that wrap by themselves.
const WIDTH_MIN: usize = 40;
/// Enough that a bulk answer costs no system call of its own.
const BUFFER_BYTES: usize = 64 * 1024;

/// Standard output.
#[derive(Debug)]
pub(crate) struct Terminal {
    stdout: Stdout,
    color: ColorChoice,
}

impl Terminal {
    /// Standard output, without colours where they were declined.
    pub(crate) fn new(no_color: bool) -> Self {
        let stdout = io::stdout();
        let color = if no_color { ColorChoice::Never } else { AutoStream::choice(&stdout) };
        Self { stdout, color }
    }

    /// Whether a person is looking, as far as can be known.
    pub(crate) fn is_terminal(&self) -> bool {
        self.stdout.is_terminal()
    }

    /// Whether styles show there.
    pub(crate) fn is_coloured(&self) -> bool {
        self.color != ColorChoice::Never
    }

    /// The width to lay text out for.
    pub(crate) fn width(&self) -> usize {
        let size = terminal_size::terminal_size_of(&self.stdout);
        size.map_or(WIDTH_MAX, |(Width(columns), _)| columns.into()).clamp(WIDTH_MIN, WIDTH_MAX)
    }

    /// The width at which a list breaks its lines; elsewhere than on a terminal it breaks none.
    pub(crate) fn line_width(&self) -> usize {
        if self.is_terminal() { self.width() } else { usize::MAX }
    }

    /// A writer that keeps styles only where they are wanted: not in a pipe, not with `NO_COLOR`,
    /// not with `--no-color`.
    pub(crate) fn styled(&self) -> BufWriter<AutoStream<StdoutLock<'static>>> {
        BufWriter::with_capacity(BUFFER_BYTES, AutoStream::new(self.stdout.lock(), self.color))
    }

    /// A writer for bytes that carry no style.
    pub(crate) fn plain(&self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::with_capacity(BUFFER_BYTES, self.stdout.lock())
    }
}
