//! Finds the paths that a wall denied to a program, from the program's output.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};
use unstuck_core::fault::{Fault, Missing};
use unstuck_core::text::{QUESTION_CHARS_MAX, quote_words};

use super::Wall;
use super::places::PathCover;

/// The system's message for a file that cannot be written, in lower case.
const READ_ONLY: &str = "read-only file system";
/// Messages of the system for a denied write.
const REFUSED: [&str; 3] = ["permission denied", "operation not permitted", READ_ONLY];
/// Phrases with which programs say that they cannot create a file or folder.
const CREATING: [&str; 6] = [
    "cannot touch", "cannot create", "can't create", "could not create", "unable to create",
    "failed to create",
];
/// Phrases with which programs say that a hidden file is missing. They may be as vague as this,
/// because the named path has to exist for the operator.
const MISSING: [&str; 7] = [
    "no such file", "nosuchfile", "not found", "cannot find", "does not exist", "can't open",
    "nonexistent",
];
/// The part of a line that marks it as a warning, which does not end a program.
const WARNING: &str = "warn";
/// The phrase with which the crate `tempfile`, used by cargo, names the folder that it could not
/// create: the wanted name followed by random letters.
const PROBED: &str = " at path \"";
const PROBE_LETTERS: usize = 6;
/// The name of a temporary file without its letters, if the program wanted no name of its own.
const PROBE_NAME: &str = ".tmp";
/// The name of Unstuck's own folder in a project.
const OWN_FOLDER: &str = ".unstuck";

/// A path that a wall denied to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedPath {
    /// The path.
    pub path: PathBuf,
    /// The path that has to be allowed: the path itself, or the folder around it.
    pub place: PathBuf,
    /// `true` if the path is hidden; otherwise it can be read but not written.
    pub hidden: bool,
    /// `true` if the program only warned about it.
    pub warned: bool,
}

impl DeniedPath {
    /// Returns whether the path is in Unstuck's own folder, which no setting should open: each task works in
    /// another folder of it.
    fn is_of_unstuck(&self) -> bool {
        self.path.components().any(|part| part.as_os_str() == OWN_FOLDER)
    }

    /// Returns the line of the settings that allows the access.
    pub fn settings_line(&self) -> String {
        let key = if self.hidden { "readable" } else { "writable" };
        format!("{key} = [\"{}\"]", self.place.display())
    }

    /// Returns the command that creates the path to allow, if it does not exist yet: behind a wall
    /// only existing paths can be written.
    pub fn creation_command(&self) -> Option<String> {
        let makes = if self.place.extension().is_some() { "touch" } else { "mkdir -p" };
        (!self.place.exists()).then(|| format!("{makes} {}", self.place.display()))
    }

    /// Returns a sentence for the operator or the agent that reads the output of the program.
    pub fn render_sentence(&self) -> String {
        let what =
            if self.hidden { "is hidden by the wall" } else { "cannot be written behind the wall" };
        if self.is_of_unstuck() {
            return format!(
                "{} {what}: it is in Unstuck's own folder, beside the copy of the project that the \
                 command works in; let the command write inside the project, or to $TMPDIR",
                self.path.display()
            );
        }
        let made =
            self.creation_command().map_or_else(String::new, |made| format!(" after `{made}`"));
        format!(
            "{} {what}: it is not broken, and trying again does not help; `{}` below [wall] in \
             unstuck.toml allows it{made}",
            self.path.display(),
            self.settings_line()
        )
    }

    /// Returns the log message about a command that was denied access to the path.
    pub fn render_log_message(&self) -> String {
        let what = if self.hidden { "reading" } else { "writing to" };
        let path = self.path.display();
        let line = self.settings_line();
        if self.is_of_unstuck() {
            return format!("A command was kept from {what} {path}, in Unstuck's own folder.");
        }
        format!("A command was kept from {what} {path}. To allow it: `{line}` below [wall].")
    }

    /// Returns how the sandbox stopped a command, to be put after its name, with the setting that allows the
    /// access.
    pub(crate) fn describe_stop(&self) -> String {
        let in_quotes = |words: &str| quote_words(words, QUESTION_CHARS_MAX).unwrap_or_default();
        let does = if self.hidden { "reading" } else { "writing to" };
        let path = in_quotes(&self.path.display().to_string());
        let line = in_quotes(&self.settings_line());
        if self.is_of_unstuck() {
            return format!(
                "was kept from {does} {path} by the sandbox: that is Unstuck's own folder"
            );
        }
        format!(
            "was kept from {does} {path} by the sandbox ({line} below “[wall]” in the settings allows it)"
        )
    }

