//! The verbs, one module each: `run(args, terminal)` carries out the verb and returns its exit code.

mod cancel;
mod classify;
mod clean;
mod completions;
mod config;
mod control;
mod demo;
mod doctor;
mod drill;
mod exec;
mod explain;
mod fail;
mod forget;
mod inbox;
mod init;
mod jobs;
mod kick;
mod land;
mod log;
mod mcp;
mod mutate;
mod notify;
mod pause;
mod performer;
mod report;
mod retry;
mod run;
mod serve;
mod skip;
mod status;
mod store;
mod target;
mod token;
mod why;

use crate::args::{Args, Command};
use crate::error::Error;
use crate::exit::Exit;
use crate::project;
use crate::render::Terminal;

/// Runs the command of the parsed arguments.
pub(crate) fn run(args: Args, terminal: &Terminal) -> Result<Exit, Error> {
    let dir = args.globals.dir.as_deref();
    if is_about_a_project(&args.command) {
        project::require_descriptors()?;
    }
    match args.command {
        Command::Init(args) => init::run(&args, dir, terminal),
        Command::Doctor(args) => doctor::run(&args, dir, terminal),
        Command::Run(args) => run::run(&args, dir, terminal),
        Command::Resume(args) => run::resume(&args, dir, terminal),
        Command::Exec(args) => exec::run(args, dir, terminal),
        Command::Mutate(args) => mutate::run(&args, dir),
        Command::Fail(args) => fail::run(&args),
        Command::Jobs(args) => jobs::run(&args, dir, terminal),
        Command::Inbox(args) => inbox::run(&args, dir, terminal),
        Command::Serve(args) => serve::run(&args, dir, terminal),
        Command::Status(args) => status::run(&args, dir, terminal),
        Command::Log(args) => log::run(&args, dir, terminal),
        Command::Why(args) => why::run(&args, dir, terminal),
        Command::Pause(args) => pause::run(&args, dir, terminal),
        Command::Cancel(args) => cancel::run(&args, dir, terminal),
        Command::Kick(args) => kick::run(&args, dir, terminal),
        Command::Retry(args) => retry::run(&args, dir, terminal),
        Command::Skip(args) => skip::run(&args, dir, terminal),
        Command::Land(args) => land::run(&args, dir, terminal),
        Command::Clean(args) => clean::run(&args, dir, terminal),
        Command::Report(args) => report::run(&args, dir, terminal),
        Command::Forget(args) => forget::run(&args, dir, terminal),
        Command::Config(args) => config::run(&args, dir, terminal),
        Command::Notify(args) => notify::run(&args, dir, terminal),
        Command::Token(args) => token::run(&args, terminal),
        Command::Store(args) => store::run(&args, dir, terminal),
        Command::Schema(args) => config::schema_of(&args, terminal),
        Command::Explain(args) => explain::run(&args, terminal),
        Command::Classify(args) => classify::run(&args, terminal),
        Command::Drill(args) => drill::run(&args, terminal),
        Command::Mcp(args) => mcp::run(&args, dir, terminal),
        Command::Demo(args) => demo::run(&args, terminal),
        Command::Completions(args) => completions::run(&args, terminal),
    }
}

/// Returns whether a command opens more files than its input and output.
const fn is_about_a_project(command: &Command) -> bool {
    !matches!(
        command,
        Command::Schema(_) | Command::Explain(_) | Command::Classify(_) | Command::Completions(_)
    )
}
