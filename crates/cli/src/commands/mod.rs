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

use crate::args::{CliArgs, CliCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::project;
use crate::render::Terminal;

/// Runs the command of the parsed arguments.
pub(crate) fn run_command(args: CliArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let dir = args.globals.dir.as_deref();
    if needs_project(&args.command) {
        project::require_descriptors()?;
    }
    match args.command {
        CliCommand::Init(args) => init::run(&args, dir, terminal),
        CliCommand::Doctor(args) => doctor::run(&args, dir, terminal),
        CliCommand::Run(args) => run::run(&args, dir, terminal),
        CliCommand::Resume(args) => run::resume(&args, dir, terminal),
        CliCommand::Exec(args) => exec::run(args, dir, terminal),
        CliCommand::Mutate(args) => mutate::run(&args, dir),
        CliCommand::Fail(args) => fail::run(&args),
        CliCommand::Jobs(args) => jobs::run(&args, dir, terminal),
        CliCommand::Inbox(args) => inbox::run(&args, dir, terminal),
        CliCommand::Serve(args) => serve::run(&args, dir, terminal),
        CliCommand::Status(args) => status::run(&args, dir, terminal),
        CliCommand::Log(args) => log::run(&args, dir, terminal),
        CliCommand::Why(args) => why::run(&args, dir, terminal),
        CliCommand::Pause(args) => pause::run(&args, dir, terminal),
        CliCommand::Cancel(args) => cancel::run(&args, dir, terminal),
        CliCommand::Kick(args) => kick::run(&args, dir, terminal),
        CliCommand::Retry(args) => retry::run(&args, dir, terminal),
        CliCommand::Skip(args) => skip::run(&args, dir, terminal),
        CliCommand::Land(args) => land::run(&args, dir, terminal),
        CliCommand::Clean(args) => clean::run(&args, dir, terminal),
        CliCommand::Report(args) => report::run(&args, dir, terminal),
        CliCommand::Forget(args) => forget::run(&args, dir, terminal),
        CliCommand::Config(args) => config::run(&args, dir, terminal),
        CliCommand::Notify(args) => notify::run(&args, dir, terminal),
        CliCommand::Token(args) => token::run(&args, terminal),
        CliCommand::Store(args) => store::run(&args, dir, terminal),
        CliCommand::Schema(args) => config::write_schema(&args, terminal),
        CliCommand::Explain(args) => explain::run(&args, terminal),
        CliCommand::Classify(args) => classify::run(&args, terminal),
        CliCommand::Drill(args) => drill::run(&args, terminal),
        CliCommand::Mcp(args) => mcp::run(&args, dir, terminal),
        CliCommand::Demo(args) => demo::run(&args, terminal),
        CliCommand::Completions(args) => completions::run(&args, terminal),
    }
}

/// Returns whether a command opens more files than its input and output.
const fn needs_project(command: &CliCommand) -> bool {
    !matches!(
        command,
        CliCommand::Schema(_)
            | CliCommand::Explain(_)
            | CliCommand::Classify(_)
            | CliCommand::Completions(_)
    )
}
