//! The life of a guard: take the lock, start the program, wait, end what is left, let go.

use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, setsid, wait};

use super::order::{Order, Session};
use super::report::{Gone, Program, Refusal, Report};
use super::signals::{Awaited, Ending};
#[cfg(target_os = "linux")]
use crate::process::cgroup::Cgroup;
use crate::process::ended::NotStarted;
use crate::process::fence::Held;
use crate::process::lock::Lock;
use crate::process::{marker, tree};

/// Between two rounds of killing, if no child's end wakes us before.
const ROUND_FIRST: Duration = Duration::from_millis(5);
/// Rounds slow down to this: what does not die at once waits for a disk, or is not ours to kill.
const ROUND_LAST: Duration = Duration::from_secs(1);

/// Where a program writes that does not write where its guard does.
pub(super) struct Streams {
    pub(super) stdout: PipeWriter,
    pub(super) stderr: PipeWriter,
}

/// Waits for an order and keeps its program until nothing of it is left.
pub(super) fn keep(control: &PipeReader, status: &PipeWriter, streams: Option<Streams>) {
    // Before the order: what a terminal sends meanwhile is not for us.
    let awaited = match Awaited::install(control) {
        Ok(awaited) => awaited,
        Err(error) => {
            let refusal = Refusal::Setup(error.raw_os_error().unwrap_or_default());
            return Report::Refused(refusal).send(status);
        }
    };
    // Before the order as well: whoever gives it waits for what comes after.
    #[cfg(target_os = "linux")]
    let home = Cgroup::home();
    let Some(order) = Order::read(control) else { return };
    let begun = Kept::begin(
        &order,
        awaited,
        streams,
        #[cfg(target_os = "linux")]
        home.as_deref(),
    );
    let report = match begun {
        Err(refusal) => Report::Refused(refusal),
        Ok(Err(reason)) => Report::Gone(Gone {
            program: Program::NotStarted(reason),
            stopped: false,
            leftovers: 0,
        }),
        Ok(Ok(kept)) => {
            Report::Started(kept.held).send(status);
            Report::Gone(kept.until_gone(order.grace))
        }
    };
    // The lock is free by now: whoever reads this may take it.
    report.send(status);
}

/// A program with everything it started.
struct Kept<'a> {
    main: Pid,
    /// What really keeps it in.
    held: Held,
    /// How the program itself ended.
    ended: Option<Program>,
    awaited: Awaited<'a>,
    #[cfg(target_os = "linux")]
    group: Option<Cgroup>,
    lock: Lock,
}

impl<'a> Kept<'a> {
    fn begin(
        order: &Order,
        awaited: Awaited<'a>,
        streams: Option<Streams>,
        #[cfg(target_os = "linux")] home: Option<&Path>,
    ) -> Result<Result<Self, NotStarted>, Refusal> {
        let setup = |error: Errno| Refusal::Setup(error.raw_os_error());
        tree::adopt_orphans().map_err(setup)?;
        if order.session == Session::Own {
            setsid().map_err(setup)?;
        }
        #[cfg_attr(not(target_os = "linux"), expect(unused_mut, reason = "no note is written"))]
        let mut lock = match Lock::try_take(&order.lock) {
            Ok(lock) => lock.ok_or(Refusal::Held)?,
            Err(error) => return Err(Refusal::Lock(error.raw_os_error().unwrap_or_default())),
        };
        if !order.directory.is_dir() {
            return Ok(Err(NotStarted::DirectoryMissing));
        }
        let mut command = command(order, &lock);
        if let Some(Streams { stdout, stderr }) = streams {
            command.stdout(stdout).stderr(stderr);
        }
        #[cfg(target_os = "linux")]
        let (group, started) = Cgroup::around(home, &mut lock, &mut command, &order.fence);
        #[cfg(not(target_os = "linux"))]
        let started = order.fence.start(&mut command);
        match started {
            Ok((main, held)) => Ok(Ok(Self {
                main,
                held,
                ended: None,
                awaited,
                #[cfg(target_os = "linux")]
                group,
                lock,
            })),
            Err(error) => Ok(Err(reason(&error, order))),
        }
    }

