//! Shims: small scripts that precede the usual programs in the search path, refuse irreversible
//! actions, and hand everything else to the real program.
//!
//! They catch what the command line itself does not show: a push inside a script or a makefile.
//! Each refusal appends a line to a file, so that the caller can count them.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::policy::{CommandPolicy, CommandRefusal};
use super::rule::{
    MUTATORS, list_blocked_programs, options_with_value, render_never_runs, render_refusal,
};
use crate::regular_file::is_executable;

/// Number of refusals in one run at which the operator is asked.
pub const REFUSALS_MAX: usize = 3;
/// Exit code of a refused command: the one for missing permission (`EX_NOPERM`).
const STATUS: i32 = 77;

/// The shims of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandShims {
    folder: PathBuf,
    log: PathBuf,
    programs: Vec<String>,
}

impl CommandShims {
    /// Name of the file that records refusals.
    pub const LOG: &str = "refused";

    /// Makes an empty set of shims in `folder`/bin. Existing refusals in `folder` still count.
    pub fn open_in(folder: &Path) -> io::Result<Self> {
        let bin = folder.join("bin");
        let log = folder.join(Self::LOG);
        fs::create_dir_all(&bin)?;
        open_log(&log)?;
        Ok(Self { folder: bin, log, programs: Vec::new() })
    }

    /// Adds a shim for every program on the search path `path` that has irreversible actions,
    /// except those that are `permitted`.
    pub fn refusing_mutators(
        mut self,
        path: &OsStr,
        permitted: impl Fn(&str) -> bool,
    ) -> io::Result<Self> {
        for (program, all) in MUTATORS {
            let Some(real) = find_program(program, path, &self.folder) else { continue };
            let refused = all.iter().filter(|does| !permitted(&format!("{program} {does}")));
            let refused: Vec<&str> = refused.copied().collect();
            if !refused.is_empty() {
                self.write_shim(
                    program,
                    &render_mutator_shim(program, &refused, &real, &self.log),
                )?;
            }
        }
        Ok(self)
    }

    /// Adds a shim for every program on the search path `path` that never runs according to `list`.
    pub fn refusing_never(mut self, path: &OsStr, list: &CommandPolicy) -> io::Result<Self> {
        let mut never: Vec<String> = list_blocked_programs()
            .flat_map(|name| match name.strip_suffix('*') {
                Some(start) => list_programs_starting_with(start, path),
                None => find_program(name, path, &self.folder)
                    .map(|_| name.to_owned())
                    .into_iter()
                    .collect(),
            })
            .filter(|name| list.is_never_allowed(name))
            .collect();
        never.sort_unstable();
        never.dedup();
        for program in never {
            self.write_shim(&program, &render_never_shim(&program, &self.log))?;
        }
        Ok(self)
    }

    fn write_shim(&mut self, program: &str, script: &str) -> io::Result<()> {
        let shim = self.folder.join(program);
        fs::write(&shim, script)?;
        fs::set_permissions(&shim, fs::Permissions::from_mode(0o755))?;
        self.programs.push(program.to_owned());
        Ok(())
    }

    /// Returns the folder to put first in the search path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the programs that have a shim.
    pub fn programs(&self) -> &[String] {
        &self.programs
    }

    /// Returns the file that every shim appends to.
    pub fn log_file(&self) -> &Path {
        &self.log
    }

    /// Returns the number of refusals so far; 0 if the file cannot be read.
    pub fn count_refused(&self) -> usize {
        fs::read_to_string(&self.log).map_or(0, |log| log.lines().count())
    }

    /// Records a refusal that was made before any program ran.
    pub fn note_refusal(&self, refusal: &CommandRefusal) -> io::Result<()> {
        writeln!(open_log(&self.log)?, "{}", refusal.what)
    }
}

fn open_log(log: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().create(true).append(true).open(log)
}

/// Returns the path of the real program, looked up as a shell would.
fn find_program(program: &str, path: &OsStr, bin: &Path) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder != bin && folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| is_executable(file))
}

fn list_programs_starting_with(start: &str, path: &OsStr) -> Vec<String> {
    let folders = std::env::split_paths(path).filter_map(|folder| fs::read_dir(folder).ok());
    let names =
        folders.flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(start)).collect()
}

fn render_never_shim(program: &str, log: &Path) -> String {
    let said = quote_word(&render_never_runs(program));
    let log = quote_word(&log.display().to_string());
    format!(
        r"#!/bin/sh
# Made by Unstuck: this never runs.
{{ printf '%s\n' '{program}' >> {log}; }} 2>/dev/null
printf '%s\n' {said} >&2
exit {STATUS}
"
    )
}

/// Returns a script that compares the words, without options and their values, with the refused
/// ones, and otherwise runs the real program.
fn render_mutator_shim(program: &str, refused: &[&str], real: &Path, log: &Path) -> String {
    let mut options = String::new();
    if let values @ [_, ..] = options_with_value(program) {
        let _ = writeln!(options, "    {}) skip=1 ;;", values.join("|"));
    }
    let mut refusals = String::new();
    for does in refused {
        let what = format!("{program} {does}");
        let said = quote_word(&render_refusal(&what));
        let _ = writeln!(refusals, "  '{does} '*) refuse '{what}' {said} ;;");
    }
    let real = quote_word(&real.display().to_string());
    let log = quote_word(&log.display().to_string());
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

fn quote_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
