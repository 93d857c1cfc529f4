//! The tools that read, write and edit files, list folders and search text. Listings and searches
//! leave out files that git ignores.

use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder};
use regex::bytes::{Regex, RegexBuilder};
use unstuck_core::fault::Fault;

use super::output::{
    SHOWN_BYTES_MAX, ToolOutput, bad_input_fault, io_fault, mismatch_fault, shorten_text,
};
use super::wish::{EditFile, ListFiles, ReadFile, SearchText, WriteFile};
use crate::regular_file::read_regular;
use crate::scope::{PathAccess, PathScope, resolve_in_folder};

/// Maximum size in bytes of a file that is read.
const FILE_BYTES_MAX: u64 = 16 * 1_024 * 1_024;
/// Maximum size in bytes of a file that is written.
const WRITTEN_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Number of lines shown by default.
const LINES_SHOWN: usize = 2_000;
/// Number of bytes at the beginning of a file in which a zero byte marks it as binary.
const BINARY_LOOK_BYTES: usize = 8 * 1_024;

#[derive(Debug)]
pub(super) struct WorktreeFiles {
    pub(super) root: PathBuf,
    /// The folder that paths of the model are relative to.
    pub(super) folder: PathBuf,
    pub(super) scope: PathScope,
}

impl WorktreeFiles {
    /// Returns the path within the worktree if the scope lets the tool access it.
    fn admit_path(
        &self,
        tool: &str,
        path: &Path,
        access: PathAccess,
    ) -> Result<PathBuf, Box<Fault>> {
        // What leads out of the worktree is refused below.
        let resolved = resolve_in_folder(&self.folder, path);
        let path =
            resolved.as_deref().filter(|_| !self.folder.as_os_str().is_empty()).unwrap_or(path);
        if is_impossible_path(&self.root, path) {
            let name = path.display().to_string();
            return Err(mismatch_fault(
                tool,
                format!("{name} cannot be a path here"),
                &[&name, "path"],
            ));
        }
        self.scope.admit_path(&self.root, path, access).map_err(Box::new)
    }

    pub(super) fn read_file(&self, ask: &ReadFile) -> Result<ToolOutput, Box<Fault>> {
        const TOOL: &str = "read_file";
        let path = self.admit_path(TOOL, &ask.path, PathAccess::Read)?;
        let name = self.display_path(&path);
        let bytes = self.read_bytes(TOOL, &path)?;
        if is_binary(&bytes) {
            let size = bytes.len();
            return Ok(ToolOutput::with_success(format!(
                "{name} is no text ({size} bytes); it is not shown."
            )));
        }
        let text = String::from_utf8_lossy(&bytes);
        let all = text.lines().count();
        let first = ask.offset.unwrap_or(1).max(1);
        let limit = ask.limit.unwrap_or(LINES_SHOWN).max(1);
        if first > all && all > 0 {
            let message = format!("{name} has {all} lines; there is no line {first}");
            return Err(mismatch_fault(TOOL, message, &[&name, "lines"]));
        }
        let shown: Vec<&str> = text.lines().skip(first - 1).take(limit).collect();
        let last = first - 1 + shown.len();
        let body = shorten_text(&shown.join("\n"), SHOWN_BYTES_MAX);
        Ok(ToolOutput::with_success(match (first, last) {
            _ if all == 0 => format!("{name} is empty."),
            (1, last) if last == all => body,
            _ => format!("[{name}, lines {first} to {last} of {all}]\n{body}"),
        }))
    }

