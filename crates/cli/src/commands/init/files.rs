//! Writes the files of `init`. An existing file is left alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::CliError;
use crate::settings::FILE;

/// The folders that may hold tasks.
const TASK_FOLDERS: [&str; 2] = ["tasks", ".ai/tasks"];
const EXAMPLE: &str = "tasks/000-example.md";
const EXAMPLE_TEXT: &str = include_str!("example.md");
const IGNORE: &str = ".gitignore";
/// The line for `.gitignore`.
const IGNORED: &str = ".unstuck/";
const KEPT_MAX: u32 = 1_000;

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct InitFile {
    /// The path from the root of the project.
    pub(super) path: &'static str,
    pub(super) did: InitFileChange,
    /// The reason why it was left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<&'static str>,
    /// The name of the backup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kept: Option<String>,
    /// Lines that were added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) added: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InitFileChange {
    Written,
    Rewritten,
    /// A line was added.
    Extended,
    LeftAlone,
}

impl InitFile {
    const fn new(path: &'static str, did: InitFileChange) -> Self {
        Self { path, did, why: None, kept: None, added: Vec::new() }
    }

    fn left_alone(path: &'static str, why: &'static str) -> Self {
        Self { why: Some(why), ..Self::new(path, InitFileChange::LeftAlone) }
    }
}

/// Writes the settings; with `anew`, replaces existing ones after a backup.
pub(super) fn write_settings(root: &Path, text: &str, anew: bool) -> Result<InitFile, CliError> {
    let path = root.join(FILE);
    match write_new(&path, text.as_bytes()) {
        Ok(()) => Ok(InitFile::new(FILE, InitFileChange::Written)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let old = fs::read(&path).map_err(CliError::unusable(&path))?;
            if !anew {
                return Ok(InitFile::left_alone(
                    FILE,
                    "it is there already; --force writes it anew",
                ));
            }
            if old == text.as_bytes() {
                return Ok(InitFile::left_alone(FILE, "it is as it would be written"));
            }
            let kept = write_backup(&path, &old)?;
            replace_file(&path, text.as_bytes()).map_err(CliError::unusable(&path))?;
            Ok(InitFile { kept: Some(kept), ..InitFile::new(FILE, InitFileChange::Rewritten) })
        }
        Err(source) => Err(CliError::unusable(&path)(source)),
    }
}

/// Writes the example task, unless there are tasks already, with which it would be run.
pub(super) fn write_example(root: &Path) -> Result<InitFile, CliError> {
    let path = root.join(EXAMPLE);
    if path.exists() {
        return Ok(InitFile::left_alone(EXAMPLE, "it is there already"));
    }
    if TASK_FOLDERS.iter().any(|folder| has_tasks(&root.join(folder))) {
        return Ok(InitFile::left_alone(EXAMPLE, "there are tasks already"));
    }
    let folder = path.parent().unwrap_or(root);
    fs::create_dir_all(folder).map_err(CliError::unusable(folder))?;
    write_new(&path, EXAMPLE_TEXT.as_bytes()).map_err(CliError::unusable(&path))?;
    Ok(InitFile::new(EXAMPLE, InitFileChange::Written))
}

/// Adds Unstuck's folder and the by-products of tools to `.gitignore`.
pub(super) fn write_gitignore(root: &Path, by_products: &[&str]) -> Result<InitFile, CliError> {
    let path = root.join(IGNORE);
    let there = match fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(CliError::unusable(&path)(source)),
    };
    let known = there.as_deref().unwrap_or_default();
    let text = String::from_utf8_lossy(known);
    let stands = |line: &str| text.lines().any(|known| known.trim() == line);
    let ours = (!ignores_unstuck(known)).then_some(IGNORED);
    let lines = ours.into_iter().chain(by_products.iter().copied().filter(|line| !stands(line)));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    if lines.is_empty() {
        return Ok(InitFile::left_alone(IGNORE, "it has the lines already"));
    }
    let gap = if known.is_empty() || known.ends_with(b"\n") { "" } else { "\n" };
    let added = OpenOptions::new().append(true).create(true).open(&path);
    let bytes = format!("{gap}{}\n", lines.join("\n"));
    let added = added.and_then(|mut file| file.write_all(bytes.as_bytes()));
    added.map_err(CliError::unusable(&path))?;
    let did = if there.is_some() { InitFileChange::Extended } else { InitFileChange::Written };
    Ok(InitFile { added: lines, ..InitFile::new(IGNORE, did) })
}

fn ignores_unstuck(text: &[u8]) -> bool {
    let ours = |line: &str| {
        let line = line.trim().trim_start_matches('/');
        matches!(line, ".unstuck" | ".unstuck/" | ".unstuck/*" | ".unstuck/**")
    };
    String::from_utf8_lossy(text).lines().any(ours)
}

fn has_tasks(folder: &Path) -> bool {
    let is_task = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.path().extension().is_some_and(|ending| ending == "md"))
    };
    fs::read_dir(folder).into_iter().flatten().any(is_task)
}

/// Writes a backup beside the file, under a name that is not taken yet.
fn write_backup(path: &Path, old: &[u8]) -> Result<String, CliError> {
    let names = (0..KEPT_MAX).map(|n| match n {
        0 => format!("{FILE}.bak"),
        n => format!("{FILE}.bak.{n}"),
    });
    for name in names {
        let to = path.with_file_name(&name);
        match write_new(&to, old) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(CliError::unusable(&to)(source)),
        }
    }
    Err(CliError::unusable(path)(io::Error::other("there are too many old ones beside it")))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Replaces a file atomically: there is never a partial one.
fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside: PathBuf = path.with_file_name(format!("{FILE}.new"));
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_line_is_known_in_every_form_it_may_have() {
        for known in [".unstuck/", "/.unstuck/\r\n", "a\n  .unstuck\nb", "/.unstuck/**"] {
            assert!(ignores_unstuck(known.as_bytes()), "{known:?}");
        }
        for other in ["", "#.unstuck/", "!.unstuck/", ".unstuck/runs", "a/.unstuck/"] {
            assert!(!ignores_unstuck(other.as_bytes()), "{other:?}");
        }
    }
}
