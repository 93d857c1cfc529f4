//! The tools that list files and search text. Files that git ignores are left out.

use std::fs;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder};
use regex::bytes::{Regex, RegexBuilder};
use unstuck_core::fault::Fault;

use super::fail::{bad_input_fault, mismatch_fault};
use super::files::{FILE_BYTES_MAX, WorktreeFiles, is_binary};
use super::shorten::{SHOWN_BYTES_MAX, shorten_text};
use super::toolbox::ToolOutput;
use super::wish::{ListFiles, SearchText};
use crate::regular_file::read_regular;
use crate::scope::PathAccess;

/// Depth of a listing by default.
const DEPTH_SHOWN: usize = 2;
/// Maximum number of names in a listing.
const NAMES_MAX: usize = 500;
/// Maximum number of matching lines in a search.
const HITS_MAX: usize = 200;
/// Maximum number of files in a search.
const FILES_MAX: usize = 50_000;
/// Maximum number of bytes shown of a line.
const LINE_BYTES_MAX: usize = 300;
/// Maximum size of a compiled pattern in bytes.
const PATTERN_BYTES_MAX: usize = 1_024 * 1_024;
/// Folders that no tool looks into.
const PRIVATE: [&str; 2] = [".git", ".unstuck"];

impl WorktreeFiles {
    pub(super) fn list_files(&self, ask: &ListFiles) -> Result<ToolOutput, Box<Fault>> {
        let folder = self.resolve_path("list", ask.path.as_deref())?;
        let depth = folder.components().count() + ask.depth.unwrap_or(DEPTH_SHOWN).max(1);
        let mut names = Vec::new();
        for entry in self.walk_entries(&folder, Some(depth)) {
            let Some(path) = self.path_below(&entry, &folder) else { continue };
            if names.len() == NAMES_MAX {
                names.push(format!("[… more than {NAMES_MAX}; look at one folder at a time …]"));
                break;
            }
            let mark = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
            names.push(format!("{}{mark}", path.display()));
        }
        if names.is_empty() {
            return Ok(ToolOutput::with_success("nothing is there, or git ignores it.".to_owned()));
        }
        Ok(ToolOutput::with_success(shorten_text(&names.join("\n"), SHOWN_BYTES_MAX)))
    }

    pub(super) fn search_text(&self, ask: &SearchText) -> Result<ToolOutput, Box<Fault>> {
        const TOOL: &str = "search";
        let pattern = RegexBuilder::new(&ask.pattern).size_limit(PATTERN_BYTES_MAX).build();
        let pattern = pattern.map_err(|error| bad_input_fault(TOOL, &error.to_string()))?;
        let wanted = ask.files.as_deref().map(|glob| build_glob(&self.root, glob)).transpose()?;
        let place = self.resolve_path(TOOL, ask.path.as_deref())?;
        let mut hits = Vec::new();
        let files = self.walk_entries(&place, None).filter(|entry| {
            entry.file_type().is_some_and(|kind| kind.is_file())
                && wanted.as_ref().is_none_or(|glob| glob.matched(entry.path(), false).is_ignore())
        });
        for entry in files.take(FILES_MAX) {
            let Ok(path) = entry.path().strip_prefix(&self.root) else { continue };
            if path.starts_with(&place) || place.as_os_str().is_empty() {
                find_matches(entry.path(), path, &pattern, &mut hits);
            }
            if hits.len() > HITS_MAX {
                hits.truncate(HITS_MAX);
                hits.push(format!("[… more than {HITS_MAX}; ask for less …]"));
                break;
            }
        }
        if hits.is_empty() {
            let text = "nothing found.".to_owned();
            return Ok(ToolOutput::with_failure(text));
        }
        Ok(ToolOutput::with_success(shorten_text(&hits.join("\n"), SHOWN_BYTES_MAX)))
    }

    /// Returns the path to look at, within the worktree; empty for the whole worktree.
    fn resolve_path(&self, tool: &str, path: Option<&Path>) -> Result<PathBuf, Box<Fault>> {
        let path = path.filter(|path| *path != Path::new(".") && !path.as_os_str().is_empty());
        let Some(path) = path.filter(|path| *path != self.root) else { return Ok(PathBuf::new()) };
        let place = self.admit_path(tool, path, PathAccess::Read)?;
        if fs::symlink_metadata(self.root.join(&place)).is_err() {
            let name = place.display().to_string();
            return Err(mismatch_fault(tool, format!("{name} does not exist"), &[&name, "exists"]));
        }
        Ok(place)
    }

    /// Returns the entries on the way to `place` and below it, sorted by path. The walk starts at
    /// the root so that the ignore rules there apply.
    fn walk_entries(&self, place: &Path, depth: Option<usize>) -> impl Iterator<Item = DirEntry> {
        let place = self.root.join(place);
        let mut walk = WalkBuilder::new(&self.root);
        walk.hidden(false).parents(false).git_global(false).require_git(false).max_depth(depth);
        walk.sort_by_file_path(Path::cmp);
        walk.filter_entry(move |entry| {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy();
            let private = PRIVATE.iter().any(|private| name.eq_ignore_ascii_case(private));
            !private && (path.starts_with(&place) || place.starts_with(path))
        });
        walk.build().flatten()
    }

    /// Returns the path of an entry within the worktree if it lies below `folder`.
    fn path_below<'e>(&self, entry: &'e DirEntry, folder: &Path) -> Option<&'e Path> {
        let path = entry.path().strip_prefix(&self.root).ok()?;
        (path.starts_with(folder) && path != folder && !path.as_os_str().is_empty()).then_some(path)
    }
}

fn build_glob(root: &Path, glob: &str) -> Result<Gitignore, Box<Fault>> {
    let mut builder = GitignoreBuilder::new(root);
    let read = builder.add_line(None, glob).and_then(|builder| builder.build());
    read.map_err(|error| bad_input_fault("search", &error.to_string()))
}

/// Adds the matching lines of a file to `hits`. Unreadable and binary files are skipped.
fn find_matches(file: &Path, path: &Path, pattern: &Regex, hits: &mut Vec<String>) {
    if fs::metadata(file).is_ok_and(|found| found.len() > FILE_BYTES_MAX) {
        return;
    }
    let Ok(bytes) = read_regular(file, FILE_BYTES_MAX) else { return };
    if is_binary(&bytes) {
        return;
    }
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if hits.len() > HITS_MAX {
            return;
        }
        if pattern.is_match(line) {
            let shown = &line[..line.len().min(LINE_BYTES_MAX)];
            hits.push(format!("{}:{number}: {}", path.display(), String::from_utf8_lossy(shown)));
        }
    }
}
