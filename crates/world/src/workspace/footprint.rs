//! The footprint of setup, checks and git itself in a worktree: files that are no work, and never
//! committed.
//!
//! It is found by comparison. A mark records the differences from the base before configured
//! commands run; a difference that is new afterwards belongs to those commands. A new path belongs
//! to them from then on, even if it changes later; one that setup made and that the task's text
//! names is work once it has changed since. A tracked file that setup changed belongs to setup
//! while it is as setup left it; one that a check changed is restored, and so are the agent's own
//! files that it wrote to (`agent_files.rs`). The mark is on disk while commands run, so that the
//! comparison can be made up for after a kill.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::agent_files::{OWN_INDEX, RestoreSelection, digest_path};
use super::changes::WorktreeChange;
use super::ecosystem::{ByProduct, classify_by_product, is_lock_file};
use super::elsewhere::IGNORED_BEFORE_CHECKS;
use super::workspace::Workspace;
use crate::git::status::StatusEntry;
use crate::git::{Git, join_paths, split_paths};
use crate::scope::PathScope;

/// Name of the state file that lists paths known to be no work.
const FOOTPRINT: &str = "footprint";
/// Name of the state file with the differences from before the commands that run, or ran at a kill.
const MARK: &str = "mark";
/// Name of the state file with the names of files and folders that the task's scope or text
/// mentions.
const NAMED: &str = "named";
/// Name of the state file with the tracked files that checks have changed, each with a zero byte at
/// its end.
const CHECKED: &str = "checked";
/// Paths that differ from the base: new ones, and tracked ones with digests of their content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    made: BTreeSet<PathBuf>,
    /// Digests of the new paths as setup left them.
    left: BTreeMap<PathBuf, String>,
    held: BTreeMap<PathBuf, String>,
}

/// The kind of commands that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandAuthor {
    /// Setup, whose changes to tracked files stay in the worktree.
    Setup,
    /// A check, whose changes to tracked files are restored.
    Check,
}

impl Footprint {
    /// Encodes the footprint as records that end with a zero byte: `?` and a path, or `=` or `!`, a
    /// digest, a blank and a path.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for path in &self.made {
            bytes.push(b'?');
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        let left = self.left.iter().map(|entry| ('!', entry));
        let held = self.held.iter().map(|entry| ('=', entry));
        for (mark, (path, digest)) in left.chain(held) {
            bytes.extend_from_slice(format!("{mark}{digest} ").as_bytes());
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// Decodes a footprint. Skips records that cannot be read: their paths then count as work,
    /// which is visible.
    pub(super) fn decode(bytes: &[u8]) -> Self {
        let mut read = Self::default();
        for record in bytes.split(|byte| *byte == 0) {
            match record.split_first() {
                Some((b'?', path)) => {
                    read.made.insert(OsStr::from_bytes(path).into());
                }
                Some((mark @ (b'=' | b'!'), rest)) => {
                    let mut parts = rest.splitn(2, |byte| *byte == b' ');
                    if let (Some(digest), Some(path)) = (parts.next(), parts.next()) {
                        let digest = String::from_utf8_lossy(digest).into_owned();
                        let known = if *mark == b'=' { &mut read.held } else { &mut read.left };
                        known.insert(OsStr::from_bytes(path).into(), digest);
                    }
                }
                _ => {}
            }
        }
        read
    }

    /// Adds digests of the content of the new paths.
    pub(super) fn with_content(mut self, directory: &Path) -> Self {
        let left = self.made.iter().map(|path| (path.clone(), digest_path(&directory.join(path))));
        self.left = left.collect();
        self
    }

    /// Adds the differences that `there` has beyond `left`, and returns the paths of `left` whose
    /// content differs in `there`.
    pub(super) fn add_beyond(&mut self, left: &Self, there: &Self) -> Vec<PathBuf> {
        let mut of_both = Vec::new();
        for path in &there.made {
            if !left.made.contains(path) {
                self.made.insert(path.clone());
            } else if left.left.get(path) != there.left.get(path) {
                of_both.push(path.clone());
            }
        }
        for (path, digest) in &there.held {
            match left.held.get(path) {
                None => drop(self.held.insert(path.clone(), digest.clone())),
                Some(then) if then != digest => of_both.push(path.clone()),
                Some(_) => {}
            }
        }
        of_both
    }

    /// Returns whether configured commands made a new path.
    pub(super) fn has_made(&self, path: &Path) -> bool {
        self.made.contains(path)
    }

    /// Returns whether a check made a new path, not setup.
    pub(super) fn is_left_by_check(&self, path: &Path) -> bool {
        self.made.contains(path) && !self.left.contains_key(path)
    }

    /// Returns the new paths.
    pub(super) fn into_made(self) -> impl Iterator<Item = PathBuf> {
        self.made.into_iter()
    }

    /// Returns whether a new path that setup made has changed since.
    pub(super) fn has_changed(&self, directory: &Path, path: &Path) -> bool {
        self.left.get(path).is_some_and(|digest| *digest != digest_path(&directory.join(path)))
    }

    /// Returns whether a tracked path is exactly as configured commands, or git, left it.
    pub(super) fn is_unchanged(&self, directory: &Path, path: &Path) -> bool {
        self.held.get(path).is_some_and(|digest| *digest == digest_path(&directory.join(path)))
    }
}

impl Workspace {
    pub(super) fn read_footprint(&self) -> Result<Footprint, Fault> {
        let bytes = self.state.read_file(FOOTPRINT)?;
        Ok(bytes.map(|bytes| Footprint::decode(&bytes)).unwrap_or_default())
    }