    /// Builds the fault that asks the operator about the path before more is spent: `who` was
    /// denied access, and `so` is the consequence.
    pub(crate) fn to_fault(&self, source: &str, (who, so): (&str, &str), output: &str) -> Fault {
        let does = if self.hidden { "reading" } else { "writing to" };
        let path = self.path.display().to_string();
        let path = quote_words(&path, QUESTION_CHARS_MAX).unwrap_or_default();
        if self.is_of_unstuck() {
            let cause = format!(
                "The wall kept {who} from {does} {path}, so {so}. That folder is Unstuck's own: the \
                 command works in a copy of the project below it, and has to write inside the project."
            );
            let missing = Missing { what: String::new() };
            return Fault::precondition_missing(source, output, missing).with_cause(cause);
        }
        let made =
            self.creation_command().map_or_else(String::new, |made| format!(", after `{made}`"));
        let what = format!("`{}` below [wall] in unstuck.toml{made}", self.settings_line());
        let cause = format!("The wall kept {who} from {does} {path}, so {so}.");
        Fault::precondition_missing(source, output, Missing { what }).with_cause(cause)
    }
}

impl Wall {
    /// Returns the first path in a program's output that this wall denied, preferring one that is
    /// no mere warning. The program ran in `directory`.
    pub fn find_denied(&self, output: &str, directory: &Path) -> Option<DeniedPath> {
        self.writable.as_ref()?;
        let covers = self.compute_covers();
        let mut found =
            output.lines().filter_map(|line| self.find_denied_in_line(line, directory, &covers));
        let first = found.next()?;
        if first.warned { found.find(|denied| !denied.warned).or(Some(first)) } else { Some(first) }
    }

    fn find_denied_in_line(
        &self,
        line: &str,
        directory: &Path,
        covers: &BTreeMap<PathBuf, PathCover>,
    ) -> Option<DeniedPath> {
        let lower = line.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let refused = says(&REFUSED);
        if !refused && !says(&MISSING) {
            return None;
        }
        let writes = lower.contains(READ_ONLY) || says(&CREATING);
        let warned = lower.contains(WARNING);
        let read = |path: PathBuf| DeniedPath { place: path.clone(), path, hidden: true, warned };
        let written = |path: PathBuf| {
            let path = strip_random_letters(line, path);
            DeniedPath { place: self.place_to_allow(&path), path, hidden: false, warned }
        };
        let named = self.paths_in_line(line, directory).filter_map(|path| {
            match find_cover(covers, &path) {
                Some((_, PathCover::Hidden)) if path.exists() && !writes => Some(read(path)),
                Some((_, PathCover::Hidden)) => {
                    // Behind the wall the parent folder does not exist either.
                    let is_kept = refused || writes && path.parent().is_some_and(Path::exists);
                    (is_kept && is_writable_by_operator(&path)).then(|| written(path))
                }
                Some((at, PathCover::Private(folder))) => {
                    is_left_outside(at, folder, &path).then(|| read(path))
                }
                Some((_, PathCover::Writable)) => None,
                Some((_, PathCover::Readable)) | None => {
                    (refused && is_writable_by_operator(&path)).then(|| written(path))
                }
            }
        });
        // A shell names itself first: `/bin/bash: line 1: PATH: …`.
        named.last()
    }

    /// Returns the path to allow so that `path` can be written: the path itself if it exists,
    /// otherwise the first missing folder on the way. A new file is allowed with the folder around
    /// it, unless that contains the project or more.
    fn place_to_allow(&self, path: &Path) -> PathBuf {
        let missing = path.ancestors().take_while(|place| !place.exists()).last();
        let Some(missing) = missing else { return path.to_owned() };
        let Some(folder) = missing.parent().filter(|_| path == missing) else {
            return missing.to_owned();
        };
        let private = self.private.iter().map(|private| &private.at);
        let mut own = self.writable.iter().flatten().chain(private);
        let is_wide = folder.parent().is_none() || own.any(|own| own.starts_with(folder));
        let is_file = path.extension().is_some();
        if is_file && !is_wide { folder.to_owned() } else { missing.to_owned() }
    }

