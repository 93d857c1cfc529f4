//! Standard output and its abilities: width, colors, terminal or pipe; and the question whether the operator
//! confirms an action that cannot be undone.

use std::io::{self, BufRead as _, BufWriter, IsTerminal, Stdout, StdoutLock, Write};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;
use terminal_size::Width;

use super::json::write_json;
use crate::error::CliError;

/// Maximum width of text in columns; longer lines are hard to read, however wide the window is.
const WIDTH_MAX: usize = 96;
/// Minimum width of text in columns; a narrower terminal wraps the lines itself.
const WIDTH_MIN: usize = 40;
/// Size of the output buffer, large enough that an answer in bulk output costs no system call of its own.
const BUFFER_BYTES: usize = 64 * 1024;

/// A writer to standard output that shows styles only where they are wanted.
pub(crate) type StyledOutput = BufWriter<AutoStream<StdoutLock<'static>>>;

/// A writer for the output of work that continues when its reader has left, as `head` does: the
/// rest is dropped.
pub(crate) struct WorkOutput<W>(W);

impl<W: Write> Write for WorkOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_reader_left(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_reader_left(self.0.flush(), ())
    }
}

/// Returns `dropped` if the write failed because the reader has closed the pipe.
fn unless_reader_left<T>(written: io::Result<T>, dropped: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(dropped),
        written => written,
    }
}

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

    pub(crate) fn is_coloured(&self) -> bool {
        self.color != ColorChoice::Never
    }

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
    pub(crate) fn styled(&self) -> StyledOutput {
        BufWriter::with_capacity(BUFFER_BYTES, AutoStream::new(self.stdout.lock(), self.color))
    }

    /// Returns a writer for bytes without styles.
    pub(crate) fn plain(&self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::with_capacity(BUFFER_BYTES, self.stdout.lock())
    }

    /// Returns a writer like [`Self::styled`] for the output of work that continues without a reader.
    pub(crate) fn styled_for_work(&self) -> WorkOutput<StyledOutput> {
        WorkOutput(self.styled())
    }

    /// Returns a writer like [`Self::plain`] for the output of work that continues without a reader.
    pub(crate) fn plain_for_work(&self) -> WorkOutput<BufWriter<StdoutLock<'static>>> {
        WorkOutput(self.plain())
    }

    pub(crate) fn write_line(&self, line: &str) -> io::Result<()> {
        self.write_page(|out| writeln!(out, "{line}"))
    }

    /// Calls `write` with an output, which is flushed afterwards.
    pub(crate) fn write_page<E: From<io::Error>>(
        &self,
        write: impl FnOnce(&mut StyledOutput) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut out = self.styled();
        write(&mut out)?;
        Ok(out.flush()?)
    }

    /// Writes a result: as JSON for a program, or as a page for a person.
    pub(crate) fn write_result<E>(
        &self,
        json: bool,
        result: &impl Serialize,
        write_page: impl FnOnce(&mut StyledOutput) -> Result<(), E>,
    ) -> Result<(), CliError>
    where
        CliError: From<E>,
    {
        let mut out = self.styled();
        if json {
            write_json(&mut out, result)?;
        } else {
            write_page(&mut out)?;
        }
        Ok(out.flush()?)
    }
}

/// Asks a yes/no question and returns whether the answer is yes; any other answer is no. Without a terminal
/// the question is not asked, and an error is returned.
pub(crate) fn ask_confirmation(
    terminal: &Terminal,
    verb: &'static str,
    question: &str,
) -> Result<bool, CliError> {
    if !terminal.is_terminal() || !io::stdin().is_terminal() {
        return Err(CliError::NoTerminal { verb, question: question.to_owned() });
    }
    let mut out = terminal.styled();
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|source| CliError::Input { place: "standard input".to_owned(), source })?;
    if !line.ends_with('\n') {
        writeln!(out)?;
        out.flush()?;
    }
    Ok(is_yes(&line))
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (line, agreed) in
            [("y\n", true), ("Yes\n", true), ("\n", false), ("", false), ("yeah\n", false)]
        {
            assert_eq!(is_yes(line), agreed, "{line:?}");
        }
    }
}
