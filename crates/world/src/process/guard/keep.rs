//! The life of a guard: take the lock, start the program, wait, kill what is left, release the
//! lock.

use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::process::CommandExt as _;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, setsid, wait};

use super::order::{GuardOrder, TerminalSession};
use super::report::{GuardRefusal, GuardReport, ProgramExit, StageMessage, StagePipe, TreeEnd};
use super::signals::{GuardEvents, TreeEnding};
#[cfg(target_os = "linux")]
use super::stage;
#[cfg(target_os = "linux")]
use crate::process::cgroup::Cgroup;
#[cfg(target_os = "linux")]
use crate::process::ended::ExceededLimit;
use crate::process::ended::StartFailure;
use crate::process::lock::RunLock;
use crate::process::resources::{ResourceWatch, limit_file_size};
#[cfg(target_os = "linux")]
use crate::process::wall::EnclosedProgram;
use crate::process::wall::{EnforcementLevel, Wall, WallEnforcement};
use crate::process::{marker, tree};

/// First pause between two rounds of killing, unless the end of a child wakes the guard earlier.
const ROUND_FIRST: Duration = Duration::from_millis(5);
/// Maximum pause between two rounds: a process that does not die at once waits for a disk, or may
/// not be killed by this user.
const ROUND_LAST: Duration = Duration::from_secs(1);

/// The output streams of a program whose guard does not share its own with it.
pub(super) struct GuardStreams {
    pub(super) stdout: PipeWriter,
    pub(super) stderr: PipeWriter,
}

/// Waits for an order and runs its program until no process of it is left.
pub(super) fn run_guard(control: &PipeReader, status: &PipeWriter, streams: Option<GuardStreams>) {
    // Before the order: signals that a terminal sends meanwhile are not for the guard.
    let awaited = match GuardEvents::install(control) {
        Ok(awaited) => awaited,
        Err(error) => {
            let refusal = GuardRefusal::Setup(error.raw_os_error().unwrap_or_default());
            return GuardReport::Refused(refusal).send(status);
        }
    };
    // Before the order as well: the supervisor that sends it waits for the steps that follow.
    #[cfg(target_os = "linux")]
    let home = Cgroup::find_home();
    let Some(order) = GuardOrder::read_from(control) else { return };
    let begun = ProgramTree::start_program(
        &order,
        (awaited, status),
        streams,
        #[cfg(target_os = "linux")]
        home.as_deref(),
    );
    let report = match begun {
        Err(refusal) => GuardReport::Refused(refusal),
        Ok(Err(reason)) => GuardReport::Gone(TreeEnd {
            program: ProgramExit::NotStarted(reason),
            stopped: false,
            leftovers: 0,
        }),
        Ok(Ok(kept)) => GuardReport::Gone(kept.wait_until_gone(order.grace)),
    };
    // The lock is free by now, and the reader of the report may take it.
    report.send(status);
}

/// A program with all processes that it started.
struct ProgramTree<'a> {
    /// The program, or the process that keeps the namespaces around it.
    main: Pid,
    /// `true` while that is a child of the guard.
    has_main: bool,
    /// The way in which the program itself ended.
    ended: Option<ProgramExit>,
    /// The namespaces of the program, if it has its own.
    enclosed: Option<NamespaceEnclosure>,
    /// The limit on memory, which the control group may enforce.
    #[cfg(target_os = "linux")]
    memory_bytes: Option<u64>,
    /// The limits that are measured, if there are any.
    watch: Option<ResourceWatch>,
    /// The enforcement level of the limit on the size of a file.
    file_size: EnforcementLevel,
    awaited: GuardEvents<'a>,
    status: &'a PipeWriter,
    #[cfg(target_os = "linux")]
    group: Option<Cgroup>,
    lock: RunLock,
}

struct NamespaceEnclosure {
    /// The init process inside; `None` after its last message.
    inside: Option<StagePipe>,
    started: bool,
}

