//! Going on in the background.

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::exit::Exit;
use crate::project::Project;
use crate::render::Terminal;

/// Starts this very command again, without a terminal and in a session of its own.
pub(super) fn start(project: &Project, terminal: &Terminal) -> Result<Exit, Error> {
    let log = project.run_log();
    let unusable = |source| Error::Folder { place: log.display().to_string(), source };
    project.make_store()?;
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).mode(0o600).open(&log).map_err(unusable)?;
    let arguments: Vec<OsString> =
        env::args_os().skip(1).filter(|argument| argument != "--detach").collect();
    let executable = env::current_exe().map_err(unusable)?;
    let mut command = Command::new(executable);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(unusable)?)
        .stderr(file)
        // Closing the terminal is no reason to end.
        .process_group(0);
    let child = command.spawn().map_err(unusable)?;
    let mut out = terminal.plain();
    writeln!(out, "It goes on in the background (process {}).", child.id())?;
    writeln!(out, "`unstuck status` shows where it stands, `unstuck log -f` what happens.")?;
    writeln!(out, "What it says itself is in {}.", log.display())?;
    out.flush()?;
    Ok(Exit::Done)
}
