//! The `unstuck` program: reads arguments, calls the libraries, speaks to people.
//!
//! It is the only part that prints, that knows about terminals and that ends the process. What it
//! says about faults comes from `unstuck-core`; nothing is decided here.

mod args;
mod commands;
mod error;
mod exit;
mod input;
mod render;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::parse();
    let terminal = render::Terminal::new(args.no_color);
    match commands::run(args.command, &terminal) {
        Ok(exit) => exit.into(),
        Err(error) => {
            render::error(&error, args.no_color);
            error.exit().into()
        }
    }
}
