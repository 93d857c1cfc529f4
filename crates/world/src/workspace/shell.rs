//! Commands that a person configured: run by us, under a guard, with an end.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unstuck_core::fault::Fault;

use crate::git::REMOVED;
use crate::process::{Deadlines, Ended, Guard, Launch, Wall};

/// How commands are run.
#[derive(Clone, Debug)]
pub struct Shell {
    /// What becomes the guard.
    pub guard: Guard,
    /// The lock file of the run; its directory exists. One command has it at a time.
    pub lock: PathBuf,
    /// Whether commands have our own environment. Without it, they have what is stated here.
    pub inherits_environment: bool,
    /// Changes to that: a value, or none for a variable that is taken away.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// How long one command may take.
    pub timeout: Duration,
    /// What commands are kept from; from a workspace, what settings add to its own wall.
    pub wall: Wall,
}

impl Shell {
    /// Runs a line of shell in `directory`, until nothing of it is left.
    pub async fn run(&self, directory: &Path, line: &str) -> Result<Ended, Fault> {
        self.run_program(directory, "sh", &["-c".into(), line.into()], &[]).await
    }

    /// The value of a variable that its commands find.
    pub fn variable(&self, name: &str) -> Option<OsString> {
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
    ) -> Result<Ended, Fault> {
        let mut launch = Launch::new(self.guard.clone(), &self.lock, directory, program);
        launch.arguments = arguments.to_vec();
        launch.inherits_environment = self.inherits_environment;
        // We may have been started by a hook ourselves, and this is about another repository.
        let removed = REMOVED.map(|name| (OsString::from(name), None));
        launch.environment = [&removed, &self.environment[..], environment].concat();
        launch.wall = self.wall.clone();
        launch.deadlines = Deadlines { total: Some(self.timeout), ..Deadlines::default() };
        Ok(launch.start().await?.wait().await)
    }
}
