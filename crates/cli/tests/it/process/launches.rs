//! A directory for one run, the launches in it, and a way to know who is alive without waiting.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use unstuck_testkit::stage::{FifoReader, make_fifo};
use unstuck_world::process::{Launch, Process, ProcessResult};

use crate::program::own_guard;

/// A tree with everything that is hard to end: a child in a session of its own that writes without
/// a pause, a daemon that has lost its parents, and one that refuses to be asked. All of them hold
/// descriptor 9 and say their name and number through it; the main program says its guard's, too.
pub(crate) const HARD_TREE: &str = r#"
exec 9>alive
setsid sh -c 'echo session $$ >&9; while :; do echo more >>writes; done' &
(setsid sh -c 'trap "" TERM HUP; echo daemon $$ >&9; while :; do sleep 1000; done' &)
echo main $$ >&9
echo guard $PPID >&9
while :; do sleep 1000; done
"#;
/// The number of lines that it says.
pub(crate) const HARD_TREE_LINES: usize = 4;

pub(crate) struct Stage {
    directory: PathBuf,
    /// None for a second look at the stage of another process.
    _owned: Option<TempDir>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let owned = tempfile::tempdir().unwrap();
        let directory = owned.path().canonicalize().unwrap();
        let stage = Self { directory, _owned: Some(owned) };
        make_fifo(&stage.path("alive"));
        stage
    }

    /// A script that runs and holds the fifo.
    pub(crate) fn running(script: &str) -> (Self, Runtime, Process, FifoReader) {
        let (stage, runtime) = (Self::new(), runtime());
        let process = start(&runtime, stage.script(script));
        let alive = stage.alive();
        (stage, runtime, process, alive)
    }

    pub(crate) fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), _owned: None }
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.path("lock")
    }

    /// A launch of a shell script.
    pub(crate) fn script(&self, script: &str) -> Launch {
        let mut launch = self.program("sh");
        launch.arguments = vec!["-c".into(), script.into()];
        launch
    }

    pub(crate) fn program(&self, program: &str) -> Launch {
        let mut launch = Launch::new(own_guard(), self.lock(), &self.directory, program);
        launch.grace = std::time::Duration::ZERO;
        launch
    }

    /// Runs a script to its end.
    pub(crate) fn run(&self, script: &str) -> ProcessResult {
        run(self.script(script))
    }

    /// Waits until a process holds the fifo for writing.
    pub(crate) fn alive(&self) -> FifoReader {
        FifoReader::open(&self.path("alive"))
    }
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn start(runtime: &Runtime, launch: Launch) -> Process {
    runtime.block_on(launch.start()).unwrap()
}

pub(crate) fn run(launch: Launch) -> ProcessResult {
    let runtime = runtime();
    let process = start(&runtime, launch);
    runtime.block_on(process.wait())
}

/// The kept part of an output, as text.
pub(crate) fn text(ended: &ProcessResult) -> String {
    String::from_utf8(ended.output.to_bytes()).unwrap()
}

/// The first byte of a file, to prove that it is there and was written.
pub(crate) fn has_content(file: &PathBuf) -> bool {
    File::open(file).is_ok_and(|file| file.read_at(&mut [0], 0).is_ok_and(|length| length == 1))
}
