//! `unstuck demo`: plays one night with the real loop, a real store and a real git repository, in virtual
//! time, without a key and without a network.
//!
//! The agents are scripted; they work in worktrees of a small shop ([`story`]) with its own
//! tests, a remote repository and a hosting account. Every decision, wait, question and sentence is the
//! engine's own. The night runs in a process of its own, which is killed half-way: another process reads
//! the store and continues. The next `unstuck demo` does the same if this one is killed.

mod night;
mod pace;
mod show;
mod story;

use std::env;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use crate::error::CliError;
use crate::exit::Exit;
use crate::project;
use crate::render::Terminal;

/// Play a whole night in a minute, without a key or network
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Plays one night of six tasks on the real loop, a real store and a real \
        repository, in virtual time: failing checks, a limited account, a change outside the \
        scope, a lost connection during a push, a killed program, and a question for you. The \
        agents follow a script; git, the checks and every decision are real. Nothing is sent, and \
        everything that is written is removed at the end. If you kill it, the next `unstuck demo` \
        continues.\n\n\
        Without a terminal, the recommended answer is chosen.",
    after_long_help = DEMO_EXAMPLES
)]
pub(crate) struct DemoArgs {
    /// Choose the recommended answers instead of asking
    #[arg(long)]
    auto: bool,

    /// The seed for the random waits
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u64,

    /// Play the night in this folder, in this process
    #[arg(long, value_name = "DIR", hide = true)]
    night: Option<PathBuf>,

    /// Do not kill the process in the middle
    #[arg(long, hide = true)]
    gently: bool,

    /// Have it die at the nth place where it can, in builds that are not for release
    #[arg(long, value_name = "NTH", hide = true)]
    crash_at: Option<u64>,
}

const DEMO_EXAMPLES: &str = "\
Examples:
  unstuck demo                       answer its question yourself
  unstuck demo --auto                choose the recommended answer
  unstuck demo --auto --seed 11      the same night with other random waits";

/// The signal that a process cannot catch.
const SIGKILL: i32 = 9;
/// Maximum number of kills in a night; more are not part of the story.
const KILLED_MAX: u32 = 3;

pub(crate) fn run(args: &DemoArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    if let Some(folder) = &args.night {
        return project::create_runtime()?.block_on(night::play_night(args, folder, terminal));
    }
    let folder = NightFolder::open(args.seed)?;
    let scripted = show::DemoAnswerer::new(args.auto).is_scripted();
    terminal.write_page(|out| show::write_opening(out, args.seed, scripted, folder.goes_on))?;
    for _ in 0..=KILLED_MAX {
        let status = run_night_process(args, &folder)?;
        if status.signal() != Some(SIGKILL) {
            folder.remove();
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(Exit::Command(code.unwrap_or(Exit::Internal.number())));
        }
        terminal.write_page(show::write_kill)?;
    }
    Ok(Exit::Internal)
}

fn run_night_process(args: &DemoArgs, folder: &NightFolder) -> Result<ExitStatus, CliError> {
    let unusable = |source| CliError::Folder { place: "this program".to_owned(), source };
    let mut command = Command::new(env::current_exe().map_err(unusable)?);
    command.args(env::args_os().skip(1)).arg("--night").arg(&folder.path);
    if args.auto {
        command.stdin(std::process::Stdio::null());
    }
    command.status().map_err(unusable)
}

struct NightFolder {
    path: PathBuf,
    /// Set if a night was interrupted here.
    goes_on: bool,
}

impl NightFolder {
    /// Opens the folder of the night with this seed; that of an interrupted night still exists.
    fn open(seed: u64) -> Result<Self, CliError> {
        let path = project::user_state_folder().join("demo").join(seed.to_string());
        let goes_on = path.exists();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(CliError::unusable(&path))?;
        Ok(Self { path, goes_on })
    }

    /// Removes the folder at the end of the night. The next night finds files that cannot be removed.
    fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
