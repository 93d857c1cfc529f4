//! What all working trees of a repository share and no task may change: settings, hooks, rules about
//! files, and refs. It is noted before an attempt and put back after it.
//!
//! People and other tasks use the same repository meanwhile. A file is put back whoever changed it,
//! with the changed one kept; a ref is moved back only when its own log says that the agent moved
//! it, because a commit that a person made in the meantime is theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unstuck_core::fault::Fault;

use super::fail::Operation;
use super::git::Git;
use super::oid::Oid;
use super::refs::{RefChange, Swapped};

/// What is noted, within what all working trees share.
const FILES: [&str; 4] = ["config", "config.worktree", "shallow", "objects/info/alternates"];
const FOLDERS: [&str; 2] = ["hooks", "info"];
/// A hook or a rule file that is larger is left alone.
const FILE_BYTES_MAX: u64 = 4 * 1_024 * 1_024;
/// Where values of refs are kept that an agent set and that were put back.
const KEPT: &str = "refs/unstuck/kept";
/// Refs of ours.
const OURS: [&str; 2] = ["refs/unstuck/", "refs/heads/unstuck/"];

/// What stood before an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    files: BTreeMap<PathBuf, Held>,
    refs: BTreeMap<String, Oid>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Held {
    mode: u32,
    #[serde(with = "bytes_as_text")]
    bytes: Vec<u8>,
}

/// Bytes as text with one character for each: a list of numbers would be four times as long, and
/// this is written and read for every attempt.
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

/// What was put back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files, within what all working trees share.
    pub files: Vec<PathBuf>,
    /// Refs that the agent had moved, made or deleted.
    pub refs: Vec<String>,
    /// Where those of them stood that the agent had moved or made.
    pub stood_at: BTreeMap<String, Oid>,
    /// Refs that changed as well and were left alone, because nothing says that it was the agent.
    pub left: Vec<String>,
}

impl Snapshot {
    /// Notes what stands in the repository with this common folder.
    pub async fn take(git: &Git, common_dir: &Path) -> Result<Self, Fault> {
        let files = files(common_dir).map_err(|error| unreadable(common_dir, &error))?;
        Ok(Self { files, refs: git.refs(&[]).await? })
    }

    /// Puts back what was changed since by an agent that commits under the address `agent`, except
    /// for the refs in `own`. Files as the agent left them are kept in the folder `keep`.
    pub async fn restore(
        &self,
        git: &Git,
        common_dir: &Path,
        agent: &str,
        own: &[&str],
        keep: &Path,
    ) -> Result<Restored, Fault> {
        // Files come first: what git does afterwards depends on them.
        let files = self.restore_files(common_dir, keep);
        let files = files.map_err(|error| unreadable(common_dir, &error))?;
        let mut restored = Restored { files, ..Restored::default() };
        let now = git.refs(&[]).await?;
        let names: BTreeSet<&String> = self.refs.keys().chain(now.keys()).collect();
        for name in names {
            let (before, after) = (self.refs.get(name), now.get(name));
            if before == after || own.contains(&name.as_str()) {
                continue;
            }
            // Refs of ours come and go by our own hand, and only the agent's steps are undone.
            let ours = OURS.iter().any(|prefix| name.starts_with(prefix));
            let gone = after.is_none() && !ours;
            let back = gone || moved_by(git, name, before, agent).await?;
            if back && put_back(git, name, before, after).await? {
                restored.refs.push(name.clone());
                restored.stood_at.extend(after.map(|after| (name.clone(), after.clone())));
            } else if !ours {
                restored.left.push(name.clone());
            }
        }
        Ok(restored)
    }

    fn restore_files(&self, common_dir: &Path, keep: &Path) -> io::Result<Vec<PathBuf>> {
        let now = files(common_dir)?;
        let names: BTreeSet<&PathBuf> = self.files.keys().chain(now.keys()).collect();
        let mut restored = Vec::new();
        for name in names {
            let (before, after) = (self.files.get(name), now.get(name));
            if before == after {
                continue;
            }
            if let Some(after) = after {
                write(&keep.join(name), after)?;
            }
            match before {
                Some(before) => write(&common_dir.join(name), before)?,
                None => fs::remove_file(common_dir.join(name))?,
            }
            restored.push(name.clone());
        }
        Ok(restored)
    }
}

/// Whether every step of a ref since `before` was the agent's.
async fn moved_by(git: &Git, name: &str, before: Option<&Oid>, agent: &str) -> Result<bool, Fault> {
    let call = git.call(Operation::Look).args(["log", "--walk-reflogs", "-z", "--format=%H %ge"]);
    let call = call.args(["--end-of-options", name, "--"]);
    // A ref that names no commit has no log that git would show.
    let done = call.run_expecting(&[0, 128]).await?;
    let mut steps = 0;
    for record in done.stdout.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        let record = String::from_utf8_lossy(record);
        let (at, by) = record.split_once(' ').unwrap_or_default();
        if before.is_some_and(|before| before.as_str() == at) {
            return Ok(steps > 0);
        }
        if by != agent {
            return Ok(false);
        }
        steps += 1;
    }
    // A log that ends is all of a ref that is new, and not enough for one that was there.
    Ok(steps > 0 && before.is_none())
}

/// Moves a ref back with the agent's value kept; not if it has moved on meanwhile.
async fn put_back(
    git: &Git,
    name: &str,
    before: Option<&Oid>,
    after: Option<&Oid>,
) -> Result<bool, Fault> {
    let mut changes =
        vec![RefChange { name: name.to_owned(), old: after.cloned(), new: before.cloned() }];
    if let Some(after) = after {
        let kept = format!("{KEPT}/{after}");
        let old = git.commit_of(&kept).await?;
        changes.push(RefChange { name: kept, old, new: Some(after.clone()) });
    }
    let swapped = git.swap(&changes, "unstuck: put back after an attempt").await?;
    Ok(swapped == Swapped::Done)
}

fn files(common_dir: &Path) -> io::Result<BTreeMap<PathBuf, Held>> {
    let mut names: Vec<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    for folder in FOLDERS {
        for entry in listed(&common_dir.join(folder))? {
            names.push(Path::new(folder).join(entry?.file_name()));
        }
    }
    let mut files = BTreeMap::new();
    for name in names {
        if let Some(held) = read(&common_dir.join(&name))? {
            files.insert(name, held);
        }
    }
    Ok(files)
}

fn listed(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries).into_iter().flatten()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None.into_iter().flatten()),
        Err(error) => Err(error),
    }
}

fn read(path: &Path) -> io::Result<Option<Held>> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() <= FILE_BYTES_MAX => {
            Ok(Some(Held { mode: found.permissions().mode(), bytes: fs::read(path)? }))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whole or not at all: a settings file that is half there would stop every git command.
fn write(path: &Path, held: &Held) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension("unstuck-new");
    fs::write(&beside, &held.bytes)?;
    fs::set_permissions(&beside, Permissions::from_mode(held.mode))?;
    fs::rename(&beside, path)
}

fn unreadable(common_dir: &Path, error: &io::Error) -> Fault {
    let message = format!("{} cannot be compared", common_dir.display());
    Operation::Status.fault(message, None, None).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_kept() {
        let held = Held { mode: 0o755, bytes: (0..=255).collect() };
        let text = serde_json::to_string(&held).unwrap();
        assert_eq!(serde_json::from_str::<Held>(&text).unwrap(), held);
        assert!(serde_json::from_str::<Held>(r#"{"mode":1,"bytes":"\u0100"}"#).is_err());
    }
}
