//! Splits git's output into records and lines, and those into paths and refs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::object::Oid;

/// Splits bytes into zero-terminated records.
pub(super) fn split_records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let count = if bytes.is_empty() { 0 } else { usize::MAX };
    whole.split(|byte| *byte == 0).take(count)
}

/// Returns the records between zero bytes that are not empty.
pub(super) fn nonempty_records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}

pub(super) fn nonempty_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

pub(super) fn parse_path(name: &[u8]) -> Option<PathBuf> {
    (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(name)))
}

/// Returns the paths of a list in which a zero byte ends each of them.
pub(crate) fn split_paths(bytes: &[u8]) -> impl Iterator<Item = PathBuf> {
    nonempty_records(bytes).map(|path| PathBuf::from(OsStr::from_bytes(path)))
}

/// Encodes paths as such a list.
pub(crate) fn join_paths<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path.as_os_str().as_bytes());
        list.push(0);
    }
    list
}

/// Parses the hash and the name of a ref, which `between` separates.
pub(crate) fn parse_ref(line: &[u8], between: u8) -> Option<(String, Oid)> {
    let at = line.iter().position(|byte| *byte == between)?;
    let name = std::str::from_utf8(&line[at + 1..]).ok()?;
    Some((name.to_owned(), Oid::parse(&line[..at])?))
}
