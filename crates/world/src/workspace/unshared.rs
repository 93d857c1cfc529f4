//! Files that only the person's own tree has, because git ignores them, and that a check speaks of.

use std::path::{Component, Path, PathBuf};

use unstuck_core::fault::Fault;

use super::by_product::by_product;
use super::share::shareable;
use super::workspace::Workspace;
use crate::git::Operation;

/// Words of a line that says what is missing, in lower case. They may be vague: what is named there is in
/// the person's tree, ignored, and not in the worktree.
const MISSING: [&str; 13] = [
    "no such file",
    "nosuchfile",
    "filenotfound",
    "not found",
    "notfound",
    "enoent",
    "exist",
    "missing",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "unable to",
];
/// How many paths of an output are looked up.
const LOOKED_UP_MAX: usize = 20;

impl Workspace {
    /// The first path in the output of a check that git ignores, that the person's tree has, and that this
    /// worktree does not have: as far up as git ignores it. What tools make is left out, since a setup
    /// command makes it.
    pub async fn find_unshared(&self, output: &str) -> Result<Option<PathBuf>, Fault> {
        if self.in_place {
            return Ok(None);
        }
        let root = &self.project.root;
        for path in named(output, &self.directory, root).into_iter().take(LOOKED_UP_MAX) {
            let mut above: Vec<&Path> = path.ancestors().collect();
            above.pop();
            for place in above.into_iter().rev() {
                let call = self.project.git.call(Operation::Look).with_plain_paths();
                let call = call.args(["check-ignore", "--quiet", "--"]).args([place]);
                if call.run_expecting(&[0, 1]).await?.status != 0 {
                    continue;
                }
                if by_product(root, place).is_none() && by_product(root, &path).is_none() {
                    return Ok(Some(place.to_owned()));
                }
                break;
            }
        }
        Ok(None)
    }
}

/// The paths in the lines of an output about something missing that are at `root` and not in `directory`.
fn named(output: &str, directory: &Path, root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for line in output.lines() {
        let lower = line.to_lowercase();
        if !MISSING.iter().any(|word| lower.contains(word)) {
            continue;
        }
        let words = line
            .split([' ', '\t', '\'', '"', '`', ':', ',', ';', '(', ')', '[', ']', '=', '‘', '’']);
        for word in words.map(|word| word.trim_end_matches(['.', '!', '?'])) {
            let word = Path::new(word);
            let Some(path) = within(word.strip_prefix(directory).unwrap_or(word)) else { continue };
            let is_known = found.contains(&path);
            let is_only_theirs = root.join(&path).exists() && !directory.join(&path).exists();
            let can_be_shared = || shareable(&[path.to_string_lossy().into_owned()]).is_ok();
            if !is_known && is_only_theirs && can_be_shared() {
                found.push(path);
            }
        }
    }
    found
}

/// A path below a folder without `.` and `..`; none where it leads out of it.
fn within(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!plain.as_os_str().is_empty()).then_some(plain)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    // B34: what the person's tree has and the worktree has not is found in what a check wrote
    #[test]
    fn a_file_that_only_the_person_has_is_found_in_an_output() {
        let place = tempfile::tempdir().unwrap();
        let (root, directory) = (place.path().join("repo"), place.path().join("tree"));
        for name in ["repo/config", "tree", "outside"] {
            fs::create_dir_all(place.path().join(name)).unwrap();
        }
        for name in ["repo/local.json", "repo/config/a.toml", "repo/both", "tree/both", "outside/x"]
        {
            fs::write(place.path().join(name), "").unwrap();
        }
        let own = directory.display();
        let cases = [
            (
                "FileNotFoundError: [Errno 2] No such file or directory: 'local.json'".to_owned(),
                &["local.json"][..],
            ),
            (
                format!("Error: ENOENT: no such file or directory, open '{own}/config/a.toml'"),
                &["config/a.toml"],
            ),
            ("couldn't read `src/../local.json`: No such file".to_owned(), &["local.json"]),
            ("settings are missing: ./config/a.toml.".to_owned(), &["config/a.toml"]),
            ("cannot open both".to_owned(), &[]),
            ("cannot open ../outside/x".to_owned(), &[]),
            ("cannot open gone.json".to_owned(), &[]),
            ("read local.json".to_owned(), &[]),
        ];
        for (output, expected) in cases {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(named(&output, &directory, &root), expected, "{output}");
        }
    }
}
