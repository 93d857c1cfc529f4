//! A terminal of our own with the program at it: what it shows is read, and keys are pressed.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// Longer than anything takes: where it passes, what was waited for does not come.
const PATIENCE: Duration = Duration::from_mins(1);
/// A picture that is drawn every second goes on for ever: so many pieces of it are looked at.
const PIECES_MAX: usize = 100;

/// How often it is looked whether a program that writes nothing has ended.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS_MAX: usize = 3_000;

/// A program at a terminal.
pub(crate) struct Pty {
    ours: File,
    theirs: OwnedFd,
    child: Child,
    /// All that was written so far, and how much of it was looked at.
    seen: String,
    looked_at: usize,
}

impl Pty {
    /// Starts it in a window of this size, in a group of its own, as a shell would.
    pub(crate) fn start(mut command: Command, columns: u16, rows: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap());
        let theirs = OwnedFd::from(theirs.unwrap());
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&theirs, size).unwrap();
        let end = || Stdio::from(theirs.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end()).process_group(0);
        let child = command.env("TERM", "xterm").spawn().unwrap();
        Self { ours: File::from(ours), theirs, child, seen: String::new(), looked_at: 0 }
    }

    /// Waits until it shows this, after what was waited for before.
    pub(crate) fn until(&mut self, text: &str) {
        for _ in 0..PIECES_MAX {
            let rest = &self.seen[self.looked_at..];
            if let Some(at) = rest.find(text) {
                self.looked_at += at + text.len();
                return;
            }
            assert!(self.read(PATIENCE), "{text:?} does not come after:\n{}", self.seen);
        }
        panic!("{text:?} does not come in:\n{}", self.seen);
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.theirs, size).unwrap();
        // It is not the terminal that this one was started from, so no shell tells it.
        self.signal(Signal::WINCH);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits until it stands still, as after Ctrl-Z.
    pub(crate) fn until_stopped(&self) {
        let (_, status) = waitpid(Some(self.pid()), WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped(), "{status:?}");
    }

    /// Waits until it ends, and gives all that it wrote.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let ended = (0..LOOKS_MAX).find_map(|_| {
            let ended = self.child.try_wait().unwrap();
            if ended.is_none() {
                self.read(LOOK);
            }
            ended
        });
        let status = ended.unwrap_or_else(|| panic!("it does not end after:\n{}", self.seen));
        while self.read(Duration::ZERO) {}
        assert!(self.is_usual(), "the terminal was not given back");
        (status, self.seen.clone())
    }

    /// Whether the terminal is as a shell wants it.
    pub(crate) fn is_usual(&self) -> bool {
        let modes = tcgetattr(&self.theirs).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn has_input(&self, patience: Duration) -> bool {
        let patience = Timespec::try_from(patience).unwrap();
        let mut fds = [PollFd::from_borrowed_fd(self.ours.as_fd(), PollFlags::IN)];
        poll(&mut fds, Some(&patience)).unwrap() > 0
    }

    fn read(&mut self, patience: Duration) -> bool {
        let mut bytes = [0; 4_096];
        let read =
            if self.has_input(patience) { self.ours.read(&mut bytes).unwrap_or(0) } else { 0 };
        // Half a character at the end would be shown as two signs; nothing is compared there.
        self.seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
        read > 0
    }
}
