//! The repository that the agent of a task works with: `.git` in its worktree.
//!
//! It has its own settings, refs, index and objects; the operator's objects are read through
//! `objects/info/alternates`, so no object is copied and the operator's repository need not be
//! writable. The supervisor never runs git on it: it reads the files it needs one by one, and does
//! not follow links. The agent has ended whenever these functions run.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::git::{Oid, parse_ref};

/// Entries that stay of a repository that an agent has worked with: its commits and refs. All
/// others are made anew, because git runs programs that settings, hooks and attributes name.
const KEPT: [&str; 7] = ["HEAD", "index", "lfs", "logs", "objects", "packed-refs", "refs"];
/// Maximum size of a file that names one commit, in bytes.
const REF_BYTES_MAX: u64 = 4_096;
/// Maximum size of the list of packed refs, in bytes: longer than that of any real repository.
const PACKED_BYTES_MAX: u64 = 256 * 1_024 * 1_024;
/// Maximum size of an index that is read, in bytes: a few million files.
const INDEX_BYTES_MAX: u64 = 512 * 1_024 * 1_024;
/// Maximum number of an agent's files that are inspected; with more, the operation fails.
const FILES_MAX: usize = 500_000;
/// Maximum number of symbolic refs that are followed to one commit.
const LINKS_MAX: usize = 5;

/// The repository of a task's agent.
#[derive(Clone, Debug)]
pub(super) struct PrivateRepository {
    /// The path of `.git` in the worktree.
    folder: PathBuf,
    /// The folder in which a new repository is put together, outside of what the agent may write.
    staging: PathBuf,
}

/// The data that the supervisor writes into the repository of an agent.
#[derive(Clone, Debug)]
pub(super) struct PrivateContents {
    pub(super) config: String,
    /// The operator's refs, for the agent to read.
    pub(super) refs: BTreeMap<String, Oid>,
    /// The operator's folder of objects.
    pub(super) objects: PathBuf,
    /// Files below `info`, by name.
    pub(super) info: Vec<(&'static str, Vec<u8>)>,
}

/// The position at which the agent begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckoutPosition<'a> {
    /// The full name of the branch that is checked out.
    pub(super) branch: &'a str,
    /// The commit that the branch is at.
    pub(super) at: &'a Oid,
    /// An index that matches the checked-out commit.
    pub(super) index: &'a Path,
}

