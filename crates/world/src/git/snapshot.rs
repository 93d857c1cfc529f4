//! A snapshot of the state of the operator's repository that no task may change: settings, hooks,
//! rules about files, refs, and the checked-out branch. It is taken before an attempt and restored
//! after it.
//!
//! People and other tasks use the same repository meanwhile. A file is restored regardless of who
//! changed it, and the changed one is kept. A ref is restored if its reflog says that the agent
//! moved it; and, if the agent could have written to the repository, also if no reflog explains its
//! value: git writes an entry for each step of a branch, so an unexplained value does not come from
//! the operator's git. Tags have no reflog. So a commit that the operator made in the meantime
//! stays.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unstuck_core::fault::Fault;

use super::fail::GitAction;
use super::git::Git;
use super::layout::GitLayout;
use super::object::Oid;
use super::records::{nonempty_lines, nonempty_records};
use super::refs::{RefChange, RefSwapOutcome};
use crate::regular_file::allow_missing;

/// Files of the snapshot, relative to the shared git folder.
const FILES: [&str; 4] = ["config", "config.worktree", "shallow", "objects/info/alternates"];
const FOLDERS: [&str; 2] = ["hooks", "info"];
/// Maximum size of a file in the snapshot, in bytes; a larger hook or rule file is left alone.
const FILE_BYTES_MAX: u64 = 4 * 1_024 * 1_024;
/// Prefix of refs that keep values which an agent set and which were reverted.
const KEPT: &str = "refs/unstuck/kept";
/// The file that names the checked-out branch or commit, and its reflog.
const HEAD: &str = "HEAD";
const HEAD_LOG: &str = "logs/HEAD";
/// Prefixes of refs that Unstuck made.
const OURS: [&str; 2] = ["refs/unstuck/", "refs/heads/unstuck/"];

/// The state before an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositorySnapshot {
    files: BTreeMap<PathBuf, FileSnapshot>,
    refs: BTreeMap<String, Oid>,
    /// The operator's checked-out branch. Snapshots of earlier versions have none.
    #[serde(default)]
    head: Option<HeadSnapshot>,
}

/// The `HEAD` file of a working tree, and the length of its reflog in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HeadSnapshot {
    file: FileSnapshot,
    log_bytes: u64,
}

/// Possible write access of an agent to the operator's repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepositoryExposure {
    /// The sandbox kept the agent from writing there: a step that no reflog explains was not the
    /// agent's.
    Held,
    /// The agent could write there, or it is not known.
    Unknown,
}

/// The origin of a change to a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RefMover {
    /// Each step is the agent's.
    Agent,
    /// At least one step is not the agent's.
    Another,
    /// No reflog explains the change.
    Untold,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileSnapshot {
    mode: u32,
    #[serde(with = "bytes_as_text")]
    bytes: Vec<u8>,
}

/// Serializes bytes as text with one character for each: a list of numbers would be four times as
/// long, and a snapshot is written and read for every attempt.
mod bytes_as_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&bytes.iter().copied().map(char::from).collect::<String>())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
        bytes.map_err(de::Error::custom)
    }
}

/// The result of restoring a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// Restored files, relative to the shared git folder.
    pub files: Vec<PathBuf>,
    /// Restored refs, which the agent had moved, created or deleted.
    pub refs: Vec<String>,
    /// The values of those refs that the agent had moved or created.
    pub stood_at: BTreeMap<String, Oid>,
    /// Refs that changed as well and were left alone, because nothing says that it was the agent.
    pub left: Vec<String>,
}

/// Returns the ref that keeps a commit of an agent's from garbage collection.
pub(crate) fn kept_ref_name(commit: &Oid) -> String {
    format!("{KEPT}/{commit}")
}

impl RepositorySnapshot {
    /// Takes a snapshot of a repository.
    pub async fn capture(git: &Git, layout: &GitLayout) -> Result<Self, Fault> {
        let common_dir = &layout.common_dir;
        let files = read_files(common_dir).map_err(|error| comparison_fault(common_dir, &error))?;
        let head = read_file_snapshot(&layout.git_dir.join(HEAD))
            .map_err(|error| comparison_fault(common_dir, &error))?;
        let log = fs::metadata(layout.git_dir.join(HEAD_LOG)).map_or(0, |log| log.len());
        let head = head.map(|file| HeadSnapshot { file, log_bytes: log });
        Ok(Self { files, refs: git.list_refs(&[]).await?, head })
    }

