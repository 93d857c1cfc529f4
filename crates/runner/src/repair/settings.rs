//! The settings of a repair.

use crate::build::BuildSettings;

/// The settings for the repairs of one job.
#[derive(Clone, Debug)]
pub struct RepairSettings {
    /// The repository, with the job as its one task: the worker, the allowed paths, the checks.
    pub work: BuildSettings,
    /// The command that the job runs, as an operator would type it.
    pub command: String,
}