impl PrivateRepository {
    pub(super) const fn new(folder: PathBuf, staging: PathBuf) -> Self {
        Self { folder, staging }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of the agent's own objects, after making sure that it refers to no
    /// objects elsewhere but the operator's.
    pub(super) fn find_plain_objects(&self, persons: &Path) -> Option<PathBuf> {
        let objects = self.folder.join("objects");
        let is_plain = is_folder(&self.folder) && holds_plain_files(&objects);
        (is_plain && write_alternates(&objects, persons).is_ok()).then_some(objects)
    }

    /// Returns whether an agent left it as a valid repository that has `branch`.
    pub(super) fn is_sound(&self, branch: &str) -> bool {
        let folders = ["objects", "refs"].iter().all(|name| is_folder(&self.folder.join(name)));
        let files = ["HEAD", "index"].iter().all(|name| is_file(&self.folder.join(name)));
        is_folder(&self.folder) && folders && files && self.read_refs().contains_key(branch)
    }

    /// Makes a new repository. Moves the old one, if any, to `aside`.
    pub(super) fn create(
        &self,
        contents: &PrivateContents,
        position: CheckoutPosition<'_>,
        aside: &Path,
    ) -> io::Result<()> {
        remove_path(&self.staging)?;
        for folder in ["objects", "refs/heads", "refs/tags"] {
            fs::create_dir_all(self.staging.join(folder))?;
        }
        contents.write_into(&self.staging)?;
        write_new_file(
            &self.staging.join("packed-refs"),
            contents.render_packed_refs().as_bytes(),
        )?;
        position.write_into(&self.staging)?;
        if fs::symlink_metadata(&self.folder).is_ok() {
            remove_path(aside)?;
            fs::create_dir_all(aside.parent().unwrap_or(aside))?;
            fs::rename(&self.folder, aside)?;
        }
        fs::rename(&self.staging, &self.folder)
    }

    /// Rewrites settings, hooks and all else that git runs; commits, branches and the index stay.
    pub(super) fn reset_configuration(&self, contents: &PrivateContents) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if !KEPT.iter().any(|kept| entry.file_name() == *kept) {
                remove_path(&entry.path())?;
            }
        }
        self.walk_refs(|path| match path.extension() {
            // A killed git leaves lock files.
            Some(ending) if ending == "lock" => remove_path(&self.folder.join(path)),
            _ => Ok(()),
        })?;
        contents.write_into(&self.folder)
    }

    /// Sets the agent's branch to a commit, with the index that belongs to it.
    pub(super) fn set_position(&self, position: CheckoutPosition<'_>) -> io::Result<()> {
        position.write_into(&self.folder)
    }

    pub(super) fn read_index(&self) -> Option<Vec<u8>> {
        read_plain_file(&self.folder.join("index"), INDEX_BYTES_MAX)
    }

    /// Replaces the index. Does nothing if the repository's folder no longer exists.
    pub(super) fn write_index(&self, bytes: &[u8]) -> io::Result<()> {
        if is_folder(&self.folder) {
            write_atomically(&self.folder.join("index"), bytes)?;
        }
        Ok(())
    }

    pub(super) fn point_branch(&self, branch: &str, at: &Oid) -> io::Result<()> {
        write_ref(&self.folder, branch, at)
    }

    /// Returns the commit that the agent has checked out, as far as it can be read.
    pub(super) fn read_head(&self) -> Option<Oid> {
        let refs = self.read_refs();
        let mut name = "HEAD".to_owned();
        for _ in 0..LINKS_MAX {
            let text = read_plain_file(&self.folder.join(&name), REF_BYTES_MAX);
            match text.as_deref().map(<[u8]>::trim_ascii_end) {
                Some(text) if text.starts_with(b"ref: ") => {
                    name = String::from_utf8(text[5..].to_vec()).ok()?;
                    if !is_ref_name(&name) {
                        return None;
                    }
                }
                Some(text) => return Oid::parse(text),
                None => return refs.get(&name).cloned(),
            }
        }
        None
    }

    /// Returns the refs that name an object directly, loose ones before packed ones.
    pub(super) fn read_refs(&self) -> BTreeMap<String, Oid> {
        let packed = read_plain_file(&self.folder.join("packed-refs"), PACKED_BYTES_MAX);
        let mut refs = packed.as_deref().map(parse_packed_refs).unwrap_or_default();
        let read = |path: &Path| {
            if let Some(text) = read_plain_file(&self.folder.join(path), REF_BYTES_MAX)
                && let Some(oid) = Oid::parse(text.trim_ascii_end())
                && let Some(name) = path.to_str()
            {
                refs.insert(name.to_owned(), oid);
            }
            Ok(())
        };
        // Unreadable entries are no refs.
        let _ = self.walk_refs(read);
        refs
    }

    /// Calls `look` for each file below `refs`, with its path relative to the repository.
    fn walk_refs(&self, mut look: impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
        let mut folders = vec![PathBuf::from("refs")];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            if !is_folder(&self.folder.join(&folder)) {
                continue;
            }
            for entry in fs::read_dir(self.folder.join(&folder))? {
                let entry = entry?;
                seen += 1;
                if seen > FILES_MAX {
                    return Err(io::Error::other("an agent left too many refs"));
                }
                let path = folder.join(entry.file_name());
                if is_folder(&entry.path()) {
                    folders.push(path);
                } else {
                    look(&path)?;
                }
            }
        }
        Ok(())
    }
}

