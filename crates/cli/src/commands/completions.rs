//! `unstuck completions`: the completion script of a shell.

use std::io::Write as _;

use clap::ColorChoice;

use crate::args::{self, Completions};
use crate::error::Error;
use crate::exit::Exit;
use crate::render::Terminal;

/// Carries it out.
pub(crate) fn run(args: &Completions, terminal: &Terminal) -> Result<Exit, Error> {
    // Into memory first: the generator has no way to report a pipe that was closed.
    let mut script = Vec::new();
    let mut command = args::command(ColorChoice::Never);
    clap_complete::generate(args.shell, &mut command, "unstuck", &mut script);
    let mut out = terminal.plain();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Done)
}