impl<'a> ProgramTree<'a> {
    fn start_program(
        order: &GuardOrder,
        (awaited, status): (GuardEvents<'a>, &'a PipeWriter),
        streams: Option<GuardStreams>,
        #[cfg(target_os = "linux")] home: Option<&Path>,
    ) -> Result<Result<Self, StartFailure>, GuardRefusal> {
        let setup = |error: Errno| GuardRefusal::Setup(error.raw_os_error());
        tree::adopt_orphans().map_err(setup)?;
        if order.session == TerminalSession::Own {
            setsid().map_err(setup)?;
        }
        #[cfg_attr(not(target_os = "linux"), expect(unused_mut, reason = "no note is written"))]
        let mut lock = match RunLock::try_take(&order.lock) {
            Ok(lock) => lock.ok_or(GuardRefusal::Held)?,
            Err(error) => return Err(GuardRefusal::Lock(error.raw_os_error().unwrap_or_default())),
        };
        if !order.directory.is_dir() {
            return Ok(Err(StartFailure::DirectoryMissing));
        }
        let Ok(enclosed) = enclose(order) else { return Ok(Err(StartFailure::NoWall)) };
        let (mut command, inside) = match enclosed {
            Some((command, said)) => (command, Some(StagePipe::from_pipe(said))),
            None => {
                let mut command = Command::new(&order.program);
                command.args(&order.args);
                (command, None)
            }
        };
        prepare_command(&mut command, order, &lock);
        if let Some(GuardStreams { stdout, stderr }) = streams {
            command.stdout(stdout).stderr(stderr);
        }
        let file_size = limit_file_size(order.wall.limits);
        // The init process inside the namespaces sets up the rest.
        let open = Wall::default();
        let wall = if inside.is_some() { &open } else { &order.wall };
        #[cfg(target_os = "linux")]
        let (group, started) = Cgroup::start_program(
            home,
            &mut lock,
            &mut command,
            (wall, &order.layers),
            order.wall.limits,
        );
        #[cfg(not(target_os = "linux"))]
        let started = wall.start_command(&order.layers, &mut command);
        #[cfg(target_os = "linux")]
        let is_memory_limited = group.as_ref().is_some_and(Cgroup::limits_memory);
        #[cfg(not(target_os = "linux"))]
        let is_memory_limited = false;
        match started {
            Ok((main, held)) => {
                let watch =
                    ResourceWatch::new(order.wall.limits, &order.directory, is_memory_limited);
                let tree = Self {
                    main,
                    has_main: true,
                    ended: None,
                    enclosed: inside
                        .map(|inside| NamespaceEnclosure { inside: Some(inside), started: false }),
                    #[cfg(target_os = "linux")]
                    memory_bytes: order.wall.limits.memory_bytes,
                    watch,
                    file_size,
                    awaited,
                    status,
                    #[cfg(target_os = "linux")]
                    group,
                    lock,
                };
                if tree.enclosed.is_none() {
                    let held = add_measured(held, tree.watch.as_ref(), file_size);
                    GuardReport::Started(held).send(status);
                }
                Ok(Ok(tree))
            }
            Err(_) if inside.is_some() => Ok(Err(StartFailure::NoWall)),
            Err(error) => {
                let search = order.search_path().unwrap_or_default();
                Ok(Err(StartFailure::from_io_error(&error, &order.program, &search)))
            }
        }
    }

    /// Waits for the program's end and kills every process that is left.
    fn wait_until_gone(mut self, grace: Duration) -> TreeEnd {
        let mut any_left = self.reap_children();
        let mut told = None;
        while self.ended.is_none() && told.is_none() {
            told = self.awaited.requested_ending();
            if told.is_none() {
                self.wait_for_event(self.watch.as_ref().map(ResourceWatch::remaining_pause), true);
            }
            any_left = self.reap_children();
            if self.ended.is_none() && told.is_none() {
                let exceeded = self.watch.as_mut().and_then(ResourceWatch::find_exceeded);
                self.ended = exceeded.map(ProgramExit::BeyondLimit);
            }
        }
        let stopped = self.ended.is_none();
        let is_beyond = matches!(self.ended, Some(ProgramExit::BeyondLimit(_)));
        let at_once = told == Some(TreeEnding::AtOnce) || is_beyond;
        let grace = if at_once { Duration::ZERO } else { grace };
        let ended_by_us = if any_left { self.end_tree(grace) } else { 0 };
        #[cfg(target_os = "linux")]
        if let Some(group) = self.group {
            let is_killed = self.ended == Some(ProgramExit::Signalled(Signal::KILL.as_raw()));
            if let Some(allowed) = self.memory_bytes
                && is_killed
                && group.has_run_out_of_memory()
            {
                self.ended = Some(ProgramExit::BeyondLimit(ExceededLimit::Memory(allowed)));
            }
            group.remove();
        }
        drop(self.lock);
        TreeEnd {
            // Every child was waited for, and the program was one of them.
            program: self.ended.unwrap_or(ProgramExit::Signalled(Signal::KILL.as_raw())),
            stopped,
            leftovers: if stopped || is_beyond { 0 } else { ended_by_us },
        }
    }

    /// Ends the tree and returns the number of its processes.
    fn end_tree(&mut self, grace: Duration) -> u32 {
        let asked = if grace.is_zero() { None } else { Some(self.ask_to_end(grace)) };
        let mut killed = None;
        let mut pause = ROUND_FIRST;
        // The children of a killed process become children of the guard, so each generation takes
        // one round.
        while self.reap_children() {
            // The group and the namespaces come second: processes that they have killed cannot be
            // counted.
            let round =
                tree::signal_descendants(self.main, Signal::KILL, &mut self.namespace_keepers());
            killed.get_or_insert(round);
            if self.enclosed.is_some() && self.has_main {
                let _ = kill_process(self.main, Signal::KILL);
            }
            #[cfg(target_os = "linux")]
            if let Some(group) = &self.group {
                let _ = group.kill();
            }
            self.wait_for_event(Some(pause), false);
            pause = (pause * 2).min(ROUND_LAST);
        }
        asked.or(killed).unwrap_or_default()
    }

