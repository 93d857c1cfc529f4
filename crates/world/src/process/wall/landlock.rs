//! The layer of Landlock, which every user may use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

use super::places::PathCover;
use super::{Connections, EnforcementLevel, LayerPlacement, Wall, WallEnforcement};
use crate::process::socket::PortForward;

/// Paths that every program may write to: devices that store nothing, terminals, and shared memory,
/// which does not survive a reboot.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"];
const SHARED_MEMORY: &[&str] = &["/dev/shm"];

/// Restricts this thread and its future child processes for good.
pub(super) fn restrict(wall: &Wall, standing: LayerPlacement) -> WallEnforcement {
    let mut held = wall.unenforced_parts();
    if let Some(writable) = &wall.writable {
        let private = match standing {
            LayerPlacement::InNamespaces => &wall.private[..],
            // Without namespaces, the private folders are not at these paths.
            LayerPlacement::Alone => &[],
        };
        let private = private.iter().map(|private| private.at.clone());
        let writable: Vec<PathBuf> = writable.iter().cloned().chain(private).collect();
        held.files = enforcement_level(restrict_writing(&writable));
    }
    if standing == LayerPlacement::Alone && held.files == EnforcementLevel::Fully {
        // The modes and times of files, and folders for temporary files, are not protected.
        held.files = EnforcementLevel::Partly;
    }
    held.processes = match enforcement_level(restrict_signals()) {
        EnforcementLevel::Fully if standing == LayerPlacement::InNamespaces => {
            EnforcementLevel::Fully
        }
        // Other processes are visible, and can be slowed down.
        EnforcementLevel::Fully => EnforcementLevel::Partly,
        // A process behind any Landlock layer cannot trace processes outside of it.
        _ if held.files != EnforcementLevel::NotPossible => EnforcementLevel::Partly,
        other => other,
    };
    if standing == LayerPlacement::Alone {
        if !wall.hidden.is_empty() {
            held.reading = restrict_reading(wall);
        }
        if let Connections::Closed(forwards) = &wall.network
            && enforcement_level(restrict_tcp(forwards)) == EnforcementLevel::Fully
        {
            held.network = EnforcementLevel::Partly;
        }
    }
    held
}

/// Drops the capabilities of this thread for good: with them a program can inspect other processes
/// in spite of all other restrictions. Does nothing for a thread without any.
pub(super) fn drop_capabilities() {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    let _ = set_no_new_privs(true).and_then(|()| set_capabilities(None, none));
}

fn restrict_writing(writable: &[PathBuf]) -> Result<RulesetStatus, RulesetError> {
    let every = AccessFs::from_write(ABI::V3);
    let change = AccessFs::WriteFile | AccessFs::Truncate;
    let status = Ruleset::default()
        // Below this version the kernel refuses to move a file from one folder to another,
        // anywhere, and a sandbox that breaks builds is useless.
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

/// Forbids reading hidden files. The names of files stay visible: without the right to list a
/// folder, the files in it that are not hidden could not be found.
fn restrict_reading(wall: &Wall) -> EnforcementLevel {
    let covers = Wall { private: Vec::new(), ..wall.clone() }.compute_covers();
    let mut open = ReadablePaths { covers: &covers, paths: Vec::new(), passed_over: false };
    open.add_readable(Path::new("/"));
    for (path, cover) in &covers {
        if *cover != PathCover::Hidden {
            open.add_readable(path);
        }
    }
    let restricted = || {
        let status = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::ReadFile | AccessFs::Refer)?
            .create()?
            .add_rules(moving_rules())?
            .add_rules(path_beneath_rules(&open.paths, AccessFs::ReadFile))?
            .restrict_self()?;
        Ok(status.ruleset)
    };
    match enforcement_level(restricted()) {
        EnforcementLevel::Fully if open.passed_over => EnforcementLevel::Partly,
        hold => hold,
    }
}

/// The paths below which all files may be read.
struct ReadablePaths<'a> {
    covers: &'a BTreeMap<PathBuf, PathCover>,
    paths: Vec<PathBuf>,
    /// `true` if a hidden path had to stay readable.
    passed_over: bool,
}

impl ReadablePaths<'_> {
    /// Allows the files below a path, except for everything hidden there.
    fn add_readable(&mut self, path: &Path) {
        let is_hidden = |(below, cover): (&PathBuf, &PathCover)| {
            *cover == PathCover::Hidden && below != path && below.starts_with(path)
        };
        let holds_hidden = self.covers.iter().any(is_hidden);
        let is_writable = self.covers.get(path) == Some(&PathCover::Writable);
        if holds_hidden && !is_writable {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                // The target of a link is allowed at its own path, or not at all.
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                if !is_link && !self.covers.contains_key(&entry.path()) {
                    self.add_readable(&entry.path());
                }
            }
            return;
        }
        // A rule can only allow: a folder in which new files may appear is allowed as a whole.
        self.passed_over |= holds_hidden;
        self.paths.push(path.to_owned());
    }
}

fn restrict_signals() -> Result<RulesetStatus, RulesetError> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::from_all(ABI::V6))?
        .handle_access(AccessFs::Refer)?
        .create()?
        .add_rules(moving_rules())?
        .restrict_self()?;
    Ok(status.ruleset)
}

fn restrict_tcp(forwards: &[PortForward]) -> Result<RulesetStatus, RulesetError> {
    let ports = forwards
        .iter()
        .map(|forward| Ok::<_, RulesetError>(NetPort::new(forward.port, AccessNet::ConnectTcp)));
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessNet::from_all(ABI::V4))?
        .handle_access(AccessFs::Refer)?
        .create()?
        .add_rules(moving_rules())?
        .add_rules(ports)?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// Returns rules that allow moving files between folders, which the kernel refuses in every layer
/// that does not allow it, whatever the layer is about. The layer for writing limits the
/// destinations.
fn moving_rules() -> impl Iterator<Item = Result<PathBeneath<PathFd>, RulesetError>> {
    path_beneath_rules(["/"], AccessFs::Refer)
}

/// Converts the status. An error means that the kernel lacks the feature, whatever error it
/// reports.
fn enforcement_level(status: Result<RulesetStatus, RulesetError>) -> EnforcementLevel {
    match status.unwrap_or(RulesetStatus::NotEnforced) {
        RulesetStatus::FullyEnforced => EnforcementLevel::Fully,
        RulesetStatus::PartiallyEnforced => EnforcementLevel::Partly,
        RulesetStatus::NotEnforced => EnforcementLevel::NotPossible,
    }
}