    /// Restores what an agent that commits under the address `agent` changed since the snapshot.
    /// Files as the agent left them are kept in the folder `keep`. Refs of Unstuck change
    /// legitimately meanwhile; only those in `needed` must not disappear while an agent works.
    pub async fn restore(
        &self,
        git: &Git,
        layout: &GitLayout,
        (agent, reach): (&str, RepositoryExposure),
        needed: &[String],
        keep: &Path,
    ) -> Result<RestoreReport, Fault> {
        // Files come first: git's behavior afterwards depends on them.
        let files = match reach {
            // The operator's own `git config` or `git remote add`.
            RepositoryExposure::Held => Ok(Vec::new()),
            RepositoryExposure::Unknown => self.restore_files(&layout.common_dir, keep),
        };
        let files = files.map_err(|error| comparison_fault(&layout.common_dir, &error))?;
        let mut restored = RestoreReport { files, ..RestoreReport::default() };
        let head = self.restore_head(layout, (agent, reach), keep);
        if head.map_err(|error| comparison_fault(&layout.git_dir, &error))? {
            restored.files.push(HEAD.into());
        }
        let now = git.list_refs(&[]).await?;
        let names: BTreeSet<&String> = self.refs.keys().chain(now.keys()).collect();
        for name in names {
            let before = self.refs.get(name);
            let after = now.get(name);
            if before == after {
                continue;
            }
            let ours = OURS.iter().any(|prefix| name.starts_with(prefix));
            let back = match after {
                None if ours => needed.contains(name),
                None => reach == RepositoryExposure::Unknown,
                Some(after) => match find_ref_mover(git, name, (before, after), agent).await? {
                    RefMover::Agent => true,
                    RefMover::Another => false,
                    // Refs of Unstuck that only keep an object have no reflog.
                    RefMover::Untold if before.is_none() && name.starts_with(OURS[0]) => false,
                    RefMover::Untold => reach == RepositoryExposure::Unknown,
                },
            };
            if back && restore_ref(git, name, before, after).await? {
                restored.refs.push(name.clone());
                restored.stood_at.extend(after.map(|after| (name.clone(), after.clone())));
            } else if !ours {
                restored.left.push(name.clone());
            }
        }
        Ok(restored)
    }

    /// Restores the operator's checked-out branch, if the agent changed it. Touches no file of the
    /// working tree. Returns whether it did.
    fn restore_head(
        &self,
        layout: &GitLayout,
        (agent, reach): (&str, RepositoryExposure),
        keep: &Path,
    ) -> io::Result<bool> {
        let Some(before) = &self.head else { return Ok(false) };
        let path = layout.git_dir.join(HEAD);
        let after = read_file_snapshot(&path)?;
        if after.as_ref().is_some_and(|after| after.bytes == before.file.bytes) {
            return Ok(false);
        }
        let log = allow_missing(fs::read(layout.git_dir.join(HEAD_LOG)))?.unwrap_or_default();
        let back = match find_head_mover(&log, before.log_bytes, agent) {
            RefMover::Agent => true,
            RefMover::Another => false,
            RefMover::Untold => reach == RepositoryExposure::Unknown,
        };
        if back {
            if let Some(after) = &after {
                write_file_snapshot(&keep.join(HEAD), after)?;
            }
            write_file_snapshot(&path, &before.file)?;
        }
        Ok(back)
    }

    fn restore_files(&self, common_dir: &Path, keep: &Path) -> io::Result<Vec<PathBuf>> {
        let now = read_files(common_dir)?;
        let names: BTreeSet<&PathBuf> = self.files.keys().chain(now.keys()).collect();
        let mut restored = Vec::new();
        for name in names {
            let before = self.files.get(name);
            let after = now.get(name);
            if before == after {
                continue;
            }
            if let Some(after) = after {
                write_file_snapshot(&keep.join(name), after)?;
            }
            match before {
                Some(before) => write_file_snapshot(&common_dir.join(name), before)?,
                None => fs::remove_file(common_dir.join(name))?,
            }
            restored.push(name.clone());
        }
        Ok(restored)
    }
}

