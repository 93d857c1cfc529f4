//! Finds the files that a project does not have and that the programs of a check would use if an
//! agent made them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::follow::{find_file_kinds, find_make_includes, follow_in_folder, list_lines_of_folders};
use super::referenced::Makefile;
use super::tables::{GO_FOLDERS_MAX, RECIPES};
use crate::commands::list_programs;

/// Files that a project does not have and that programs of its checks look for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingDefinitions {
    /// Files that would be used instead of existing ones: a `GNUmakefile` beside a `Makefile`, a
    /// file or folder with the name of a target.
    pub replacing: Vec<PathBuf>,
    /// Files that would be read as well: a `conftest.py`.
    pub additional: Vec<PathBuf>,
}

impl MissingDefinitions {
    /// Finds the missing files for commands that run in the project at `root`, and for the scripts
    /// that those run in turn.
    pub fn find(root: &Path, commands: &[String]) -> Self {
        let mut found = Self::find_in_folder(root, commands);
        let (_, lines) = follow_in_folder(root, commands);
        for (folder, line) in list_lines_of_folders(root, &lines) {
            let inside = Self::find_in_folder(&root.join(&folder), &[line]);
            let place = |files: Vec<PathBuf>| files.into_iter().map(|file| folder.join(file));
            found.replacing.extend(place(inside.replacing));
            found.additional.extend(place(inside.additional));
        }
        found
    }

    fn find_in_folder(root: &Path, commands: &[String]) -> Self {
        let mut found = Self::default();
        let (_, lines) = follow_in_folder(root, commands);
        let kinds: BTreeSet<_> = lines.iter().flat_map(|line| find_file_kinds(line)).collect();
        for kind in kinds {
            let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) =
                kind.iter().map(PathBuf::from).partition(|file| root.join(file).is_file());
            if there.iter().any(|file| RECIPES.iter().any(|name| Path::new(name) == file)) {
                found.replacing.extend(missing);
            } else {
                found.additional.extend(missing);
            }
        }
        let runs_go = |line: &String| {
            list_programs(line).iter().any(|words| words.first().is_some_and(|word| word == "go"))
        };
        if lines.iter().any(runs_go) {
            found.additional.extend(find_missing_go_modules(root));
        }
        if let Some(makefile) = Makefile::read_from(root) {
            let is_missing = |file: &PathBuf| !root.join(file).exists();
            let standing = makefile.find_shadowing_files(&lines);
            found.replacing.extend(standing.into_iter().filter(is_missing));
            let runs_make = lines.iter().any(|line| !find_make_includes(root, line).is_empty());
            let included = if runs_make { makefile.includes } else { Vec::new() };
            found.additional.extend(included.into_iter().filter(is_missing));
        }
        found
    }
}

/// Returns `go.mod` files that would exclude folders with Go code from `./...`.
fn find_missing_go_modules(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        if found.len() >= GO_FOLDERS_MAX {
            break;
        }
        let Ok(entries) = fs::read_dir(root.join(&folder)) else { continue };
        let mut has_code = false;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !name.starts_with(['.', '_']) && name != "vendor" {
                open.push(folder.join(&*name));
            }
            has_code |= name.ends_with(".go");
        }
        let module = folder.join("go.mod");
        if has_code && folder != Path::new("") && !root.join(&module).exists() {
            found.push(module);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_runner_would_read_by_itself_is_known_before_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Makefile"), "").unwrap();
        let missing = |line: &str| MissingDefinitions::find(folder.path(), &[line.to_owned()]);
        let make = missing("make test");
        assert_eq!(make.replacing, [Path::new("GNUmakefile"), Path::new("makefile")]);
        assert!(make.additional.is_empty());
        let pytest = missing("python3 -m pytest -q");
        for file in ["conftest.py", "pytest.ini", "sitecustomize.py"] {
            assert!(pytest.additional.contains(&PathBuf::from(file)), "{file}");
        }
        assert_eq!(missing("sh shop.sh | grep hello"), MissingDefinitions::default());
        let recipe = "test:\n\t@python3 -m unittest -q\n";
        fs::write(folder.path().join("Makefile"), recipe).unwrap();
        fs::create_dir(folder.path().join("sum")).unwrap();
        fs::write(folder.path().join("sum/sum.go"), "package sum\n").unwrap();
        assert_eq!(missing("go test ./...").additional, [Path::new("sum/go.mod")]);
        let shadowing = PathBuf::from("unittest.py");
        assert!(missing("make test").additional.contains(&shadowing), "what a recipe runs counts");
    }
}
