//! Shims: small scripts that stand before the usual programs in the search path, refuse what cannot
//! be taken back, and hand everything else to the real program.
//!
//! They see what the line itself does not show: a push inside a script or a makefile. Each refusal
//! leaves a line in a file, so that whoever runs commands can count them.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::destructive;
use super::mutators::{MUTATORS, never, sentence};
use super::policy::{Commands, Refusal};
use super::rule::with_value;

/// At this many refusals in one run a person is asked.
pub const REFUSALS_MAX: usize = 3;
/// The status of a refused command: the one for missing permission.
const STATUS: i32 = 77;

/// The shims of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shims {
    folder: PathBuf,
    log: PathBuf,
    programs: Vec<String>,
}

impl Shims {
    /// The file in its folder that counts refusals.
    pub const LOG: &str = "refused";

    /// No shims yet, in `folder`/bin. The count of refusals in `folder` goes on where it was.
    pub fn within(folder: &Path) -> io::Result<Self> {
        let (bin, log) = (folder.join("bin"), folder.join(Self::LOG));
        fs::create_dir_all(&bin)?;
        append(&log)?;
        Ok(Self { folder: bin, log, programs: Vec::new() })
    }

    /// And one for every program on the search path `path` that does what cannot be taken back, and
    /// that is not `permitted`.
    pub fn refusing_mutators(
        mut self,
        path: &OsStr,
        permitted: impl Fn(&str) -> bool,
    ) -> io::Result<Self> {
        for (program, all) in MUTATORS {
            let Some(real) = find(program, path, &self.folder) else { continue };
            let refused = all.iter().filter(|does| !permitted(&format!("{program} {does}")));
            let refused: Vec<&str> = refused.copied().collect();
            if !refused.is_empty() {
                self.write(program, &script(program, &refused, &real, &self.log))?;
            }
        }
        Ok(self)
    }

    /// And one for every program on the search path `path` that never runs, as `list` has it.
    pub fn refusing_never(mut self, path: &OsStr, list: &Commands) -> io::Result<Self> {
        let mut never: Vec<String> = destructive::programs()
            .flat_map(|name| match name.strip_suffix('*') {
                Some(start) => beginning_with(start, path),
                None => {
                    find(name, path, &self.folder).map(|_| name.to_owned()).into_iter().collect()
                }
            })
            .filter(|name| list.holds_never(name))
            .collect();
        never.sort_unstable();
        never.dedup();
        for program in never {
            self.write(&program, &refusal(&program, &self.log))?;
        }
        Ok(self)
    }

    fn write(&mut self, program: &str, script: &str) -> io::Result<()> {
        let shim = self.folder.join(program);
        fs::write(&shim, script)?;
        fs::set_permissions(&shim, fs::Permissions::from_mode(0o755))?;
        self.programs.push(program.to_owned());
        Ok(())
    }

    /// The folder to put first in the search path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The programs that are behind a shim.
    pub fn programs(&self) -> &[String] {
        &self.programs
    }

    /// The file that every shim writes to.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How often something was refused so far. A file that cannot be read counts nothing.
    pub fn refused(&self) -> usize {
        fs::read_to_string(&self.log).map_or(0, |log| log.lines().count())
    }

    /// Notes a refusal that was made before anything ran.
    pub fn note(&self, refusal: &Refusal) -> io::Result<()> {
        writeln!(append(&self.log)?, "{}", refusal.what)
    }
}

fn append(log: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().create(true).append(true).open(log)
}

/// The real program, looked up as a shell would.
fn find(program: &str, path: &OsStr, bin: &Path) -> Option<PathBuf> {
    let executable = |file: &PathBuf| {
        fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path)
        .filter(|folder| folder != bin && folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(executable)
}

/// The programs on the search path whose names begin so.
fn beginning_with(start: &str, path: &OsStr) -> Vec<String> {
    let folders = std::env::split_paths(path).filter_map(|folder| fs::read_dir(folder).ok());
    let names =
        folders.flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(start)).collect()
}

/// A program that never runs.
fn refusal(program: &str, log: &Path) -> String {
    let (said, log) = (quoted(&never(program)), quoted(&log.display().to_string()));
    format!(
        r"#!/bin/sh
# Made by Unstuck: this never runs.
{{ printf '%s\n' '{program}' >> {log}; }} 2>/dev/null
printf '%s\n' {said} >&2
exit {STATUS}
"
    )
}

/// The words without options and their values, against the list; then the real program.
fn script(program: &str, refused: &[&str], real: &Path, log: &Path) -> String {
    let mut options = String::new();
    if let values @ [_, ..] = with_value(program) {
        let _ = writeln!(options, "    {}) skip=1 ;;", values.join("|"));
    }
    let mut refusals = String::new();
    for does in refused {
        let what = format!("{program} {does}");
        let said = quoted(&sentence(&what));
        let _ = writeln!(refusals, "  '{does} '*) refuse '{what}' {said} ;;");
    }
    let (real, log) = (quoted(&real.display().to_string()), quoted(&log.display().to_string()));
    format!(
        r#"#!/bin/sh
# Made by Unstuck: refuses what cannot be taken back, and passes everything else on.
refuse() {{
  {{ printf '%s\n' "$1" >> {log}; }} 2>/dev/null
  printf '%s\n' "$2" >&2
  exit {STATUS}
}}
words= skip=
for word in "$@"; do
  if [ -n "$skip" ]; then skip=; continue; fi
  case "$word" in
{options}    -*|+*) ;;
    *) words="$words$word " ;;
  esac
done
case "$words" in
{refusals}esac
exec {real} "$@"
"#
    )
}

/// A word for the shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
