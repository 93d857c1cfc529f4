//! What a repair needs to know.

use crate::build::BuildSettings;

/// What the repairs of one job need.
#[derive(Clone, Debug)]
pub struct RepairSettings {
    /// The repository, and as its one task the job: who works, the fence, the proof.
    pub work: BuildSettings,
    /// The command that the job runs, as a person would type it.
    pub command: String,
}