    /// Sends SIGTERM to every process and waits until they have ended, at most for `grace` and no
    /// longer than the supervisor lives.
    #[expect(
        clippy::disallowed_methods,
        reason = "a guard is a program without a clock of the runner"
    )]
    fn ask_to_end(&mut self, grace: Duration) -> u32 {
        let begun = Instant::now();
        let mut known = self.namespace_keepers();
        let mut asked = 0;
        while self.reap_children()
            && let Some(left) = grace.checked_sub(begun.elapsed())
            && self.awaited.requested_ending() != Some(TreeEnding::AtOnce)
        {
            // Repeated each time: a process may have started another one just before its end.
            asked += tree::signal_descendants(self.main, Signal::TERM, &mut known);
            self.wait_for_event(Some(left), true);
        }
        asked
    }

    /// Returns the processes that are not the program's: SIGTERM to them would end the namespaces
    /// at once.
    fn namespace_keepers(&self) -> tree::KnownProcesses {
        if self.enclosed.is_some() && self.has_main {
            tree::with_children(self.main)
        } else {
            tree::KnownProcesses::default()
        }
    }

    fn wait_for_event(&self, limit: Option<Duration>, also_control: bool) {
        let inside = self.enclosed.as_ref().and_then(|enclosed| enclosed.inside.as_ref());
        self.awaited.wait_for_event(limit, also_control, inside.map(StagePipe::pipe));
    }

    fn handle_stage_messages(&mut self) {
        let Some(enclosed) = &mut self.enclosed else { return };
        let Some(inside) = &mut enclosed.inside else { return };
        let (said, more) = inside.read_messages();
        for said in said {
            match said {
                StageMessage::Started(held) => {
                    enclosed.started = true;
                    #[cfg(target_os = "linux")]
                    let held =
                        self.group.as_ref().map_or(held, |group| group.add_enforcement(held));
                    let held = add_measured(held, self.watch.as_ref(), self.file_size);
                    GuardReport::Started(held).send(self.status);
                }
                // Later messages are about processes that the program left behind.
                StageMessage::Ended(program) => self.ended = self.ended.or(Some(program)),
            }
        }
        if !more {
            enclosed.inside = None;
        }
    }

    /// Records how the main child ended. Namespaces that end without a message about the program
    /// could not be created, or took the program with them.
    fn handle_main_end(&mut self, status: WaitStatus) {
        self.handle_stage_messages();
        self.has_main = false;
        let ended = match &self.enclosed {
            None => ProgramExit::from_wait_status(status),
            Some(NamespaceEnclosure { started: true, .. }) => {
                Some(ProgramExit::Signalled(Signal::KILL.as_raw()))
            }
            Some(_) => Some(ProgramExit::NotStarted(StartFailure::NoWall)),
        };
        self.ended = self.ended.or(ended);
    }

    /// Reaps every child that has ended, and returns whether any child is left. Without a child
    /// there is no descendant either, since orphans become children of the guard.
    fn reap_children(&mut self) -> bool {
        self.handle_stage_messages();
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.main => self.handle_main_end(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }
}

/// Returns the enforced parts of a wall, with the limits that the guard applies or measures added.
fn add_measured(
    held: WallEnforcement,
    watch: Option<&ResourceWatch>,
    file_size: EnforcementLevel,
) -> WallEnforcement {
    let memory = watch.map_or(held.memory, |watch| watch.add_enforcement(held.memory));
    WallEnforcement { memory, file_size, ..held }
}

/// Returns the command that starts the program in namespaces of its own, if it is to have them, and
/// the pipe from the init process.
#[cfg(target_os = "linux")]
fn enclose(order: &GuardOrder) -> io::Result<Option<(Command, PipeReader)>> {
    let GuardOrder { wall, layers, directory, program, args, .. } = order;
    let enclosed =
        EnclosedProgram::prepare(wall, layers, directory, program, args, stage::ARGUMENTS)?;
    Ok(enclosed.map(EnclosedProgram::into_command))
}

/// Returns `None`: systems other than Linux have no namespaces.
#[cfg(not(target_os = "linux"))]
const fn enclose(_order: &GuardOrder) -> io::Result<Option<(Command, PipeReader)>> {
    Ok(None)
}

fn prepare_command(command: &mut Command, order: &GuardOrder, lock: &RunLock) {
    let outer = std::env::var_os(marker::VARIABLE);
    command.current_dir(&order.directory);
    if !order.inherits_environment {
        command.env_clear();
    }
    for (name, value) in &order.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env(marker::VARIABLE, marker::nest_marker(outer.as_deref(), lock.path()));
    if order.session == TerminalSession::Own {
        // A process group of its own: a program that signals its group must not hit its guard.
        command.process_group(0);
    }
}
