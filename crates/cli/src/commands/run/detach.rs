//! Continues in the background.

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::error::CliError;
use crate::exit::Exit;
use crate::project::LocalProject;
use crate::render::Terminal;

/// Starts this command again in the background.
pub(super) fn start_in_background(
    project: &LocalProject,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let arguments = env::args_os().skip(1).filter(|argument| argument != "--detach");
    spawn_background(project, arguments.collect(), terminal)
}

/// Continues the builds of this process in the background.
pub(super) fn resume_in_background(
    project: &LocalProject,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let root = project.root().into();
    spawn_background(project, vec!["-C".into(), root, "resume".into()], terminal)
}

/// Starts the program without a terminal and in its own process group, so that closing the terminal does
/// not end it.
fn spawn_background(
    project: &LocalProject,
    arguments: Vec<OsString>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let log = project.run_log_path();
    let unusable = |source| CliError::Folder { place: log.display().to_string(), source };
    project.open_or_create_store()?;
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).mode(0o600).open(&log).map_err(unusable)?;
    let executable = env::current_exe().map_err(unusable)?;
    let mut command = Command::new(executable);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    command.stdout(file.try_clone().map_err(unusable)?).stderr(file);
    let child = command.spawn().map_err(unusable)?;
    let mut out = terminal.plain();
    writeln!(out, "It goes on in the background (process {}).", child.id())?;
    writeln!(out, "`unstuck status` shows where it stands, `unstuck log -f` what happens.")?;
    writeln!(out, "What it says itself is in {}.", log.display())?;
    out.flush()?;
    Ok(Exit::Done)
}
