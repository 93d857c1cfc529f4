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
    BLOCKED_BY_ARGUMENTS, BlockedArguments, HARMLESS_DEVICES, MUTATORS, list_blocked_programs,
    options_with_value, render_never_runs, render_refusal,
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

    /// Adds a shim for every program on the search path `path` that never runs according to `list`,
    /// with any arguments or with some. `home` is the agent's home folder.
    pub fn refusing_never(
        mut self,
        path: &OsStr,
        home: Option<&OsStr>,
        list: &CommandPolicy,
    ) -> io::Result<Self> {
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
        for (program, blocked) in BLOCKED_BY_ARGUMENTS {
            let Some(real) = find_program(program, path, &self.folder) else { continue };
            if !list.is_exempted(program) {
                let script = render_argument_shim(program, *blocked, &real, home, &self.log);
                self.write_shim(program, &script)?;
            }
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

/// Returns a script that refuses the blocked arguments, and otherwise runs the real program. The
/// shell has expanded `~` and variables already.
fn render_argument_shim(
    program: &str,
    blocked: BlockedArguments,
    real: &Path,
    home: Option<&OsStr>,
    log: &Path,
) -> String {
    let judged = match blocked {
        BlockedArguments::RecursiveOnVitalPath => render_vital_paths(home),
        BlockedArguments::DeviceAsOutput => {
            let harmless: Vec<String> =
                HARMLESS_DEVICES.iter().map(|name| format!("of=/dev/{name}*")).collect();
            format!("    {}) ;;\n    of=/dev/?*) never=1 ;;", harmless.join("|"))
        }
        BlockedArguments::EndOfSystem => "    poweroff|reboot|halt) never=1 ;;".to_owned(),
    };
    let real = quote_word(&real.display().to_string());
    let log = quote_word(&log.display().to_string());
    let said = quote_word(&render_never_runs("%s"));
    format!(
        r#"#!/bin/sh
# Made by Unstuck: refuses what never runs, and passes everything else on.
recursive= vital= never=
for word in "$@"; do
  case "$word" in
{judged}
  esac
done
if [ -n "$never" ] || {{ [ -n "$recursive" ] && [ -n "$vital" ]; }}; then
  {{ printf '%s\n' "{program} $*" >> {log}; }} 2>/dev/null
  printf {said}'\n' "{program} $*" >&2
  exit {STATUS}
fi
exec {real} "$@"
"#
    )
}

/// Returns the cases for a recursive option, and for the root, a folder right below it, the home
/// folder, and folders above the working directory.
fn render_vital_paths(home: Option<&OsStr>) -> String {
    let home = home.map(|home| home.to_string_lossy().trim_end_matches('/').to_owned());
    let home = home.filter(|home| !home.is_empty()).map(|home| quote_word(&home));
    let home = home.map_or_else(String::new, |home| format!("{home}|{home}/|"));
    format!(
        "    --recursive) recursive=1 ;;\n    --*) ;;\n    -*[rR]*) recursive=1 ;;\n    \
         {home}/|/.|..|../|../..|../../|../../..|../../../) vital=1 ;;\n    \
         /*/?*) ;;\n    /*) vital=1 ;;"
    )
}

fn quote_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::policy::CommandRules;
    use super::*;

    /// Writes programs that only say that they ran, so that a missed refusal harms nothing.
    fn write_harmless_programs(folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        for (program, _) in BLOCKED_BY_ARGUMENTS {
            let file = folder.join(program);
            fs::write(&file, "#!/bin/sh\necho \"ran: $*\"\n").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn run_shim(shims: &CommandShims, line: &str) -> (Option<i32>, String) {
        let mut words = line.split(' ');
        let program = shims.folder().join(words.next().unwrap());
        let output = Command::new(program).args(words).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    }

    fn make_shims(base: &Path, unlisted: &[&str]) -> CommandShims {
        let programs = base.join("programs");
        write_harmless_programs(&programs);
        let unlisted = unlisted.iter().map(|&text| text.to_owned()).collect();
        let list = CommandPolicy::new(&CommandRules { unlisted, ..CommandRules::default() });
        let home = Some(OsStr::new("/home/ada/"));
        let shims = CommandShims::open_in(&base.join("run")).unwrap();
        shims.refusing_never(programs.as_os_str(), home, &list).unwrap()
    }

    // T1.4
    #[test]
    fn a_script_cannot_remove_everything_either() {
        let base = tempfile::tempdir().unwrap();
        let shims = make_shims(base.path(), &[]);
        for line in [
            "rm -rf /home/ada",
            "rm -fr /home/ada/",
            "rm -r -f /",
            "rm --recursive /usr",
            "rm -Rf ..",
            "rm -rf a ../..",
            "rm -r --no-preserve-root /usr/",
            "chmod -R 777 /",
            "chown -R 0 /etc",
            "dd if=x of=/dev/sda",
            "dd of=/dev/nvme0n1",
            "systemctl poweroff",
            "systemctl --no-wall reboot",
        ] {
            let before = shims.count_refused();
            let (code, text) = run_shim(&shims, line);
            assert_eq!(code, Some(STATUS), "{line}: {text}");
            assert_eq!(
                text,
                format!(
                    "unstuck: `{line}` is on the list of what never runs, so it did not run.\n"
                )
            );
            assert_eq!(
                super::super::find_refusal(&text).map(|said| said.contains(line)),
                Some(true)
            );
            assert_eq!(shims.count_refused(), before + 1);
        }
        for line in [
            "rm -rf target", "rm -rf /home/ada/shop/target", "rm /etc", "rm a ~",
            "rm -rf ../other/target", "rm -f /x", "chmod -R u+x bin", "chmod 644 /etc",
            "dd if=x of=y", "dd of=/dev/null", "systemctl status",
        ] {
            let (code, text) = run_shim(&shims, line);
            let arguments = line.split_once(' ').unwrap().1;
            assert_eq!((code, text), (Some(0), format!("ran: {arguments}\n")), "{line}");
        }
    }

    #[test]
    fn what_the_settings_take_off_the_list_has_no_shim() {
        let base = tempfile::tempdir().unwrap();
        let shims = make_shims(base.path(), &["rm -rf /srv"]);
        assert!(!shims.programs().iter().any(|program| program == "rm"));
        assert!(shims.programs().iter().any(|program| program == "dd"));
    }
}
