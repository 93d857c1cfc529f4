//! What a wall kept a program from, as far as the program's own words tell.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::Wall;
use super::places::{Cover, nearest};

/// Words with which the system refuses to write, in lower case.
const REFUSED: [&str; 3] =
    ["permission denied", "operation not permitted", "read-only file system"];
/// Words with which it says that something hidden is not there.
const MISSING: &str = "no such file or directory";

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
        let cover = |path: &Path| covers.get(path).or_else(|| nearest(&covers, path));
        output.lines().find_map(|line| {
            let lower = line.to_lowercase();
            let refused = REFUSED.iter().any(|word| lower.contains(word));
            if !refused && !lower.contains(MISSING) {
                return None;
            }
            paths(line).find_map(|path| match cover(&path) {
                Some(Cover::Hidden) => path.exists().then_some(Denied { path, hidden: true }),
                Some(Cover::Writable | Cover::Private(_)) => None,
                Some(Cover::Readable) | None => {
                    (refused && is_persons(&path)).then_some(Denied { path, hidden: false })
                }
            })
        })
    }
}

/// The absolute paths of a line.
fn paths(line: &str) -> impl Iterator<Item = PathBuf> + '_ {
    let words = line.split([' ', '\t', '\'', '"', '`', ':', ',', ';', '(', ')', '=', '‘', '’']);
    words.filter(|word| word.len() > 1 && word.starts_with('/')).map(PathBuf::from)
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
}
