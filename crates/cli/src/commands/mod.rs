//! The verbs, one file each: `run(args, terminal)` carries it out and says how it ended.

mod classify;
mod completions;
mod config;
mod demo;
mod doctor;
mod exec;
mod explain;
mod forget;
mod inbox;
mod init;
mod log;
mod run;
mod status;
mod why;

use crate::args::{Args, Command};
use crate::error::Error;
use crate::exit::Exit;
use crate::render::Terminal;

/// Carries out one command.
pub(crate) fn run(args: Args, terminal: &Terminal) -> Result<Exit, Error> {
    let dir = args.dir.as_deref();
    match args.command {
        Command::Init(args) => init::run(&args, dir, terminal),
        Command::Doctor(args) => doctor::run(&args, dir, terminal),
        Command::Run(args) => run::run(&args, dir, terminal),
        Command::Resume(args) => run::resume(&args, dir, terminal),
        Command::Exec(args) => exec::run(args, dir, terminal),
        Command::Inbox(args) => inbox::run(&args, dir, terminal),
        Command::Status(args) => status::run(&args, dir, terminal),
        Command::Log(args) => log::run(&args, dir, terminal),
        Command::Why(args) => why::run(&args, dir, terminal),
        Command::Forget(args) => forget::run(&args, dir, terminal),
        Command::Config(args) => config::run(&args, dir, terminal),
        Command::Schema(args) => config::schema_of(&args, terminal),
        Command::Explain(args) => explain::run(&args, terminal),
        Command::Classify(args) => classify::run(&args, terminal),
        Command::Demo(args) => demo::run(&args, terminal),
        Command::Completions(args) => completions::run(&args, terminal),
    }
}
