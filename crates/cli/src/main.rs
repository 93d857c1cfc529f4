//! The `unstuck` program: parses arguments, calls the libraries and prints the results.
//!
//! Only this crate prints, knows about terminals and ends the process. The texts about faults come from
//! `unstuck-core`; no decision is made here.

mod args;
mod build;
mod command_line;
mod commands;
mod context;
mod error;
mod exit;
mod input;
mod problem;
mod project;
mod render;
mod settings;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
use unstuck_world::process::attack;
use unstuck_world::process::guard;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == guard::ARGUMENT) {
        return guard::main();
    }
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|first| first == attack::ARGUMENT) {
        return attack::main(std::env::args_os().skip(2));
    }
    let args = command_line::parse_command_line();
    let telling =
        render::ErrorFormat { json: command_line::wants_json(), no_color: args.globals.no_color };
    let terminal = render::Terminal::new(telling.no_color);
    match command_line::run_command(args, &terminal) {
        Ok(exit) => exit.into(),
        Err(error) => {
            render::write_error(&error, telling);
            error.exit().into()
        }
    }
}
