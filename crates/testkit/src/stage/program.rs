//! A program that runs while a test goes on.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// A program whose output is read as it comes.
pub struct RunningProgram {
    pub child: Child,
    output: BufReader<Box<dyn Read + Send>>,
}

impl RunningProgram {
    /// Starts it in a process group of its own, as a shell does, and reads its standard output.
    pub fn follow_stdout(mut command: Command) -> Self {
        let mut child = command.process_group(0).spawn().unwrap();
        let output: Box<dyn Read + Send> = Box::new(child.stdout.take().unwrap());
        Self { child, output: BufReader::new(output) }
    }

    /// The same with its standard error.
    pub fn follow_stderr(mut command: Command) -> Self {
        let mut child = command.process_group(0).spawn().unwrap();
        let output: Box<dyn Read + Send> = Box::new(child.stderr.take().unwrap());
        Self { child, output: BufReader::new(output) }
    }

    /// Reads until a line has these words.
    pub fn read_until(&mut self, words: &str) -> String {
        let mut said = String::new();
        while !said.contains(words) {
            let read = self.output.read_line(&mut said).unwrap();
            assert!(read > 0, "it ended before it said {words:?}: {said}");
        }
        said
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Signals the group, as a terminal does at Ctrl-C.
    pub fn signal_group(&self, signal: Signal) {
        kill_process_group(self.pid(), signal).unwrap();
    }

    /// Waits for its end without reading.
    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end, and returns the rest of its output and of its errors.
    pub fn read_to_end(mut self) -> (ExitStatus, String, String) {
        let mut said = String::new();
        let mut other = String::new();
        self.output.read_to_string(&mut said).unwrap();
        let follows_errors = self.child.stdout.is_some();
        if let Some(stdout) = &mut self.child.stdout {
            stdout.read_to_string(&mut other).unwrap();
        } else if let Some(stderr) = &mut self.child.stderr {
            stderr.read_to_string(&mut other).unwrap();
        }
        let status = self.child.wait().unwrap();
        if follows_errors { (status, other, said) } else { (status, said, other) }
    }

    /// Waits for its end, and returns its exit code and the rest of what it wrote.
    pub fn end(self) -> (Option<i32>, String) {
        let (status, stdout, stderr) = self.read_to_end();
        (status.code(), stdout + &stderr)
    }
}

/// Writes a shell script that can be started.
pub fn write_program(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}
