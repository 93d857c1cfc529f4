//! Runs commands that the operator configured, under a guard and with a timeout.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unstuck_core::fault::Fault;

use crate::git::REMOVED;
use crate::process::{GuardCommand, Launch, ProcessDeadlines, ProcessResult, Wall};

/// The conditions under which configured commands run.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The program that becomes the guard process.
    pub guard: GuardCommand,
    /// The lock file of the run; its directory exists. One command holds it at a time.
    pub lock: PathBuf,
    /// `true` if commands inherit the supervisor's environment. Otherwise they have only
    /// `environment`.
    pub inherits_environment: bool,
    /// Changes to the environment: a value, or `None` for a variable that is removed.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// Timeout of one command.
    pub timeout: Duration,
    /// The sandbox of commands; from a workspace, the settings' additions to its own sandbox.
    pub wall: Wall,
}

impl Shell {
    /// Runs a shell command line in `directory`, and returns when none of its processes is left.
    pub async fn run(&self, directory: &Path, line: &str) -> Result<ProcessResult, Fault> {
        self.run_program(directory, "sh", &["-c".into(), line.into()], &[]).await
    }

    /// Returns the value of an environment variable as the commands see it.
    pub fn find_variable(&self, name: &str) -> Option<OsString> {
        let stated = self.environment.iter().rev().find(|(known, _)| known == name);
        match stated {
            Some((_, value)) => value.clone(),
            None if self.inherits_environment => std::env::var_os(name),
            None => None,
        }
    }

    pub(super) async fn run_program(
        &self,
        directory: &Path,
        program: impl Into<OsString>,
        arguments: &[OsString],
        environment: &[(OsString, Option<OsString>)],
    ) -> Result<ProcessResult, Fault> {
        let mut launch = Launch::new(self.guard.clone(), &self.lock, directory, program);
        launch.arguments = arguments.to_vec();
        launch.inherits_environment = self.inherits_environment;
        // A hook may have started this process, with variables that are about another repository.
        let removed = REMOVED.map(|name| (OsString::from(name), None));
        launch.environment = [&removed, &self.environment[..], environment].concat();
        launch.wall = self.wall.clone();
        launch.deadlines =
            ProcessDeadlines { total: Some(self.timeout), ..ProcessDeadlines::default() };
        Ok(launch.start().await?.wait().await)
    }
}