/// Determines from its reflog who moved a ref.
async fn find_ref_mover(
    git: &Git,
    name: &str,
    (before, after): (Option<&Oid>, &Oid),
    agent: &str,
) -> Result<RefMover, Fault> {
    let call = git.call(GitAction::Look).args(["log", "--walk-reflogs", "-z", "--format=%H %ge"]);
    let call = call.args(["--end-of-options", name, "--"]);
    // A ref that names no commit has no log that git would show.
    let done = call.run_expecting(&[0, 128]).await?;
    let steps: Vec<String> = nonempty_records(&done.stdout)
        .map(|step| String::from_utf8_lossy(step).into_owned())
        .collect();
    let steps: Vec<(&str, &str)> = steps.iter().filter_map(|step| step.split_once(' ')).collect();
    let begin = match before {
        Some(before) => steps.iter().position(|(at, _)| *at == before.as_str()),
        None => Some(steps.len()),
    };
    let since = begin.map(|begin| &steps[..begin]).unwrap_or_default();
    Ok(match since.first() {
        Some((at, _)) if *at != after.as_str() => RefMover::Untold,
        Some(_) if since.iter().all(|(_, by)| *by == agent) => RefMover::Agent,
        Some(_) => RefMover::Another,
        None => RefMover::Untold,
    })
}

/// Determines who changed `HEAD`, from the part of its reflog that was written since the snapshot.
fn find_head_mover(log: &[u8], log_bytes: u64, agent: &str) -> RefMover {
    let known = usize::try_from(log_bytes).unwrap_or(usize::MAX);
    let since = log.get(known..).unwrap_or_default();
    let by_agent = format!("<{agent}>");
    let is_agents = |line: &[u8]| String::from_utf8_lossy(line).contains(&by_agent);
    let mut lines = nonempty_lines(since).peekable();
    if lines.peek().is_none() {
        return RefMover::Untold;
    }
    if lines.all(is_agents) { RefMover::Agent } else { RefMover::Another }
}

/// Moves a ref back and keeps the agent's value under another ref. Returns `false` if the ref has
/// moved on meanwhile.
async fn restore_ref(
    git: &Git,
    name: &str,
    before: Option<&Oid>,
    after: Option<&Oid>,
) -> Result<bool, Fault> {
    let mut changes =
        vec![RefChange { name: name.to_owned(), old: after.cloned(), new: before.cloned() }];
    if let Some(after) = after {
        let kept = kept_ref_name(after);
        let old = git.resolve_commit(&kept).await?;
        changes.push(RefChange { name: kept, old, new: Some(after.clone()) });
    }
    let swapped = git.swap_refs(&changes, "unstuck: put back after an attempt").await?;
    Ok(swapped == RefSwapOutcome::Done)
}

fn read_files(common_dir: &Path) -> io::Result<BTreeMap<PathBuf, FileSnapshot>> {
    let mut names: Vec<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    for folder in FOLDERS {
        let entries = allow_missing(fs::read_dir(common_dir.join(folder)))?;
        for entry in entries.into_iter().flatten() {
            names.push(Path::new(folder).join(entry?.file_name()));
        }
    }
    let mut files = BTreeMap::new();
    for name in names {
        if let Some(held) = read_file_snapshot(&common_dir.join(&name))? {
            files.insert(name, held);
        }
    }
    Ok(files)
}

fn read_file_snapshot(path: &Path) -> io::Result<Option<FileSnapshot>> {
    match allow_missing(fs::metadata(path))? {
        Some(found) if found.is_file() && found.len() <= FILE_BYTES_MAX => {
            Ok(Some(FileSnapshot { mode: found.permissions().mode(), bytes: fs::read(path)? }))
        }
        _ => Ok(None),
    }
}

/// Writes a file atomically: a truncated settings file would stop every git command.
fn write_file_snapshot(path: &Path, held: &FileSnapshot) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension("unstuck-new");
    fs::write(&beside, &held.bytes)?;
    fs::set_permissions(&beside, Permissions::from_mode(held.mode))?;
    fs::rename(&beside, path)
}

fn comparison_fault(common_dir: &Path, error: &io::Error) -> Fault {
    let message = format!("{} cannot be compared", common_dir.display());
    GitAction::Status.to_fault(message, None, None).with_cause(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_kept() {
        let held = FileSnapshot { mode: 0o755, bytes: (0..=255).collect() };
        let text = serde_json::to_string(&held).unwrap();
        assert_eq!(serde_json::from_str::<FileSnapshot>(&text).unwrap(), held);
        assert!(serde_json::from_str::<FileSnapshot>(r#"{"mode":1,"bytes":"\u0100"}"#).is_err());
    }
}
