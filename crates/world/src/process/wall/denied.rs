//! What a wall kept a program from, as far as the program's own words tell.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::Wall;
use super::places::Cover;

/// Words with which the system refuses to write, in lower case.
const REFUSED: [&str; 3] =
    ["permission denied", "operation not permitted", "read-only file system"];
/// Words with which programs say that something hidden is not there. What is named there has to be
/// there for the person, so they may be as vague as this.
const MISSING: [&str; 6] =
    ["no such file", "nosuchfile", "not found", "cannot find", "does not exist", "can't open"];

/// A path that a wall kept a program from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The path.
    pub path: PathBuf,
    /// Whether it is hidden. Else it can be read and not written.
    pub hidden: bool,
}

impl Denied {
    /// The line of the settings that allows it.
    pub fn settings_line(&self) -> String {
        let key = if self.hidden { "readable" } else { "writable" };
        format!("{key} = [\"{}\"]", self.path.display())
    }

    /// One sentence for the person or the agent that reads the output of the program.
    pub fn sentence(&self) -> String {
        let what =
            if self.hidden { "is hidden by the wall" } else { "cannot be written behind the wall" };
        format!(
            "{} {what}: it is not broken, and trying again does not help; `{}` below [wall] in \
             unstuck.toml allows it",
            self.path.display(),
            self.settings_line()
        )
    }
}

impl Wall {
    /// The first path in the output of a program that this wall kept it from.
    pub fn find_denied(&self, output: &str) -> Option<Denied> {
        self.writable.as_ref()?;
        let covers = self.covers();
        output.lines().find_map(|line| {
            let lower = line.to_lowercase();
            let refused = REFUSED.iter().any(|word| lower.contains(word));
            if !refused && !MISSING.iter().any(|word| lower.contains(word)) {
                return None;
            }
            self.paths(line).find_map(|path| match cover(&covers, &path) {
                Some((_, Cover::Hidden)) => path.exists().then_some(Denied { path, hidden: true }),
                Some((at, Cover::Private(folder))) => {
                    is_left_outside(at, folder, &path).then_some(Denied { path, hidden: true })
                }
                Some((_, Cover::Writable)) => None,
                Some((_, Cover::Readable)) | None => {
                    (refused && is_persons(&path)).then_some(Denied { path, hidden: false })
                }
            })
        })
    }

    /// The paths of a line as the person knows them: absolute ones, and those below a home folder.
    fn paths(&self, line: &str) -> impl Iterator<Item = PathBuf> {
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
            let absolute = path.is_absolute().then(|| moved.unwrap_or_else(|| path.to_owned()));
            absolute.into_iter().chain(below_home)
        })
    }
}

/// What lies over a path, and where that begins.
fn cover<'a>(covers: &'a BTreeMap<PathBuf, Cover>, path: &Path) -> Option<(&'a Path, &'a Cover)> {
    path.ancestors().find_map(|at| covers.get_key_value(at)).map(|(at, cover)| (&**at, cover))
}

/// Whether something of the person's is not in the folder that takes the place of the one around it.
fn is_left_outside(at: &Path, folder: &Path, path: &Path) -> bool {
    path != at
        && path.exists()
        && path.strip_prefix(at).is_ok_and(|rest| !folder.join(rest).exists())
}

/// Whether the person may write to a path: if not, the wall is not what is in the way.
fn is_persons(path: &Path) -> bool {
    let near = path.ancestors().find(|place| place.exists());
    near.is_some_and(|place| access(place, Access::WRITE_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::process::wall::Private;

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
        let find = |name: &str, words: &str| {
            let said = format!(
                "fine so far\ntouch: cannot touch '{}': {words}",
                root.join(name).display()
            );
            wall.find_denied(&said)
        };
        let outside = find("out/x", "Read-only file system").unwrap();
        assert_eq!(outside, Denied { path: root.join("out/x"), hidden: false });
        assert!(outside.sentence().contains("writable = [\""), "{}", outside.sentence());
        assert_eq!(find("in/x", "Permission denied"), None);
        assert_eq!(find("out/x", "No such file or directory"), None, "it may really be missing");
        let hidden = find("hidden/key", "No such file or directory").unwrap();
        assert!(hidden.hidden && hidden.settings_line().starts_with("readable"));
        assert_eq!(find("hidden/gone", "No such file or directory"), None);
        assert_eq!(Wall::default().find_denied("/etc/x: Permission denied"), None);
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
        let private = |at: &str| Private { at: root.join(at), folder: root.join("own").join(at) };
        let wall = Wall {
            writable: Some(vec![root.join("home/project")]),
            private: vec![private("temporary"), private("home")],
            ..Wall::default()
        };
        let settings = format!("{}/home/.shoprc", root.display());
        let hidden = Some(Denied { path: PathBuf::from(&settings), hidden: true });
        for said in [
            format!("cat: {settings}: No such file or directory"),
            format!("FileNotFoundError: [Errno 2] No such file or directory: '{settings}'"),
            format!("Error: ENOENT: no such file or directory, open '{settings}'"),
            format!("java.nio.file.NoSuchFileException: {settings}"),
            "shop: settings ~/.shoprc not found".to_owned(),
            format!("cat: {}/own/home/.shoprc: No such file or directory", root.display()),
        ] {
            assert_eq!(wall.find_denied(&said), hidden, "{said}");
        }
        for name in [".both", ".gone", "project/gone", ""] {
            let said = format!("cat: {}/home/{name}: No such file", root.display());
            assert_eq!(wall.find_denied(&said), None, "{said}");
        }
    }
}
