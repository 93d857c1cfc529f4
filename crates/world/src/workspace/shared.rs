//! Paths that worktrees share with the operator's own tree (build folders, local settings), and
//! those that a check misses because they are not shared.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use unstuck_core::fault::{Config, Fault};

use super::ecosystem::classify_by_product;
use super::state::io_fault;
use super::workspace::Workspace;
use crate::git::GitAction;
use crate::scope::{PathScope, PathVerdict, ScopeRules, resolve_in_folder};

impl Workspace {
    /// Puts shared paths into the worktree: a link to a folder, a copy of a file. Skips paths that
    /// exist already and those that the operator's tree does not have.
    pub(super) fn share_paths(&self) -> Result<(), Fault> {
        if self.in_place {
            return Ok(());
        }
        place_shared_paths(&self.project.root, &self.project_folder(), &self.shared)
    }
}

/// Puts the shared paths of the operator's tree at `root` into another folder.
pub fn share_into(root: &Path, directory: &Path, paths: &[String]) -> Result<(), Fault> {
    place_shared_paths(root, directory, &require_shareable(paths)?)
}

fn place_shared_paths(root: &Path, directory: &Path, paths: &[PathBuf]) -> Result<(), Fault> {
    for path in paths {
        let from = root.join(path);
        let to = directory.join(path);
        let Ok(found) = fs::metadata(&from) else { continue };
        if fs::symlink_metadata(&to).is_ok() {
            continue;
        }
        let put = || {
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            if found.is_dir() { symlink(&from, &to) } else { fs::copy(&from, &to).map(drop) }
        };
        put().map_err(|error| io_fault(&to, &error))?;
    }
    Ok(())
}

/// Parses shared paths; one that is outside the project, or belongs to git or Unstuck, is
/// `CONFIG_INVALID`.
pub(super) fn require_shareable(paths: &[String]) -> Result<Vec<PathBuf>, Fault> {
    // A scope without rules admits all paths except those outside the project or of git and
    // Unstuck.
    let open = PathScope::new(&ScopeRules::default()).ok();
    let inside = |path: &Path| open.as_ref().map(|open| open.judge_path(path));
    paths
        .iter()
        .map(|path| match inside(Path::new(path)) {
            Some(PathVerdict::Inside) => Ok(PathBuf::from(path)),
            _ => {
                let message = format!("{path} cannot be shared: it is not inside the project");
                let field = Some("run.share".to_owned());
                Err(Fault::config_invalid(
                    "workspace",
                    message,
                    Config { field, ..Config::default() },
                ))
            }
        })
        .collect()
}

/// Lower-case words of a line that reports a missing file. They may be vague, because a path counts
/// only if it is in the operator's tree, ignored, and not in the worktree.
const MISSING_WORDS: [&str; 13] = [
    "no such file", "nosuchfile", "filenotfound", "not found", "notfound", "enoent", "exist",
    "missing", "cannot", "can't", "could not", "couldn't", "unable to",
];
/// Maximum number of paths of an output that are looked up.
const LOOKED_UP_MAX: usize = 20;

impl Workspace {
    /// Returns the first path in the output of a check that git ignores, that the operator's tree
    /// has and that this worktree does not have, as its topmost ignored folder. Skips by-products
    /// of tools, since a setup command makes them.
    pub async fn find_unshared(&self, output: &str) -> Result<Option<PathBuf>, Fault> {
        if self.in_place {
            return Ok(None);
        }
        let root = &self.project.root;
        let folder = self.project_folder();
        for path in find_missing_paths(output, &folder, root).into_iter().take(LOOKED_UP_MAX) {
            let mut above: Vec<&Path> = path.ancestors().collect();
            above.pop();
            for place in above.into_iter().rev() {
                let call = self.project.git.call(GitAction::Look).with_plain_paths();
                let call = call.args(["check-ignore", "--quiet", "--"]).args([self.locate(place)]);
                if call.run_expecting(&[0, 1]).await?.status != 0 {
                    continue;
                }
                if classify_by_product(root, place).is_none()
                    && classify_by_product(root, &path).is_none()
                {
                    return Ok(Some(place.to_owned()));
                }
                break;
            }
        }
        Ok(None)
    }
}

/// Returns the paths in those lines of an output that report a missing file, if they exist at
/// `root` and not in `directory`.
fn find_missing_paths(output: &str, directory: &Path, root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for line in output.lines() {
        let lower = line.to_lowercase();
        if !MISSING_WORDS.iter().any(|word| lower.contains(word)) {
            continue;
        }
        let words = line
            .split([' ', '\t', '\'', '"', '`', ':', ',', ';', '(', ')', '[', ']', '=', '‘', '’']);
        for word in words.map(|word| word.trim_end_matches(['.', '!', '?'])) {
            let word = Path::new(word);
            let word = word.strip_prefix(directory).unwrap_or(word);
            let path = resolve_in_folder(Path::new(""), word);
            let Some(path) = path.filter(|path| !path.as_os_str().is_empty()) else { continue };
            let is_known = found.contains(&path);
            let is_only_theirs = root.join(&path).exists() && !directory.join(&path).exists();
            let can_be_shared =
                || require_shareable(&[path.to_string_lossy().into_owned()]).is_ok();
            if !is_known && is_only_theirs && can_be_shared() {
                found.push(path);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    // B34: a file that the operator's tree has and the worktree lacks is found in a check's output
    #[test]
    fn a_file_that_only_the_person_has_is_found_in_an_output() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("repo");
        let directory = place.path().join("tree");
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
            assert_eq!(find_missing_paths(&output, &directory, &root), expected, "{output}");
        }
    }
}
