//! A fifo, which shows without waiting whether the processes that hold it are alive.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, fcntl_setfl, mkfifoat};
use rustix::process::Pid;

pub fn make_fifo(path: &Path) {
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
}

/// The reading end of a fifo. It ends once no process holds the other end.
pub struct FifoReader {
    fifo: File,
    said: String,
}

impl FifoReader {
    /// Waits until a process holds the other end.
    pub fn open(path: &Path) -> Self {
        Self { fifo: File::open(path).unwrap(), said: String::new() }
    }

    /// Waits until a process has written a byte.
    pub fn open_and_hear(path: &Path) -> Self {
        let mut reader = Self::open(path);
        reader.read_byte();
        reader
    }

    fn read_byte(&mut self) {
        let mut byte = [0];
        assert_eq!(self.fifo.read(&mut byte).unwrap(), 1, "all ended after {:?}", self.said);
        self.said.push(char::from(byte[0]));
    }

    /// Waits until so many lines are written.
    pub fn read_lines(&mut self, lines: usize) {
        while self.said.lines().count() < lines || !self.said.ends_with('\n') {
            self.read_byte();
        }
    }

    /// Returns the process id that a line with this name has.
    pub fn pid(&self, name: &str) -> Pid {
        let line = self.said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Pid::from_raw(line.unwrap().parse().unwrap()).unwrap()
    }

    /// Checks whether no process holds the other end at this moment.
    pub fn has_ended(&mut self) -> bool {
        fcntl_setfl(&self.fifo, OFlags::NONBLOCK).unwrap();
        self.fifo.read_to_string(&mut self.said).is_ok()
    }

    /// Waits until no process holds the other end, and returns everything that was written.
    pub fn read_to_end(mut self) -> String {
        self.fifo.read_to_string(&mut self.said).unwrap();
        self.said
    }
}