    /// Returns the paths in a line as the operator knows them: absolute ones, those below a home
    /// folder, and those that lead out of the program's working directory.
    fn paths_in_line(&self, line: &str, directory: &Path) -> impl Iterator<Item = PathBuf> {
        let words = line.split([' ', '\t', '\'', '"', '`', ':', ',', ';', '(', ')', '=', '‘', '’']);
        let own = self.private.iter().filter(|private| !private.folder.as_os_str().is_empty());
        words.filter(|word| word.len() > 1).flat_map(move |word| {
            let below_home = word.strip_prefix("~/").into_iter();
            let below_home = below_home.flat_map({
                let own = own.clone();
                move |rest| own.clone().map(move |private| private.at.join(rest))
            });
            let path = Path::new(word);
            let moved = own.clone().find_map(|private| {
                path.strip_prefix(&private.folder).ok().map(|rest| private.at.join(rest))
            });
            let leads_out = path.starts_with("..").then(|| directory.join(path));
            let absolute = path.is_absolute().then(|| moved.unwrap_or_else(|| path.to_owned()));
            absolute.or(leads_out).map(|path| resolve_dots(&path)).into_iter().chain(below_home)
        })
    }
}

/// Returns a path without `..`, which may lead out of the folder that the path starts with.
fn resolve_dots(path: &Path) -> PathBuf {
    if !path.components().any(|part| part == Component::ParentDir) {
        return path.to_owned();
    }
    let there = path.ancestors().find(|place| place.exists()).unwrap_or(path);
    let mut plain = there.canonicalize().unwrap_or_else(|_| there.to_owned());
    for part in path.strip_prefix(there).unwrap_or(path).components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

/// Returns the path that a program wanted, if it tried one with random letters appended.
fn strip_random_letters(line: &str, path: PathBuf) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let Some(name) = name.filter(|_| line.contains(PROBED) && !path.exists()) else { return path };
    let wanted = name.char_indices().nth_back(PROBE_LETTERS - 1).map_or("", |(at, _)| &name[..at]);
    match path.parent() {
        Some(folder) if wanted.is_empty() || wanted == PROBE_NAME => folder.to_owned(),
        _ => path.with_file_name(wanted),
    }
}

/// Returns the cover of a path, and the path at which that cover begins.
fn find_cover<'a>(
    covers: &'a BTreeMap<PathBuf, PathCover>,
    path: &Path,
) -> Option<(&'a Path, &'a PathCover)> {
    path.ancestors().find_map(|at| covers.get_key_value(at)).map(|(at, cover)| (&**at, cover))
}

/// Returns whether a file of the operator is missing in the folder that replaces the one around it.
fn is_left_outside(at: &Path, folder: &Path, path: &Path) -> bool {
    path != at
        && path.exists()
        && path.strip_prefix(at).is_ok_and(|rest| !folder.join(rest).exists())
}

