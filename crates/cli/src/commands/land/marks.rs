//! Uncommitted check marks in the operator's files, such as those that a run puts into a plan. They do not
//! stop a landing: git leaves them where the landing does not change the file, and elsewhere they are put
//! into the new text.

use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::plan::file::{carry_marks, differ_only_in_marks};
use unstuck_world::git::raw::TreeDifference;
use unstuck_world::git::status::ChangedEntry;
use unstuck_world::git::{DifferenceKind, GitFileMode, Oid};

use super::plan::LandingSource;
use crate::error::{CliError, LandError};
use crate::project;

/// A file whose uncommitted change consists of check marks.
pub(super) struct MarkedFile {
    pub(super) path: PathBuf,
    committed: String,
    marked: String,
    is_staged: bool,
}

/// A marked file that the landing changes too.
pub(super) struct CarriedFile {
    path: PathBuf,
    /// The operator's text.
    before: String,
    /// The text of the landing with the operator's marks.
    after: String,
}

/// Returns the changed file if its change consists of check marks.
pub(super) async fn read_marked_file(
    source: &LandingSource,
    entry: &ChangedEntry,
) -> Result<Option<MarkedFile>, CliError> {
    let is_plain = matches!(entry.head, GitFileMode::File | GitFileMode::Executable);
    let is_staged = entry.staged.is_some();
    let is_one_change = !is_staged || entry.unstaged.is_none();
    let path = entry.path.clone();
    if !is_plain || !is_one_change || entry.from.is_some() || entry.head != entry.worktree {
        return Ok(None);
    }
    let committed = read_text_at(source, &source.head, &path).await?;
    let marked = fs::read_to_string(source.root.join(&path)).ok();
    let (Some(committed), Some(marked)) = (committed, marked) else { return Ok(None) };
    let is_marked = differ_only_in_marks(&committed, &marked);
    Ok(is_marked.then_some(MarkedFile { path, committed, marked, is_staged }))
}

/// Returns the marked files that a commit or tree changes, with their new texts.
pub(super) async fn carry_files(
    source: &LandingSource,
    files: &[MarkedFile],
    next: &Oid,
) -> Result<Vec<CarriedFile>, CliError> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let differences = source.git.diff_trees(&source.head, next).await?;
    let mut carried = Vec::new();
    let mut stuck = Vec::new();
    for file in files {
        let Some(difference) = differences.iter().find(|of| touches_path(of, &file.path)) else {
            continue;
        };
        match carry_file(source, file, difference, next).await? {
            Some(file) => carried.push(file),
            None => stuck.push(file.path.clone()),
        }
    }
    if stuck.is_empty() { Ok(carried) } else { Err(LandError::MarksStuck { files: stuck }.into()) }
}

fn touches_path(difference: &TreeDifference, path: &Path) -> bool {
    let is_moved = difference.what == DifferenceKind::Renamed;
    difference.path == path || is_moved && difference.from.as_deref() == Some(path)
}

/// Returns `None` if the marks have no certain place in the new text.
async fn carry_file(
    source: &LandingSource,
    file: &MarkedFile,
    difference: &TreeDifference,
    next: &Oid,
) -> Result<Option<CarriedFile>, CliError> {
    let is_edited = difference.what == DifferenceKind::Modified && difference.old == difference.new;
    if !is_edited || file.is_staged {
        return Ok(None);
    }
    let Some(text) = read_text_at(source, next, &file.path).await? else { return Ok(None) };
    let carried = carry_marks(&file.committed, &file.marked, &text);
    Ok(carried.map(|after| CarriedFile {
        path: file.path.clone(),
        before: file.marked.clone(),
        after,
    }))
}

async fn read_text_at(
    source: &LandingSource,
    at: &Oid,
    path: &Path,
) -> Result<Option<String>, CliError> {
    let bytes = source.git.read_file_at(at, path).await?;
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// Moves the operator's branch, index and files forward. If that fails, the carried files are as before.
pub(super) async fn move_forward(
    source: &LandingSource,
    next: &Oid,
    carried: &[CarriedFile],
) -> Result<(), CliError> {
    if carried.is_empty() {
        return Ok(source.git.fast_forward_to(next).await?);
    }
    let moved = move_with_files(source, next, carried).await;
    if moved.is_err() {
        for file in carried {
            write_text(source, &file.path, &file.before)?;
        }
        source.git.reset_index_paths(&source.head, list_paths(carried)).await?;
    }
    moved
}

/// Git leaves a file alone whose entry in the index is the one that it would write.
async fn move_with_files(
    source: &LandingSource,
    next: &Oid,
    carried: &[CarriedFile],
) -> Result<(), CliError> {
    for file in carried {
        write_text(source, &file.path, &file.after)?;
    }
    source.git.reset_index_paths(next, list_paths(carried)).await?;
    Ok(source.git.fast_forward_to(next).await?)
}

fn list_paths(carried: &[CarriedFile]) -> impl Iterator<Item = &Path> {
    carried.iter().map(|file| file.path.as_path())
}

fn write_text(source: &LandingSource, path: &Path, text: &str) -> Result<(), CliError> {
    let place = source.root.join(path);
    project::replace_file(&place, text).map_err(CliError::unusable(&place))
}
