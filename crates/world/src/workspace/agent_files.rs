//! The agent's files and its index, kept while a check runs.
//!
//! A formatter that is part of a check rewrites the agent's files, and its output is not the
//! agent's work. Only the files of the change are copied. A file that exists with another content
//! afterwards is restored. One that is deleted, or as the base has it, stays so: such a check has
//! tested something else, and this is reported.
//!
//! The index that a check finds holds all of the work, as the commit will: a check that asks git
//! for its files (`git ls-files`, `git diff --exit-code`) would otherwise miss new files, and take
//! the work itself for a difference. The agent's own index is restored afterwards. Copies and index
//! are on disk until then, so that a kill loses none of them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use unstuck_core::fault::Fault;

use super::changes::{ChangeKind, WorktreeChange};
use super::private::is_folder;
use super::state::io_fault;
use super::workspace::Workspace;
use crate::regular_file::allow_missing;

/// The digest of a file that does not exist.
pub(super) const GONE: &str = "-";
/// Name of the state file that lists the copies: records that end with a zero byte, of `?` for a
/// new file or `=`, a digest, a blank and a path.
const COPIES: &str = "own";

/// Name of the folder, beside the copies, for files that a check runs without.
const ASIDE: &str = "aside";

#[derive(Debug)]
struct WithheldFile {
    place: PathBuf,
    aside: PathBuf,
}

/// The set of files that are restored from their copies.
#[derive(Clone, Copy, Debug)]
pub(super) enum RestoreSelection<'a> {
    /// New files that exist, and tracked ones among these paths, which differ from the base.
    Rewritten(&'a BTreeMap<PathBuf, String>),
    /// All files: the check that changed them did not end.
    All,
}

impl Workspace {
    /// Copies the files of a change. Existing copies were left by a kill and stay valid: no agent
    /// has worked since.
    pub(super) fn keep_agent_files(&self, changes: &[WorktreeChange]) -> Result<(), Fault> {
        if self.state.read_file(COPIES)?.is_some() {
            return Ok(());
        }
        // A kill may have left incomplete copies.
        self.forget_agent_files()?;
        let folder = self.state.own_files_folder();
        let mut list = Vec::new();
        for change in changes.iter().filter(|change| change.kind != ChangeKind::Repository) {
            let from = self.directory.join(&change.path);
            let digest = digest_path(&from);
            let kept = folder.join(&digest);
            // A file that cannot be read cannot be committed either.
            let is_kept = digest == GONE
                || fs::create_dir_all(&folder).and_then(|()| copy_new(&from, &kept)).is_ok();
            if is_kept {
                let mark = if change.kind == ChangeKind::Added { '?' } else { '=' };
                list.extend_from_slice(format!("{mark}{digest} ").as_bytes());
                list.extend_from_slice(change.path.as_os_str().as_bytes());
                list.push(0);
            }
        }
        if list.is_empty() { Ok(()) } else { self.state.write_file(COPIES, &list).map(drop) }
    }

    /// Restores the agent's files from their copies, and removes the copies.
    pub(super) fn restore_agent_files(&self, which: RestoreSelection<'_>) -> Result<(), Fault> {
        let Some(list) = self.state.read_file(COPIES)? else { return Ok(()) };
        for record in list.split(|byte| *byte == 0) {
            let Some((mark, rest)) = record.split_first() else { continue };
            let mut parts = rest.splitn(2, |byte| *byte == b' ');
            let (Some(digest), Some(path)) = (parts.next(), parts.next()) else { continue };
            let digest = String::from_utf8_lossy(digest);
            let path = Path::new(OsStr::from_bytes(path));
            let to = self.directory.join(path);
            let now = digest_path(&to);
            let is_due = match which {
                RestoreSelection::All => true,
                // A folder at the path was protected from the check, and is back.
                RestoreSelection::Rewritten(_) if *mark == b'?' => now != GONE && !is_folder(&to),
                RestoreSelection::Rewritten(differing) => differing.contains_key(path),
            };
            if is_due && now != *digest && is_inside(&self.directory, path) {
                let kept = self.state.own_files_folder().join(&*digest);
                replace_path(&kept, &to, digest == GONE).map_err(|error| io_fault(&to, &error))?;
            }
        }
        self.forget_agent_files()
    }

    /// Runs `work` while these files are moved out of the worktree. After a kill in between, the
    /// copies of the files restore them.
    pub async fn run_without_files<T>(
        &self,
        paths: &[PathBuf],
        work: impl Future<Output = T>,
    ) -> Result<T, Fault> {
        let moved = self.move_files_aside(paths)?;
        let done = work.await;
        move_back(&moved)?;
        Ok(done)
    }

    /// Does some work with these texts in the place of files, then moves the files back. They count as changed
    /// just now, so that no build tool takes what it has made of the texts for theirs.
    pub async fn run_with_texts<T>(
        &self,
        texts: &BTreeMap<PathBuf, String>,
        work: impl Future<Output = T>,
    ) -> Result<T, Fault> {
        let inside = || texts.iter().filter(|(path, _)| is_inside(&self.directory, path));
        let paths: Vec<PathBuf> = inside().map(|(path, _)| path.clone()).collect();
        let done = self.run_without_files(&paths, async {
            for (path, text) in inside() {
                let place = self.directory.join(path);
                fs::write(&place, text).map_err(|error| io_fault(&place, &error))?;
            }
            Ok(work.await)
        });
        let done = done.await?;
        for path in &paths {
            let place = self.directory.join(path);
            touch(&place).map_err(|error| io_fault(&place, &error))?;
        }
        done
    }