    pub(super) fn write_footprint(&self, known: &Footprint) -> Result<(), Fault> {
        self.state.write_file(FOOTPRINT, &known.encode()).map(drop)
    }

    /// Removes all footprint data, for a worktree that is replaced.
    pub(super) fn delete_footprint(&self) -> Result<(), Fault> {
        self.forget_agent_files()?;
        [FOOTPRINT, MARK, CHECKED, OWN_INDEX, IGNORED_BEFORE_CHECKS]
            .into_iter()
            .try_for_each(|name| self.state.delete_file(name))
    }

    /// Notes the folders that a task's scope or words name, and the files that its words name with their
    /// folders: what lies there is work, whatever tools or setup put there.
    pub fn note_named_paths(&self, scope: &PathScope, words: &str) -> Result<(), Fault> {
        let mut names: BTreeSet<&str> = scope.allowed_parts().collect();
        for file in find_named_files(words) {
            names.extend(file.split('/').rev().skip(1));
            names.insert(file);
        }
        names.extend(find_named_folders(words));
        let names: Vec<&str> = names.into_iter().collect();
        self.state.write_file(NAMED, names.join("\n").as_bytes()).map(drop)
    }

    /// Returns the names of files and folders that the task's scope or text mentions.
    pub(super) fn read_named_paths(&self) -> Result<BTreeSet<Vec<u8>>, Fault> {
        let named = self.state.read_file(NAMED)?.unwrap_or_default();
        let lines = named.split(|byte| *byte == b'\n').filter(|name| !name.is_empty());
        Ok(lines.map(<[u8]>::to_vec).collect())
    }

    /// Runs a check of these changes, and attributes its leftovers to the check, not to the agent.
    pub async fn watch_check<T>(
        &self,
        changes: &[WorktreeChange],
        (run, now): (RunId, Time),
        check: impl Future<Output = T>,
    ) -> Result<T, Fault> {
        self.set_mark().await?;
        self.keep_agent_files(changes)?;
        self.lend_index(changes).await?;
        let result = check.await;
        self.restore_agent_index()?;
        let by_check = self.settle_mark(CommandAuthor::Check).await?;
        if !by_check.is_empty() {
            self.revert_paths(&by_check, run, now).await?;
        }
        Ok(result)
    }

    /// Records the differences from the base before commands run. An existing mark was left by a
    /// kill and stays valid: no agent has worked since.
    pub(super) async fn set_mark(&self) -> Result<(), Fault> {
        if self.state.read_file(MARK)?.is_some() {
            return Ok(());
        }
        let mark = self.compare_with_index(&self.git_with_base_index()).await?;
        self.state.write_file(MARK, &mark.encode()).map(drop)
    }

    /// Returns the differences from the base before the commands that run.
    pub(super) fn read_mark(&self) -> Result<Option<Footprint>, Fault> {
        let mark = self.state.read_file(MARK)?;
        Ok(mark.map(|mark| Footprint::decode(&mark)))
    }

