//! The tools that read and change single files.

use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use unstuck_core::fault::Fault;

use super::fail::{bad_input_fault, io_fault, mismatch_fault};
use super::shorten::{SHOWN_BYTES_MAX, shorten_text};
use super::toolbox::ToolOutput;
use super::wish::{EditFile, ReadFile, WriteFile};
use crate::scope::{PathAccess, PathScope};

/// Maximum size in bytes of a file that is read.
pub(super) const FILE_BYTES_MAX: u64 = 16 * 1_024 * 1_024;
/// Maximum size in bytes of a file that is written.
const WRITTEN_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Number of lines shown by default.
const LINES_SHOWN: usize = 2_000;
/// Number of bytes at the beginning of a file in which a zero byte marks it as binary.
const BINARY_LOOK_BYTES: usize = 8 * 1_024;

/// The files of one worktree, within its scope.
#[derive(Debug)]
pub(super) struct WorktreeFiles {
    pub(super) root: PathBuf,
    pub(super) scope: PathScope,
}

impl WorktreeFiles {
    /// Returns the path within the worktree if the scope lets the tool access it.
    pub(super) fn admit_path(
        &self,
        tool: &str,
        path: &Path,
        access: PathAccess,
    ) -> Result<PathBuf, Box<Fault>> {
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
        let name = path.display().to_string();
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
        let name = path.display().to_string();
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
        let name = path.display().to_string();
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
        let name = path.display().to_string();
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

pub(super) fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(BINARY_LOOK_BYTES)]).is_some()
}