    /// Waits for the end and sees to it that it is one.
    fn until_gone(mut self, grace: Duration) -> Gone {
        let mut any_left = self.collect();
        let mut told = None;
        while self.ended.is_none() && told.is_none() {
            told = self.awaited.told_to_end();
            if told.is_none() {
                self.awaited.wait(None, true);
            }
            any_left = self.collect();
        }
        let stopped = self.ended.is_none();
        let grace = if told == Some(Ending::AtOnce) { Duration::ZERO } else { grace };
        let ended_by_us = if any_left { self.end(grace) } else { 0 };
        #[cfg(target_os = "linux")]
        if let Some(group) = self.group {
            group.remove();
        }
        drop(self.lock);
        Gone {
            // Every child was waited for, and the program was one of them.
            program: self.ended.unwrap_or(Program::Signalled(Signal::KILL.as_raw())),
            stopped,
            leftovers: if stopped { 0 } else { ended_by_us },
        }
    }

    /// Ends the tree; how many processes were there.
    fn end(&mut self, grace: Duration) -> u32 {
        let asked = if grace.is_zero() { None } else { Some(self.ask_to_end(grace)) };
        let mut killed = None;
        let mut pause = ROUND_FIRST;
        // A killed parent leaves its children to us, so there is a round for each generation.
        while self.collect() {
            // The group comes second: whom it has killed can no longer be counted.
            let everybody = &mut tree::Known::default();
            let round = tree::signal_descendants(self.main, Signal::KILL, everybody);
            killed.get_or_insert(round);
            #[cfg(target_os = "linux")]
            if let Some(group) = &self.group {
                let _ = group.kill();
            }
            self.awaited.wait(Some(pause), false);
            pause = (pause * 2).min(ROUND_LAST);
        }
        asked.or(killed).unwrap_or_default()
    }

    /// Asks every process to end and waits until they have, at most as long as they are given, and
    /// no longer than the supervisor lives.
    #[expect(clippy::disallowed_methods, reason = "a guard is a program: nobody tells it the time")]
    fn ask_to_end(&mut self, grace: Duration) -> u32 {
        let begun = Instant::now();
        let (mut known, mut asked) = (tree::Known::default(), 0);
        while self.collect()
            && let Some(left) = grace.checked_sub(begun.elapsed())
            && self.awaited.told_to_end() != Some(Ending::AtOnce)
        {
            // Again each time: one that ends may have started another just before.
            asked += tree::signal_descendants(self.main, Signal::TERM, &mut known);
            self.awaited.wait(Some(left), true);
        }
        asked
    }

    /// Takes note of every child that has ended; whether any child is left. Without one there is
    /// no descendant either, since orphans become our children.
    fn collect(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.main => self.ended = Program::ended(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }
}

fn command(order: &Order, lock: &Lock) -> Command {
    let outer = std::env::var_os(marker::VARIABLE);
    let mut command = Command::new(&order.program);
    command.args(&order.args).current_dir(&order.directory);
    if !order.inherits_environment {
        command.env_clear();
    }
    for (name, value) in &order.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env(marker::VARIABLE, marker::within(outer.as_deref(), lock.path()));
    if order.session == Session::Own {
        // A group of its own: a program that signals its group must not mean its guard.
        command.process_group(0);
    }
    command
}

fn reason(error: &io::Error, order: &Order) -> NotStarted {
    let number = error.raw_os_error().unwrap_or_default();
    match Errno::from_raw_os_error(number) {
        Errno::NOENT => NotStarted::NotFound,
        Errno::ACCESS if !is_anywhere(order) => NotStarted::NotFound,
        Errno::ACCESS | Errno::PERM => NotStarted::AccessDenied,
        Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE => NotStarted::NoRoom,
        _ => NotStarted::Other(number),
    }
}

/// Whether a program that is looked up is in any directory that we may look into. One that we may
/// not makes the system say "access denied" about every program that does not exist.
fn is_anywhere(order: &Order) -> bool {
    let looked_up = !order.program.as_bytes().contains(&b'/');
    let search = order.search_path().unwrap_or_default();
    !looked_up || std::env::split_paths(&search).any(|place| place.join(&order.program).is_file())
}