    pub(super) fn write_file(&self, ask: &WriteFile) -> Result<ToolOutput, Box<Fault>> {
        const TOOL: &str = "write_file";
        if ask.content.len() > WRITTEN_BYTES_MAX {
            return Err(bad_input_fault(TOOL, "that is too much for one file; write less of it"));
        }
        let path = self.admit_path(TOOL, &ask.path, PathAccess::Write)?;
        let name = self.display_path(&path);
        let file = self.root.join(&path);
        // Opening a pipe would block until it has a reader.
        if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
            return Err(mismatch_fault(TOOL, format!("{name} is no file"), &[&name, "file"]));
        }
        let folder = file.parent().unwrap_or(&self.root);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&file, &ask.content));
        written.map_err(|error| io_fault(TOOL, &name, &error))?;
        Ok(ToolOutput::with_success(format!("{name} is written: {} bytes.", ask.content.len())))
    }

    pub(super) fn edit_file(&self, ask: &EditFile) -> Result<ToolOutput, Box<Fault>> {
        const TOOL: &str = "edit_file";
        if ask.old.is_empty() || ask.old == ask.new {
            return Err(bad_input_fault(TOOL, "old has to be some text, and new another one"));
        }
        let path = self.admit_path(TOOL, &ask.path, PathAccess::Write)?;
        let name = self.display_path(&path);
        let bytes = self.read_bytes(TOOL, &path)?;
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(mismatch_fault(TOOL, format!("{name} is no text"), &[&name, "text"]));
        };
        let found = text.matches(&ask.old).count();
        match (found, ask.all) {
            (0, _) => {
                let message = format!("{name} does not hold this text; read it again");
                return Err(mismatch_fault(TOOL, message, &[&name, &ask.old]));
            }
            (2.., false) => {
                let message = format!(
                    "{name} holds this text {found} times; give more of what is around it, or set all"
                );
                return Err(mismatch_fault(TOOL, message, &[&name, &ask.old]));
            }
            _ => {}
        }
        let changed = text.replace(&ask.old, &ask.new);
        fs::write(self.root.join(&path), changed).map_err(|e| io_fault(TOOL, &name, &e))?;
        let places = if found == 1 { "one place".to_owned() } else { format!("{found} places") };
        Ok(ToolOutput::with_success(format!("{name} is changed in {places}.")))
    }

    /// Reads a file. Pipes and devices are refused.
    fn read_bytes(&self, tool: &str, path: &Path) -> Result<Vec<u8>, Box<Fault>> {
        let name = self.display_path(path);
        let fail = |error: std::io::Error| io_fault(tool, &name, &error);
        let file = self.root.join(path);
        let found = fs::metadata(&file).map_err(fail)?;
        if !found.is_file() {
            let what = if found.is_dir() { "a folder; list shows it" } else { "no file" };
            return Err(mismatch_fault(tool, format!("{name} is {what}"), &[&name, "file"]));
        }
        let mut bytes = Vec::new();
        let file = fs::File::open(file).map_err(fail)?;
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(fail)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            let message = format!("{name} has more than {FILE_BYTES_MAX} bytes; use a command");
            return Err(mismatch_fault(tool, message, &[&name, "size"]));
        }
        Ok(bytes)
    }
}

/// Returns whether a path within the worktree cannot exist at all: it lies below a file, or has an
/// invalid name. This is a mistake and no question of permission.
fn is_impossible_path(root: &Path, path: &Path) -> bool {
    use std::io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory};
    let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    let found = fs::symlink_metadata(root.join(path));
    inside
        && found.is_err_and(|e| matches!(e.kind(), InvalidFilename | InvalidInput | NotADirectory))
}

fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(BINARY_LOOK_BYTES)]).is_some()
}

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
            names.push(format!("{}{mark}", self.display_path(path)));
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
                find_matches(entry.path(), &self.display_path(path), &pattern, &mut hits);
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

    /// Returns a path of the worktree as the model names it, relative to the folder of the project.
    fn display_path(&self, path: &Path) -> String {
        match path.strip_prefix(&self.folder) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => {
                let above: PathBuf = self.folder.iter().map(|_| "..").collect();
                above.join(path).display().to_string()
            }
        }
    }

    /// Returns the path to look at, within the worktree; empty for the whole worktree.
    fn resolve_path(&self, tool: &str, path: Option<&Path>) -> Result<PathBuf, Box<Fault>> {
        let path = path.filter(|path| *path != Path::new(".") && !path.as_os_str().is_empty());
        let Some(path) = path else { return Ok(self.folder.clone()) };
        if path == self.root {
            return Ok(PathBuf::new());
        }
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
fn find_matches(file: &Path, name: &str, pattern: &Regex, hits: &mut Vec<String>) {
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
            hits.push(format!("{name}:{number}: {}", String::from_utf8_lossy(shown)));
        }
    }
}
