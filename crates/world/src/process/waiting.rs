//! A guard that runs and waits for its order.
//!
//! Starting a process takes some milliseconds. A caller that knows that a program will be needed,
//! but has to record that first, starts its guard meanwhile: the guard does nothing before its
//! order.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::process::Stdio;

use command_fds::{CommandFdExt as _, FdMapping};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::Sender;
use tokio::process::Command;

use super::guard::{CONTROL, ForkedGuard, GuardOrder, STATUS};
use super::guard_child::GuardChild;
use super::launch::{GuardCommand, ProcessInput};
use super::process::{GuardReports, ProcessStopper};

/// A guard without an order. Dropping it ends the guard.
#[derive(Debug)]
pub struct IdleGuard {
    guard: GuardChild,
    status: GuardReports,
    control: Sender,
}

impl IdleGuard {
    /// Starts a guard for a program that will read `input`.
    pub fn start(guard: &GuardCommand, input: &ProcessInput) -> io::Result<Self> {
        let (control, ours) = io::pipe()?;
        let (status, theirs) = io::pipe()?;
        let guard = build_command(guard, input, control, theirs)?.spawn()?;
        Self::from_pipes(GuardChild::from_child(guard), ours, status)
    }

    /// Returns a guard for a program that inherits the standard input: the fork of this process
    /// that was made before any other step, or a guard that is started now. `None` does no harm:
    /// the guard is then started when it is needed, and that start reports the error.
    pub fn start_ahead(forked: Option<ForkedGuard>, guard: &GuardCommand) -> Option<Self> {
        match forked {
            Some(forked) => Self::forked(forked).ok(),
            None => Self::start(guard, &ProcessInput::Inherit).ok(),
        }
    }

    #[cfg(target_os = "linux")]
    fn forked(forked: ForkedGuard) -> io::Result<Self> {
        let ForkedGuard { pid, control, status, stdout, stderr } = forked;
        Self::from_pipes(GuardChild::from_fork(pid, stdout.into(), stderr.into())?, control, status)
    }

    #[cfg(not(target_os = "linux"))]
    fn forked(none: ForkedGuard) -> io::Result<Self> {
        match none {}
    }

    fn from_pipes(guard: GuardChild, control: PipeWriter, status: PipeReader) -> io::Result<Self> {
        let control = Sender::from_owned_fd(OwnedFd::from(control))?;
        Ok(Self { guard, status: GuardReports::from_pipe(status)?, control })
    }

    /// Returns the guard, unless it has ended meanwhile.
    pub fn if_alive(mut self) -> Option<Self> {
        self.guard.is_alive().then_some(self)
    }

    /// Sends the order.
    pub(super) async fn send_order(
        mut self,
        order: GuardOrder,
    ) -> io::Result<(GuardChild, GuardReports, ProcessStopper)> {
        self.control.write_all(&order.into_bytes()).await?;
        Ok((self.guard, self.status, ProcessStopper::from_control(self.control)))
    }
}

/// Builds the command of a guard. The command owns the guard's ends of the pipes, so that dropping
/// it closes them here; otherwise the ends of the pipes would not be noticed.
fn build_command(
    guard: &GuardCommand,
    input: &ProcessInput,
    control: PipeReader,
    status: PipeWriter,
) -> io::Result<Command> {
    let mut command = std::process::Command::new(&guard.executable);
    command.args(&guard.arguments);
    command.stdin(match input {
        ProcessInput::Nothing => Stdio::null(),
        ProcessInput::Own(own) if own.is_passed_on() => Stdio::piped(),
        ProcessInput::Inherit | ProcessInput::Own(_) => Stdio::inherit(),
        ProcessInput::Bytes(_) | ProcessInput::Taken => Stdio::piped(),
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mapping = |ours: OwnedFd, number| FdMapping { parent_fd: ours, child_fd: number };
    command
        .fd_mappings(vec![mapping(control.into(), CONTROL), mapping(status.into(), STATUS)])
        .map_err(io::Error::other)?;
    Ok(Command::from(command))
}
