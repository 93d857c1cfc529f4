//! The process of a guard, as its supervisor sees it.

#[cfg(target_os = "linux")]
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;

#[cfg(target_os = "linux")]
use rustix::process::{Pid, WaitOptions, waitpid};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

/// The process of a guard, with the supervisor's ends of the program's streams.
#[derive(Debug)]
pub(super) struct GuardChild {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
    process: GuardOrigin,
}

/// The origin of a guard's process.
#[derive(Debug)]
enum GuardOrigin {
    /// A started executable.
    Started(Child),
    /// A fork of this process. There is at most one, since it is made before any other step.
    #[cfg(target_os = "linux")]
    Forked(Pid),
}

impl GuardChild {
    pub(super) fn from_child(mut child: Child) -> Self {
        Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            process: GuardOrigin::Started(child),
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn from_fork(pid: Pid, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            stdin: None,
            stdout: Some(ChildStdout::from_std(stdout.into())?),
            stderr: Some(ChildStderr::from_std(stderr.into())?),
            process: GuardOrigin::Forked(pid),
        })
    }

    pub(super) fn is_alive(&mut self) -> bool {
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
