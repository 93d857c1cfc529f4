//! `unstuck demo`: plays one night with the real loop, a real store and a real git repository, in virtual
//! time, without a key and without a network.
//!
//! The agents are scripted ([`story`]); they work in worktrees of a small shop ([`shop`]) with its own
//! tests, a remote repository and a hosting account. Every decision, wait, question and sentence is the
//! engine's own. The night runs in a process of its own, which is killed half-way: another process reads
//! the store and continues. The next `unstuck demo` does the same if this one is killed.

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

use crate::args::DemoArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project;
use crate::render::Terminal;
use folder::NightFolder;

/// The signal that a process cannot catch.
const SIGKILL: i32 = 9;
/// Maximum number of kills in a night; more are not part of the story.
const KILLED_MAX: u32 = 3;

pub(crate) fn run(args: &DemoArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    if let Some(folder) = &args.night {
        return project::create_runtime()?.block_on(play::play_night(args, folder, terminal));
    }
    let folder = NightFolder::open(args.seed)?;
    let mut out = terminal.styled();
    show::write_opening(
        &mut out,
        args.seed,
        ask::DemoAnswerer::new(args.auto).is_scripted(),
        folder.is_resumed(),
    )?;
    out.flush()?;
    drop(out);
    for _ in 0..=KILLED_MAX {
        let status = run_night_process(args, &folder)?;
        if status.signal() != Some(SIGKILL) {
            folder.remove();
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(Exit::Command(code.unwrap_or(Exit::Internal.number())));
        }
        let mut out = terminal.styled();
        show::write_kill(&mut out)?;
        out.flush()?;
    }
    Ok(Exit::Internal)
}

/// Runs the night in a process of its own.
fn run_night_process(args: &DemoArgs, folder: &NightFolder) -> Result<ExitStatus, CliError> {
    let unusable = |source| CliError::Folder { place: "this program".to_owned(), source };
    let mut command = Command::new(env::current_exe().map_err(unusable)?);
    command.args(env::args_os().skip(1)).arg("--night").arg(folder.path());
    if args.auto {
        command.stdin(std::process::Stdio::null());
    }
    command.status().map_err(unusable)
}
