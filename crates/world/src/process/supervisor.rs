//! The supervisor's side of a guard: its process, the pipes to and from it, and a guard that waits
//! for its order.
//!
//! Starting a process takes some milliseconds. A caller that knows that a program will be needed,
//! but has to record that first, starts its guard meanwhile: the guard does nothing before its
//! order.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use command_fds::{CommandFdExt as _, FdMapping};
#[cfg(target_os = "linux")]
use rustix::process::{Pid, WaitOptions, waitpid};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::guard::report::GuardReport;
use super::guard::{CONTROL, END, ForkedGuard, GuardOrder, STATUS};
use super::launch::{GuardCommand, ProcessInput};

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

    pub(super) async fn send_order(
        mut self,
        order: GuardOrder,
    ) -> io::Result<(GuardChild, GuardReports, ProcessStopper)> {
        self.control.write_all(&order.into_bytes()).await?;
        let stopper = ProcessStopper(Arc::new(Mutex::new(Some(self.control))));
        Ok((self.guard, self.status, stopper))
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

/// A handle that ends a program and all processes that it has started.
#[derive(Clone, Debug)]
pub struct ProcessStopper(Arc<Mutex<Option<Sender>>>);

impl ProcessStopper {
    /// Ends the program; repeated calls have no effect. The program is gone when
    /// [`Process::wait`](super::Process::wait) returns.
    ///
    /// The guard receives a byte and gives the program its grace period. The end of the pipe
    /// without that byte means that the supervisor died, and then there is no grace period.
    pub fn stop(&self) {
        let mut control = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if control.as_ref().is_some_and(|control| control.try_write(&[END]).is_err()) {
            control.take();
        }
    }
}

#[derive(Debug)]
pub(super) struct GuardReports {
    pipe: BufReader<Receiver>,
    /// The part of the next line that has arrived.
    line: Vec<u8>,
}

impl GuardReports {
    fn from_pipe(pipe: PipeReader) -> io::Result<Self> {
        let pipe = BufReader::new(Receiver::from_owned_fd(OwnedFd::from(pipe))?);
        Ok(Self { pipe, line: Vec::new() })
    }

    /// Returns the next report; `None` if the guard is gone.
    pub(super) async fn next_report(&mut self) -> Option<GuardReport> {
        self.pipe.read_until(b'\n', &mut self.line).await.ok()?;
        serde_json::from_slice(&std::mem::take(&mut self.line)).ok()
    }
}

/// The process of a guard, with the supervisor's ends of the program's streams.
#[derive(Debug)]
pub(super) struct GuardChild {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
    process: GuardOrigin,
}

#[derive(Debug)]
enum GuardOrigin {
    /// A started executable.
    Started(Child),
    /// A fork of this process. There is at most one, since it is made before any other step.
    #[cfg(target_os = "linux")]
    Forked(Pid),
}

impl GuardChild {
    fn from_child(mut child: Child) -> Self {
        Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            process: GuardOrigin::Started(child),
        }
    }

    #[cfg(target_os = "linux")]
    fn from_fork(pid: Pid, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            stdin: None,
            stdout: Some(ChildStdout::from_std(stdout.into())?),
            stderr: Some(ChildStderr::from_std(stderr.into())?),
            process: GuardOrigin::Forked(pid),
        })
    }

    fn is_alive(&mut self) -> bool {
        match &mut self.process {
            GuardOrigin::Started(child) => matches!(child.try_wait(), Ok(None)),
            #[cfg(target_os = "linux")]
            GuardOrigin::Forked(pid) => {
                matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(None))
            }
        }
    }

    /// Waits for a guard that has sent its last report, or is dead.
    pub(super) async fn dismiss(&mut self) {
        match &mut self.process {
            GuardOrigin::Started(child) => {
                let _ = child.wait().await;
            }
            // It ends by itself. If it has not yet, its zombie ends with this process.
            #[cfg(target_os = "linux")]
            GuardOrigin::Forked(_) => {
                self.is_alive();
            }
        }
    }
}
