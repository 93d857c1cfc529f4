//! The common launch parameters of agent programs.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::fault::{Fault, Missing};

use crate::agent::AgentAssignment;
use crate::process::{GuardCommand, Launch, ProcessInput, Wall};

/// Number of bytes kept of the standard error: more than a fault quotes.
const COMPLAINT_BYTES_MAX: usize = 16 * 1_024;
/// Mode of the home, which no other user may read.
const PRIVATE: u32 = 0o700;

/// Creates the directory in which a program keeps its state.
pub(in crate::provider) fn create_home(home: &Path, source: &str) -> Result<(), Fault> {
    let made = DirBuilder::new().recursive(true).mode(PRIVATE).create(home);
    made.map_err(|error| home_fault(home, source).with_cause(error))
}

/// Builds the fault of a home that cannot be created.
pub(in crate::provider) fn home_fault(home: &Path, source: &str) -> Fault {
    let message = format!("{} cannot be prepared", home.display());
    let what = "the directory for the agent's state".to_owned();
    Fault::precondition_missing(source, message, Missing { what })
}

/// Returns the wall around an agent that is `program`, which may also write to `own` paths. The
/// assignment decides about its network access.
pub(in crate::provider) fn build_wall(
    assignment: &AgentAssignment,
    program: &Path,
    own: impl IntoIterator<Item = PathBuf>,
) -> Wall {
    let mut wall = assignment.wall.clone();
    if let Some(writable) = &mut wall.writable {
        writable.extend(own);
        wall.admit_program(program);
    }
    wall
}

/// Creates the launch of `program` for an assignment, with only the assignment's environment and a
/// piped standard input.
pub(in crate::provider) fn build_launch(
    guard: &GuardCommand,
    program: &Path,
    assignment: &AgentAssignment,
) -> Launch {
    let mut launch = Launch::new(guard.clone(), &assignment.lock, &assignment.directory, program);
    let environment = assignment.environment.iter().cloned();
    launch.inherits_environment = false;
    launch.environment = environment.map(|(name, value)| (name, Some(value))).collect();
    launch.input = ProcessInput::Taken;
    launch.output_bytes_max = COMPLAINT_BYTES_MAX;
    launch
}

/// Returns the variables of `environment` that the assignment does not set, without those in
/// `taken`.
pub(in crate::provider) fn filter_environment(
    environment: &[(OsString, OsString)],
    assignment: &AgentAssignment,
    taken: &[&str],
) -> impl Iterator<Item = (OsString, Option<OsString>)> {
    let passes = |name: &OsString| {
        let is_assigned = assignment.environment.iter().any(|(known, _)| known == name);
        !is_assigned && taken.iter().all(|other| name != other)
    };
    environment
        .iter()
        .filter(move |(name, _)| passes(name))
        .map(|(name, value)| (name.clone(), Some(value.clone())))
}
