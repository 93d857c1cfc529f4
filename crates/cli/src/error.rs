//! What can go wrong in the binary itself: what happened, where, and the next step as data.
//!
//! These are not faults. A [fault](unstuck_core::fault) is a failure of the work that Unstuck
//! looks after; an error here is a command that could not be carried out.

use std::io;

use unstuck_core::fault::UnknownCode;

use crate::exit::Exit;

/// A command that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A name that is no code.
    #[error("{0}")]
    UnknownCode(#[from] UnknownCode),
    /// The input could not be opened or read.
    #[error("cannot read {place}: {source}")]
    Input {
        /// The file, or standard input.
        place: String,
        /// What the system said.
        source: io::Error,
    },
    /// A line of bulk input that is no JSON string.
    #[error("{place}, line {line}: {problem}")]
    Line {
        /// The file, or standard input.
        place: String,
        /// Counted from one.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl Error {
    /// The exit code it leads to.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::UnknownCode(_) | Self::Line { .. } => Exit::Usage,
            // A file that is not there is a mistyped argument; one that breaks off is not.
            Self::Input { source, .. } => match source.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => Exit::Usage,
                _ => Exit::SomeFailed,
            },
            // The reader has seen enough, as `head` does: nothing failed.
            Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Output(_) => Exit::SomeFailed,
        }
    }

    /// Next steps, most useful first.
    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            Self::UnknownCode(unknown) => unknown_code(unknown),
            Self::Line { .. } => vec![
                "bulk input is one JSON string per line; earlier lines were answered".to_owned(),
            ],
            Self::Input { .. } => {
                vec!["without a file, or with `-`, the text is read from standard input".to_owned()]
            }
            Self::Output(_) => Vec::new(),
        }
    }

    /// Whether there is anybody left to tell, and anything to say.
    pub(crate) fn is_silent(&self) -> bool {
        self.exit() == Exit::Done
    }
}

fn unknown_code(unknown: &UnknownCode) -> Vec<String> {
    let near: Vec<&str> = unknown.nearest.iter().map(|code| code.as_str()).collect();
    let list = "`unstuck explain` lists all codes".to_owned();
    if near.is_empty() {
        vec![list]
    } else {
        vec![format!("did you mean {}?", near.join(" or ")), list]
    }
}
