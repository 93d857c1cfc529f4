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

use super::guard::{CONTROL, Forked, Order, STATUS};
use super::guard_child::GuardChild;
use super::launch::{Guard, Input};
use super::process::{Status, Stop};

/// A guard without an order. Dropping it ends the guard.
#[derive(Debug)]
pub struct Waiting {
    guard: GuardChild,
    status: Status,
    control: Sender,
}

impl Waiting {
    /// Starts a guard for a program that will read `input`.
    pub fn start(guard: &Guard, input: &Input) -> io::Result<Self> {
        let (control, ours) = io::pipe()?;
        let (status, theirs) = io::pipe()?;
        let guard = command(guard, input, control, theirs)?.spawn()?;
        Self::over(GuardChild::started(guard), ours, status)
    }

    /// Returns a guard for a program that inherits the standard input: the fork of this process
    /// that was made before any other step, or a guard that is started now. `None` does no harm:
    /// the guard is then started when it is needed, and that start reports the error.
    pub fn ahead(forked: Option<Forked>, guard: &Guard) -> Option<Self> {
        match forked {
            Some(forked) => Self::forked(forked).ok(),
            None => Self::start(guard, &Input::Inherit).ok(),
        }
    }

    #[cfg(target_os = "linux")]
    fn forked(forked: Forked) -> io::Result<Self> {
        let Forked { pid, control, status, stdout, stderr } = forked;
        Self::over(GuardChild::forked(pid, stdout.into(), stderr.into())?, control, status)
    }

    #[cfg(not(target_os = "linux"))]
    fn forked(none: Forked) -> io::Result<Self> {
        match none {}
    }

    fn over(guard: GuardChild, control: PipeWriter, status: PipeReader) -> io::Result<Self> {
        let control = Sender::from_owned_fd(OwnedFd::from(control))?;
        Ok(Self { guard, status: Status::reading(status)?, control })
    }

    /// Returns the guard, unless it has ended meanwhile.
    pub fn if_alive(mut self) -> Option<Self> {
        self.guard.is_alive().then_some(self)
    }

    /// Sends the order.
    pub(super) async fn tell(mut self, order: Order) -> io::Result<(GuardChild, Status, Stop)> {
        self.control.write_all(&order.into_bytes()).await?;
        Ok((self.guard, self.status, Stop::closing(self.control)))
    }
}

/// Builds the command of a guard. The command owns the guard's ends of the pipes, so that dropping
/// it closes them here; otherwise the ends of the pipes would not be noticed.
fn command(
    guard: &Guard,
    input: &Input,
    control: PipeReader,
    status: PipeWriter,
) -> io::Result<Command> {
    let mut command = std::process::Command::new(&guard.executable);
    command.args(&guard.arguments);
    command.stdin(match input {
        Input::Nothing => Stdio::null(),
        Input::Own(own) if own.is_passed_on() => Stdio::piped(),
        Input::Inherit | Input::Own(_) => Stdio::inherit(),
        Input::Bytes(_) | Input::Taken => Stdio::piped(),
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mapping = |ours: OwnedFd, number| FdMapping { parent_fd: ours, child_fd: number };
    command
        .fd_mappings(vec![mapping(control.into(), CONTROL), mapping(status.into(), STATUS)])
        .map_err(io::Error::other)?;
    Ok(Command::from(command))
}
