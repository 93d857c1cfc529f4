//! `unstuck demo`: one night on the real loop, a real store and a real git repository, in virtual
//! time, with no key and no network.
//!
//! What the agents do is scripted ([`story`]); they do it in worktrees of a small shop ([`shop`]),
//! with its own tests, a remote repository and a hosting account. Every decision, wait, question and
//! sentence is the engine's own. The night runs in a process of its own, and half-way that process
//! is killed: another one reads the store and goes on. So does the next `unstuck demo` when this
//! one is killed.

mod ask;
mod clock;
mod folder;
mod night;
mod play;
mod shop;
mod show;
mod story;
mod world;

use std::env;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

use crate::args::Demo;
use crate::error::Error;
use crate::exit::Exit;
use crate::project;
use crate::render::Terminal;
use folder::Folder;

/// The signal nobody can refuse.
const SIGKILL: i32 = 9;
/// A night that is killed more often than this is not the story's doing.
const KILLED_MAX: u32 = 3;

/// Carries it out.
pub(crate) fn run(args: &Demo, terminal: &Terminal) -> Result<Exit, Error> {
    if let Some(folder) = &args.night {
        return project::runtime()?.block_on(play::night(args, folder, terminal));
    }
    let folder = Folder::open(args.seed)?;
    let mut out = terminal.styled();
    show::opening(
        &mut out,
        args.seed,
        ask::Person::new(args.auto).is_scripted(),
        folder.goes_on(),
    )?;
    out.flush()?;
    drop(out);
    for _ in 0..=KILLED_MAX {
        let status = night_process(args, &folder)?;
        if status.signal() != Some(SIGKILL) {
            folder.remove();
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(Exit::Command(code.unwrap_or(Exit::Internal.number())));
        }
        let mut out = terminal.styled();
        show::killed(&mut out)?;
        out.flush()?;
    }
    Ok(Exit::Internal)
}

/// The night, in a process of its own.
fn night_process(args: &Demo, folder: &Folder) -> Result<ExitStatus, Error> {
    let unusable = |source| Error::Folder { place: "this program".to_owned(), source };
    let mut command = Command::new(env::current_exe().map_err(unusable)?);
    command.args(env::args_os().skip(1)).arg("--night").arg(folder.path());
    if args.auto {
        command.stdin(std::process::Stdio::null());
    }
    command.status().map_err(unusable)
}