    /// Adds the leftovers of commands to the footprint, and returns the tracked files that a check
    /// changed.
    pub(super) async fn settle_mark(&self, author: CommandAuthor) -> Result<Vec<PathBuf>, Fault> {
        let Some(before) = self.read_mark()? else { return Ok(Vec::new()) };
        let after = self.compare_with_index(&self.git_with_base_index()).await?;
        self.restore_agent_files(match author {
            CommandAuthor::Check => RestoreSelection::Rewritten(&after.held),
            // A check was running at the kill: setup keeps no copies.
            CommandAuthor::Setup => RestoreSelection::All,
        })?;
        let mut known = self.read_footprint()?;
        let was = known.clone();
        for path in after.made.into_iter().filter(|path| !before.made.contains(path)) {
            if author == CommandAuthor::Setup {
                known.left.insert(path.clone(), digest_path(&self.directory.join(&path)));
            }
            known.made.insert(path);
        }
        let changed = after.held.into_iter().filter(|(path, _)| !before.held.contains_key(path));
        let mut put_back = Vec::new();
        match author {
            CommandAuthor::Setup => known.held.extend(changed),
            CommandAuthor::Check => put_back.extend(changed.map(|(path, _)| path)),
        }
        if known != was {
            self.write_footprint(&known)?;
        }
        if !put_back.is_empty() {
            self.note_changed_by_checks(&put_back)?;
        }
        self.state.delete_file(MARK)?;
        Ok(put_back)
    }

    /// Turns tracked lock files that setup has changed since `before` into work, where `may_change`
    /// allows it.
    pub(super) fn count_locks_as_work(
        &self,
        before: &Footprint,
        may_change: impl Fn(&Path) -> bool,
    ) -> Result<(), Fault> {
        let mut known = self.read_footprint()?;
        let all = known.held.len();
        known.held.retain(|path, digest| {
            before.held.get(path) == Some(digest) || !is_lock_file(path) || !may_change(path)
        });
        if known.held.len() == all { Ok(()) } else { self.write_footprint(&known) }
    }

    fn note_changed_by_checks(&self, paths: &[PathBuf]) -> Result<(), Fault> {
        let mut all = self.read_changed_by_checks()?;
        all.extend(paths.iter().cloned());
        let bytes = join_paths(all.iter().map(PathBuf::as_path));
        self.state.write_file(CHECKED, &bytes).map(drop)
    }

    /// Returns the tracked files that checks have changed in this worktree, before any work or
    /// after it.
    pub fn read_changed_by_checks(&self) -> Result<BTreeSet<PathBuf>, Fault> {
        let bytes = self.state.read_file(CHECKED)?.unwrap_or_default();
        Ok(split_paths(&bytes).collect())
    }

    /// Records tracked files that git shows as changed in a worktree it has just written: because
    /// of line endings that it would write otherwise, or modes that the file system does not keep.
    pub(super) async fn note_untouched(&self, git: &Git) -> Result<(), Fault> {
        let mut known = self.read_footprint()?;
        let held = self.compare_with_index(git).await?.held;
        if known.held != held {
            known.held = held;
            self.write_footprint(&known)?;
        }
        Ok(())
    }

    /// Adds such files after the files were moved, if any are known. What setup wrote into a tracked
    /// file stays known even if the file was put back: the next command may write it again.
    pub(super) async fn note_untouched_again(&self, git: &Git) -> Result<(), Fault> {
        let mut known = self.read_footprint()?;
        if known.held.is_empty() {
            return Ok(());
        }
        let was = known.held.clone();
        known.held.extend(self.compare_with_index(git).await?.held);
        if known.held == was { Ok(()) } else { self.write_footprint(&known) }
    }

    /// Returns every difference between the worktree and the index of `git`.
    pub(super) async fn compare_with_index(&self, git: &Git) -> Result<Footprint, Fault> {
        let mut differing = Footprint::default();
        for entry in git.status().await? {
            match entry {
                // A folder has no content of its own to compare.
                StatusEntry::Changed(changed) if changed.submodule.is_some() => {}
                StatusEntry::Changed(changed) if changed.unstaged.is_some() => {
                    let digest = digest_path(&self.directory.join(&changed.path));
                    differing.held.insert(changed.path, digest);
                }
                StatusEntry::Untracked { path, .. } => {
                    if classify_by_product(&self.directory, &path).is_none() {
                        differing.made.insert(path);
                    }
                }
                StatusEntry::Changed(_)
                | StatusEntry::Ignored { .. }
                | StatusEntry::Unmerged { .. } => {}
            }
        }
        Ok(differing)
    }