/// Returns whether the operator may write to a path: if not, the wall is not the reason.
fn is_writable_by_operator(path: &Path) -> bool {
    let near = path.ancestors().find(|place| place.exists());
    near.is_some_and(|place| access(place, Access::WRITE_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::process::wall::PrivateFolder;

    #[test]
    fn a_path_that_is_closed_is_named_with_the_line_that_opens_it() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for name in ["in", "out", "hidden"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join("hidden/key"), "x").unwrap();
        let wall = Wall {
            writable: Some(vec![root.join("in")]),
            hidden: vec![root.join("hidden")],
            ..Wall::default()
        };
        let read = |name: &str, words: &str| {
            let said = format!("fine so far\ncat: '{}': {words}", root.join(name).display());
            wall.find_denied(&said, &root)
        };
        let find = |name: &str, words: &str| {
            let said = format!(
                "fine so far\ntouch: cannot touch '{}': {words}",
                root.join(name).display()
            );
            wall.find_denied(&said, &root)
        };
        let outside = find("out/x", "Read-only file system").unwrap();
        let path = root.join("out/x");
        assert_eq!(outside, DeniedPath { place: path.clone(), path, hidden: false, warned: false });
        assert!(
            outside.render_sentence().contains("writable = [\""),
            "{}",
            outside.render_sentence()
        );
        assert_eq!(find("in/x", "Permission denied"), None);
        assert_eq!(read("out/x", "No such file or directory"), None, "it may really be missing");
        let hidden = read("hidden/key", "No such file or directory").unwrap();
        assert!(hidden.hidden && hidden.settings_line().starts_with("readable"));
        assert_eq!(read("hidden/gone", "No such file or directory"), None);
        let made = find("hidden/gone", "No such file or directory").unwrap();
        assert!(!made.hidden && made.settings_line().starts_with("writable"));
        assert_eq!(Wall::default().find_denied("/etc/x: Permission denied", &root), None);
    }

    // B34: a path that a check wants to write is reported as the folder to allow, in whatever form
    // it was written
    #[test]
    fn the_line_names_the_folder_that_is_to_be_written() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for name in ["repo/.own/t0", "out", "hidden/there"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let wall = Wall {
            writable: Some(vec![root.join("repo/.own/t0")]),
            hidden: vec![root.join("hidden"), root.join("repo/.own")],
            ..Wall::default()
        };
        let at = root.display();
        let cases = [
            (
                format!(
                    "error: Read-only file system (os error 30) at path \"{at}/repo/.own/t0/../sharedDjr0Dd\""
                ),
                Some("repo/.own/shared"),
            ),
            (format!("Read-only file system at path \"{at}/out/.tmpDjr0Dd\""), Some("out")),
            (
                format!("mkdir: cannot create directory ‘{at}/hidden/new’: Read-only file system"),
                Some("hidden/new"),
            ),
            (
                format!(
                    "mkdir: cannot create directory ‘{at}/hidden/there’: Read-only file system"
                ),
                Some("hidden/there"),
            ),
            (
                "mkdir: cannot create directory '../../new': Read-only file system".to_owned(),
                Some("repo/new"),
            ),
            (
                format!("sh: cannot create {at}/hidden/there/log: Directory nonexistent"),
                Some("hidden/there/log"),
            ),
            (format!("sh: cannot create {at}/hidden/gone/log: Directory nonexistent"), None),
            (format!("open {at}/out/a/b/c.o: Read-only file system"), Some("out/a")),
            (format!("open {at}/out/c.o: Read-only file system"), Some("out")),
            (format!("open {at}/c.o: Read-only file system"), Some("c.o")),
            (format!("/bin/bash: line 1: {at}/c.o: Read-only file system"), Some("c.o")),
            (
                format!("mv: cannot move '{at}/out/c.o' to '{at}/d.o': Permission denied"),
                Some("d.o"),
            ),
            (format!("open {at}/repo/.own/t0/x: Permission denied"), None),
        ];
        for (said, expected) in cases {
            let denied = wall.find_denied(&said, &root.join("repo/.own/t0"));
            let named = denied.map(|denied| (denied.place, denied.hidden));
            assert_eq!(named, expected.map(|name| (root.join(name), false)), "{said}");
        }
        let said = format!("warning: {at}/out/a: Permission denied\n{at}/out/b: Permission denied");
        let denied = wall.find_denied(&said, &root).unwrap();
        assert_eq!((denied.path.clone(), denied.warned), (root.join("out/b"), false));
        assert_eq!(denied.creation_command(), Some(format!("mkdir -p {at}/out/b")));
        assert!(wall.find_denied(&said[..said.find('\n').unwrap()], &root).unwrap().warned);
    }

    #[test]
    fn what_is_in_the_persons_home_and_not_in_the_private_one_is_named() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for name in ["home/project", "own/home", "own/temporary", "temporary"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in ["home/.shoprc", "home/.both", "own/home/.both"] {
            fs::write(root.join(name), "x").unwrap();
        }
        let private =
            |at: &str| PrivateFolder { at: root.join(at), folder: root.join("own").join(at) };
        let wall = Wall {
            writable: Some(vec![root.join("home/project")]),
            private: vec![private("temporary"), private("home")],
            ..Wall::default()
        };
        let settings = format!("{}/home/.shoprc", root.display());
        let path = PathBuf::from(&settings);
        let place = path.clone();
        let hidden = Some(DeniedPath { path, place, hidden: true, warned: false });
        for said in [
            format!("cat: {settings}: No such file or directory"),
            format!("FileNotFoundError: [Errno 2] No such file or directory: '{settings}'"),
            format!("Error: ENOENT: no such file or directory, open '{settings}'"),
            format!("java.nio.file.NoSuchFileException: {settings}"),
            "shop: settings ~/.shoprc not found".to_owned(),
            format!("cat: {}/own/home/.shoprc: No such file or directory", root.display()),
        ] {
            assert_eq!(wall.find_denied(&said, &root), hidden, "{said}");
        }
        for name in [".both", ".gone", "project/gone", ""] {
            let said = format!("cat: {}/home/{name}: No such file", root.display());
            assert_eq!(wall.find_denied(&said, &root), None, "{said}");
        }
    }
}
