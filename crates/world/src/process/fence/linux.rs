//! The fence by Landlock, which every user may use.

use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, path_beneath_rules,
};

use super::Hold;

/// What every program may write to: devices that keep nothing, terminals, and memory that
/// processes share, which is gone with the machine.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"];
const SHARED_MEMORY: &[&str] = &["/dev/shm"];

/// Fences this thread in for good: from here on it writes below `writable` only.
pub(super) fn fence_files(writable: &[PathBuf]) -> Hold {
    hold(restrict_files(writable))
}

/// No TCP for this thread from here on.
pub(super) fn refuse_tcp() -> Hold {
    hold(restrict_tcp())
}

fn restrict_files(writable: &[PathBuf]) -> Result<RulesetStatus, RulesetError> {
    let every = AccessFs::from_write(ABI::V3);
    let change = AccessFs::WriteFile | AccessFs::Truncate;
    let status = Ruleset::default()
        // Below this the kernel refuses to move a file from one folder to another, anywhere: a fence
        // that breaks builds is none.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(ABI::V2))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::Truncate)?
        .create()?
        .add_rules(path_beneath_rules(writable, every))?
        .add_rules(path_beneath_rules(SHARED_MEMORY, every))?
        .add_rules(path_beneath_rules::<_, _, BitFlags<_>>(DEVICES, change))?
        .restrict_self()?;
    Ok(status.ruleset)
}

fn restrict_tcp() -> Result<RulesetStatus, RulesetError> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessNet::from_all(ABI::V4))?
        .create()?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// An error here means that the kernel lacks it, whatever the kernel calls that.
fn hold(status: Result<RulesetStatus, RulesetError>) -> Hold {
    match status.unwrap_or(RulesetStatus::NotEnforced) {
        RulesetStatus::FullyEnforced => Hold::Fully,
        RulesetStatus::PartiallyEnforced => Hold::Partly,
        RulesetStatus::NotEnforced => Hold::NotPossible,
    }
}
