//! The verbs, one file each: `run(args, terminal)` carries it out and says how it ended.

mod classify;
mod completions;
mod demo;
mod explain;

use crate::args::Command;
use crate::error::Error;
use crate::exit::Exit;
use crate::render::Terminal;

/// Carries out one command.
pub(crate) fn run(command: Command, terminal: &Terminal) -> Result<Exit, Error> {
    match command {
        Command::Explain(args) => explain::run(&args, terminal),
        Command::Classify(args) => classify::run(&args, terminal),
        Command::Demo(args) => demo::run(&args, terminal),
        Command::Completions(args) => completions::run(&args, terminal),
    }
}
