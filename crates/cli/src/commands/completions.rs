//! `unstuck completions`: writes the completion script of a shell.

use std::io::Write as _;

use clap::ColorChoice;

use crate::args::{self, CompletionsArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::Terminal;

pub(crate) fn run(args: &CompletionsArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    // Written to memory first: the generator cannot report a closed pipe.
    let mut script = Vec::new();
    let mut command = args::build_clap_command(ColorChoice::Never);
    clap_complete::generate(args.shell, &mut command, "unstuck", &mut script);
    let mut out = terminal.plain();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Done)
}
