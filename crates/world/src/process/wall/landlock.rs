//! The layer by Landlock, which every user may use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

use super::places::Cover;
use super::{Connections, Held, Hold, Standing, Wall};
use crate::egress::Forward;

/// What every program may write to: devices that keep nothing, terminals, and memory that
/// processes share, which is gone with the machine.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"];
const SHARED_MEMORY: &[&str] = &["/dev/shm"];

/// Restricts this thread for good, and everything it starts from here on.
pub(super) fn restrict(wall: &Wall, standing: Standing) -> Held {
    let mut held = wall.not_possible();
    if let Some(writable) = &wall.writable {
        let private = match standing {
            Standing::InNamespaces => &wall.private[..],
            // The folders of others are where they are.
            Standing::Alone => &[],
        };
        let private = private.iter().map(|private| private.at.clone());
        let writable: Vec<PathBuf> = writable.iter().cloned().chain(private).collect();
        held.files = hold(restrict_writing(&writable));
    }
    if standing == Standing::Alone && held.files == Hold::Fully {
        // Modes and times of files are open, and so are folders for temporary files.
        held.files = Hold::Partly;
    }
    held.processes = match hold(restrict_signals()) {
        Hold::Fully if standing == Standing::InNamespaces => Hold::Fully,
        // Others are seen, and can be slowed down.
        Hold::Fully => Hold::Partly,
        // A process behind any such layer traces nothing outside of it.
        _ if held.files != Hold::NotPossible => Hold::Partly,
        other => other,
    };
    if standing == Standing::Alone {
        if !wall.hidden.is_empty() {
            held.reading = restrict_reading(wall);
        }
        if let Connections::Closed(forwards) = &wall.network
            && hold(restrict_tcp(forwards)) == Hold::Fully
        {
            held.network = Hold::Partly;
        }
    }
    held
}

/// Takes the rights of an administrator from this thread, for good: with them a program looks into
/// other processes whatever else is refused. A thread without any keeps none.
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
        // Below this the kernel refuses to move a file from one folder to another, anywhere: a wall
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

/// Refuses to read files that are hidden. The names of files stay visible: without the right to list a
/// folder, nothing in it could be found that is not hidden.
fn restrict_reading(wall: &Wall) -> Hold {
    let covers = Wall { private: Vec::new(), ..wall.clone() }.covers();
    let mut open = Open { covers: &covers, paths: Vec::new(), passed_over: false };
    open.walk(Path::new("/"));
    for (path, cover) in &covers {
        if *cover != Cover::Hidden {
            open.walk(path);
        }
    }
    let restricted = || {
        let status = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::ReadFile | AccessFs::Refer)?
            .create()?
            .add_rules(moving_anywhere())?
            .add_rules(path_beneath_rules(&open.paths, AccessFs::ReadFile))?
            .restrict_self()?;
        Ok(status.ruleset)
    };
    match hold(restricted()) {
        Hold::Fully if open.passed_over => Hold::Partly,
        hold => hold,
    }
}

/// The paths below which everything may be read.
struct Open<'a> {
    covers: &'a BTreeMap<PathBuf, Cover>,
    paths: Vec<PathBuf>,
    /// Whether something that is hidden had to stay readable.
    passed_over: bool,
}

impl Open<'_> {
    /// Opens what is below a path, around everything that is hidden there.
    fn walk(&mut self, path: &Path) {
        let is_hidden = |(below, cover): (&PathBuf, &Cover)| {
            *cover == Cover::Hidden && below != path && below.starts_with(path)
        };
        let holds_hidden = self.covers.iter().any(is_hidden);
        let is_writable = self.covers.get(path) == Some(&Cover::Writable);
        if holds_hidden && !is_writable {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                // What a link leads to is opened at its own place, or not at all.
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                if !is_link && !self.covers.contains_key(&entry.path()) {
                    self.walk(&entry.path());
                }
            }
            return;
        }
        // A rule allows and cannot take away: where new files may appear, all of them are open.
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
        .add_rules(moving_anywhere())?
        .restrict_self()?;
    Ok(status.ruleset)
}

fn restrict_tcp(forwards: &[Forward]) -> Result<RulesetStatus, RulesetError> {
    let ports = forwards
        .iter()
        .map(|forward| Ok::<_, RulesetError>(NetPort::new(forward.port, AccessNet::ConnectTcp)));
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessNet::from_all(ABI::V4))?
        .handle_access(AccessFs::Refer)?
        .create()?
        .add_rules(moving_anywhere())?
        .add_rules(ports)?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// Lets files be moved between folders, which the kernel refuses in every layer that does not allow it,
/// whatever the layer is about. Where they may be moved to is for the layer about writing.
fn moving_anywhere() -> impl Iterator<Item = Result<PathBeneath<PathFd>, RulesetError>> {
    path_beneath_rules(["/"], AccessFs::Refer)
}

/// An error here means that the kernel lacks it, whatever the kernel calls that.
fn hold(status: Result<RulesetStatus, RulesetError>) -> Hold {
    match status.unwrap_or(RulesetStatus::NotEnforced) {
        RulesetStatus::FullyEnforced => Hold::Fully,
        RulesetStatus::PartiallyEnforced => Hold::Partly,
        RulesetStatus::NotEnforced => Hold::NotPossible,
    }
}
