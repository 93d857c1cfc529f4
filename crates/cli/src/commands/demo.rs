//! `unstuck demo`: the whole story with a scripted agent on a throw-away repository.
//!
//! Not part of the program yet: it is declared in `commands/mod.rs` and `args.rs` once it plays.

use crate::args::Demo;
use crate::error::Error;
use crate::exit::Exit;
use crate::render::Terminal;

/// Carries it out.
pub(crate) fn run(args: &Demo, terminal: &Terminal) -> Result<Exit, Error> {
    let _ = (args, terminal);
    Ok(Exit::Done)
}