impl PrivateContents {
    fn write_into(&self, folder: &Path) -> io::Result<()> {
        write_new_file(&folder.join("config"), self.config.as_bytes())?;
        for name in ["hooks", "info"] {
            remove_path(&folder.join(name))?;
            fs::create_dir(folder.join(name))?;
        }
        for (name, bytes) in &self.info {
            write_new_file(&folder.join("info").join(name), bytes)?;
        }
        write_alternates(&folder.join("objects"), &self.objects)
    }

    fn render_packed_refs(&self) -> String {
        let lines = self.refs.iter().map(|(name, oid)| format!("{oid} {name}\n"));
        std::iter::once("# pack-refs with: sorted \n".to_owned()).chain(lines).collect()
    }
}

impl CheckoutPosition<'_> {
    fn write_into(&self, folder: &Path) -> io::Result<()> {
        write_atomically(&folder.join("index"), &fs::read(self.index)?)?;
        write_ref(folder, self.branch, self.at)?;
        write_atomically(&folder.join("HEAD"), format!("ref: {}\n", self.branch).as_bytes())
    }
}

/// Makes git look up objects that a folder lacks among the operator's, and nowhere else.
fn write_alternates(objects: &Path, persons: &Path) -> io::Result<()> {
    let info = objects.join("info");
    remove_path(&info)?;
    fs::create_dir(&info)?;
    write_new_file(
        &info.join("alternates"),
        &[persons.as_os_str().as_encoded_bytes(), b"\n"].concat(),
    )
}

/// Writes a loose ref. Removes files of an agent that are in the way.
fn write_ref(folder: &Path, name: &str, at: &Oid) -> io::Result<()> {
    let mut path = folder.to_owned();
    let mut parts = Path::new(name).iter().peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        if parts.peek().is_some() && !is_folder(&path) {
            remove_path(&path)?;
            fs::create_dir(&path)?;
        }
    }
    if is_folder(&path) {
        remove_path(&path)?;
    }
    write_atomically(&path, format!("{at}\n").as_bytes())
}

fn parse_packed_refs(bytes: &[u8]) -> BTreeMap<String, Oid> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| parse_ref(line, b' ')).collect()
}

/// Returns whether a name stays below `refs`.
fn is_ref_name(name: &str) -> bool {
    name.starts_with("refs/")
        && Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

pub(super) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Returns whether a folder holds only files and folders: no link leads out of it, and no pipe or
/// device blocks a reader.
fn holds_plain_files(folder: &Path) -> bool {
    let mut seen = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { return false };
        for entry in entries {
            let Ok(kind) = entry.as_ref().map_err(drop).and_then(|e| e.file_type().map_err(drop))
            else {
                return false;
            };
            seen += 1;
            if seen > FILES_MAX || !(kind.is_dir() || kind.is_file()) {
                return false;
            }
            folders.extend(entry.ok().filter(|_| kind.is_dir()).map(|entry| entry.path()));
        }
    }
    is_folder(folder)
}

/// Reads a file of at most `bytes_max` bytes; returns `None` for a longer one and for links, pipes
/// and devices.
pub(super) fn read_plain_file(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    if !is_file(path) {
        return None;
    }
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).ok()?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let mut bytes = Vec::new();
    let length = file.take(bytes_max + 1).read_to_end(&mut bytes).ok()?;
    (length as u64 <= bytes_max).then_some(bytes)
}

/// Removes a file or folder, if it exists, without following links.
fn remove_path(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes a new file. A link at the path is removed, not followed.
pub(super) fn write_new_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    remove_path(path)?;
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)
}

/// Writes a file atomically, likewise without following links: readers see the old file or the new
/// one.
fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unstuck-new");
    let beside = path.with_file_name(name);
    write_new_file(&beside, bytes)?;
    if is_folder(path) {
        remove_path(path)?;
    }
    fs::rename(beside, path)
}