    /// Returns those of the new `paths` that tools made: those of a known kind, unless the base
    /// tracks files in the same folder or the task's scope or text names it.
    pub(super) async fn find_by_products(
        &self,
        paths: impl Iterator<Item = &Path>,
    ) -> Result<BTreeSet<PathBuf>, Fault> {
        let kinds =
            paths.filter_map(|path| Some((path, classify_by_product(&self.directory, path)?)));
        let kinds: Vec<(&Path, ByProduct)> = kinds.collect();
        let folders: BTreeSet<&Path> = kinds
            .iter()
            .filter_map(|(_, kind)| match kind {
                ByProduct::Below(folder) => Some(folder.as_path()),
                ByProduct::File => None,
            })
            .collect();
        let tracked = self.find_tracked_folders(&folders).await?;
        let named = self.read_named_paths()?;
        let is_named =
            |folder: &Path| named.contains(folder.file_name().unwrap_or_default().as_bytes());
        let is_work = |path: &Path, kind: &ByProduct| match kind {
            ByProduct::Below(folder) => tracked.contains(folder) || is_named(folder),
            ByProduct::File => is_named(path),
        };
        let made = kinds.iter().filter(|(path, kind)| !is_work(path, kind));
        Ok(made.map(|(path, _)| (*path).to_owned()).collect())
    }

    async fn find_tracked_folders(
        &self,
        folders: &BTreeSet<&Path>,
    ) -> Result<BTreeSet<PathBuf>, Fault> {
        if folders.is_empty() {
            return Ok(BTreeSet::new());
        }
        self.git.filter_folders(&self.resolve_base().await?, folders.iter().copied()).await
    }
}

/// Returns the files that a text names by a path or by a name with an extension, such as
/// `dist/index.html`.
fn find_named_files(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || "`'\"“”‘’()[]{}<>,;".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':', '!', '?']));
    words.map(|word| word.trim_start_matches("./")).filter(|word| {
        let name = word.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
        let is_relative = !word.contains("//") && !word.contains(':') && !word.starts_with('/');
        let is_ending = ending.chars().all(|c| c.is_ascii_alphanumeric())
            && ending.starts_with(|c: char| c.is_ascii_alphabetic());
        is_relative && is_ending
    })
}

/// The folders that a text names as such: "a folder build", "the build directory".
fn find_named_folders(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let words: Vec<&str> = text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let is_folder = |word: &str| matches!(word, "folder" | "directory");
    let is_article = |word: &str| matches!(word, "a" | "the" | "this" | "that" | "new");
    let near = words.windows(2).filter_map(|pair| match *pair {
        [word, name] if is_folder(word) => Some(name),
        [name, word] if is_folder(word) && !is_article(name) => Some(name),
        _ => None,
    });
    near.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::super::agent_files::GONE;
    use super::*;

    #[test]
    fn names_are_bytes_and_come_back_as_they_were() {
        let footprint = Footprint {
            made: [OsStr::from_bytes(b"caf\xe9 x\n").into(), "a b".into()].into(),
            left: [("set up".into(), GONE.to_owned())].into(),
            held: [("with blank".into(), GONE.to_owned())].into(),
        };
        assert_eq!(Footprint::decode(&footprint.encode()), footprint);
        assert_eq!(Footprint::decode(b"x\0=nothing\0"), Footprint::default());
    }

    #[test]
    fn a_text_names_files_by_paths_and_by_names_with_an_ending() {
        let named = |text| find_named_files(text).collect::<Vec<_>>();
        assert_eq!(named("write the page dist/index.html."), ["dist/index.html"]);
        assert_eq!(named("set `./settings.ini`, then (a.py): ok"), ["settings.ini", "a.py"]);
        assert!(
            named("make the build/test step green in 3.5 s, see https://a.org/b.html").is_empty()
        );
        assert!(named("add a farewell and/or /etc/passwd.txt").is_empty());
        let folders = |text| find_named_folders(text).collect::<Vec<_>>();
        assert_eq!(
            folders("put it into a folder `build`, not the dist directory"),
            ["build", "dist"]
        );
    }
}