    fn move_files_aside(&self, paths: &[PathBuf]) -> Result<Vec<WithheldFile>, Fault> {
        let aside = self.state.own_files_folder().join(ASIDE);
        fs::create_dir_all(&aside).map_err(|error| io_fault(&aside, &error))?;
        let mut moved = Vec::new();
        for (n, path) in paths.iter().filter(|path| is_inside(&self.directory, path)).enumerate() {
            let of =
                WithheldFile { place: self.directory.join(path), aside: aside.join(n.to_string()) };
            if let Err(error) = fs::rename(&of.place, &of.aside) {
                move_back(&moved)?;
                return Err(io_fault(&of.place, &error));
            }
            moved.push(of);
        }
        Ok(moved)
    }

    pub(super) fn forget_agent_files(&self) -> Result<(), Fault> {
        self.state.delete_file(COPIES)?;
        let folder = self.state.own_files_folder();
        allow_missing(fs::remove_dir_all(&folder)).map_err(|error| io_fault(&folder, &error))?;
        Ok(())
    }
}

/// Sets the time of a file's last change to now, by the clock of the system.
fn touch(file: &Path) -> io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    Ok(futimens(File::options().append(true).open(file)?, &times)?)
}

fn move_back(moved: &[WithheldFile]) -> Result<(), Fault> {
    for WithheldFile { place, aside } in moved {
        let folder = place.parent().unwrap_or(place);
        let back = fs::create_dir_all(folder).and_then(|()| fs::rename(aside, place));
        back.map_err(|error| io_fault(place, &error))?;
    }
    Ok(())
}

/// Returns whether no folder on the way to a path is a link, which could lead out of the worktree.
fn is_inside(directory: &Path, path: &Path) -> bool {
    let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.map(|folder| directory.join(folder)).all(|folder| !folder.is_symlink())
}

/// Replaces `to` by the copy, or removes it if the original did not exist.
fn replace_path(kept: &Path, to: &Path, gone: bool) -> io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(there) if there.is_dir() => fs::remove_dir_all(to)?,
        Ok(_) => fs::remove_file(to)?,
        Err(_) => {}
    }
    if gone {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    copy_new(kept, to)
}

/// Copies a file or a link to a path, unless the path exists: the same content may have been copied
/// before.
fn copy_new(from: &Path, to: &Path) -> io::Result<()> {
    let copied = if from.is_symlink() {
        symlink(fs::read_link(from)?, to)
    } else {
        let mut source = File::open(from)?;
        let rights = source.metadata()?.permissions();
        File::create_new(to).and_then(|mut target| {
            io::copy(&mut source, &mut target)?;
            target.set_permissions(rights)
        })
    };
    match copied {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        copied => copied,
    }
}

/// Returns a digest of a path: its content, its kind and whether it can be executed.
pub(super) fn digest_path(path: &Path) -> String {
    let Ok(found) = fs::symlink_metadata(path) else { return GONE.to_owned() };
    let mut hasher = blake3::Hasher::new();
    let read = if found.is_symlink() {
        fs::read_link(path).map(|to| to.as_os_str().as_bytes().to_vec())
    } else if found.is_file() {
        fs::read(path)
    } else {
        Ok(Vec::new())
    };
    let is_program = found.permissions().mode() & 0o111 != 0;
    hasher.update(&[u8::from(found.is_symlink()), u8::from(found.is_file() && is_program)]);
    hasher.update(&read.unwrap_or_default());
    hasher.finalize().to_hex().to_string()
}

/// Name of the state file with the agent's own index while a check runs.
pub(super) const OWN_INDEX: &str = "index.agent";

impl Workspace {
    /// Replaces the agent's index by one that holds these changes, for a check. Does nothing in the
    /// operator's own tree, whose index is the operator's.
    pub(super) async fn lend_index(&self, changes: &[WorktreeChange]) -> Result<(), Fault> {
        let sound = self.private.as_ref().filter(|private| private.is_sound(&self.branch));
        let Some(private) = sound.filter(|_| !changes.is_empty()) else { return Ok(()) };
        // An index that is saved already was left by a kill, and the one in its place is the
        // supervisor's.
        if self.state.read_file(OWN_INDEX)?.is_none() {
            let Some(own) = private.read_index() else { return Ok(()) };
            self.state.write_file(OWN_INDEX, &own)?;
        }
        self.write_tree(changes).await?;
        let scratch = self.state.scratch_index_file();
        let holding = fs::read(&scratch).map_err(|error| io_fault(&scratch, &error))?;
        private.write_index(&holding).map_err(|error| io_fault(private.folder(), &error))
    }

    pub(super) fn restore_agent_index(&self) -> Result<(), Fault> {
        let Some(own) = self.state.read_file(OWN_INDEX)? else { return Ok(()) };
        if let Some(private) = &self.private {
            private.write_index(&own).map_err(|error| io_fault(private.folder(), &error))?;
        }
        self.state.delete_file(OWN_INDEX)
    }
}
