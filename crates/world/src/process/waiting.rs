//! A guard that runs and waits to be told what to start.
//!
//! A process takes some milliseconds to come up. Whoever knows that a program will be needed, but has
//! yet to write down that it is, has its guard come up meanwhile: it does nothing before its order.

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

/// A guard without an order. Dropping it ends it.
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

    /// One for a program that reads what we would read: the copy of this process that was made
    /// before all else, or one that is started now. None is no harm: it is started when it is needed,
    /// and then says what is wrong.
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

    /// Itself, unless it has ended meanwhile.
    pub fn if_alive(mut self) -> Option<Self> {
        self.guard.is_alive().then_some(self)
    }

    /// Gives it its order.
    pub(super) async fn tell(mut self, order: Order) -> io::Result<(GuardChild, Status, Stop)> {
        self.control.write_all(&order.into_bytes()).await?;
        Ok((self.guard, self.status, Stop::closing(self.control)))
    }
}

/// The command takes the guard's ends of the pipes with it: they have to be closed here for the
/// other ends to mean anything.
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
