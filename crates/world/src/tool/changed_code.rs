//! Finds the files run by a declared action that the work itself has changed.
//!
//! A rule that allows `./deploy *` is meant for the script as the operator knows it. Scripts are
//! searched for the files that they name in turn, so that a change of a called script counts as
//! well.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::commands::list_programs;
use crate::scope::resolve_in_folder;

/// The files that define the targets of build tools.
const RECIPES: &[(&str, &[&str])] = &[
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("rake", &["Rakefile"]),
];
/// Maximum number of files to read, and maximum size of each in bytes.
const FILES_MAX: usize = 64;
const BYTES_MAX: u64 = 256 * 1_024;

/// Returns those of the `changed` files of the worktree at `root` that these shell lines run in its
/// folder `folder`, directly or through a file that they name.
pub fn find_changed_code(
    root: &Path,
    folder: &Path,
    lines: &[&str],
    changed: &BTreeSet<PathBuf>,
) -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> =
        lines.iter().flat_map(|line| find_line_files(root, folder, line)).collect();
    let mut seen = BTreeSet::new();
    while let Some(file) = open.pop() {
        if seen.len() >= FILES_MAX || !seen.insert(file.clone()) {
            continue;
        }
        let path = root.join(&file);
        if fs::metadata(&path).is_ok_and(|file| file.len() <= BYTES_MAX)
            && let Ok(text) = fs::read_to_string(&path)
        {
            let beside = file.parent().unwrap_or(Path::new(""));
            open.extend(find_named_files(root, [folder, beside], &text));
        }
    }
    changed.iter().filter(|path| seen.contains(*path)).cloned().collect()
}

/// Returns the files of the project that a shell line runs or names.
fn find_line_files(root: &Path, start: &Path, line: &str) -> Vec<PathBuf> {
    let folder = line.strip_prefix("cd ").and_then(|rest| rest.split_once(" && "));
    let folder = folder.map_or("", |(folder, _)| folder.trim_matches(['\'', '"']));
    let folder = resolve_in_folder(start, Path::new(folder)).unwrap_or_else(|| start.to_owned());
    let mut found = find_named_files(root, [start, &folder], line);
    for words in list_programs(line) {
        let Some(program) = words.first().and_then(|word| word.rsplit('/').next()) else {
            continue;
        };
        let recipes = RECIPES.iter().filter(|(name, _)| *name == program);
        let recipes = recipes.flat_map(|(_, files)| files.iter().map(|file| folder.join(file)));
        found.extend(recipes.filter(|file| root.join(file).is_file()));
    }
    found
}

/// Returns the files of the worktree that a text names, relative to one of these folders; a dotted
/// name is also tried as a Python module.
fn find_named_files(root: &Path, folders: [&Path; 2], text: &str) -> Vec<PathBuf> {
    let is_part = |c: char| c.is_alphanumeric() || "_-./+@".contains(c);
    let words: BTreeSet<&str> = text.split(|c| !is_part(c)).filter(|word| word.len() > 1).collect();
    let mut found = Vec::new();
    for word in words {
        let word = word.trim_start_matches("./").trim_end_matches('.');
        if word.is_empty() || word.starts_with('/') {
            continue;
        }
        let module = format!("{}.py", word.replace('.', "/"));
        let module = Path::new(&module);
        let places =
            folders.iter().flat_map(|folder| [Path::new(word), module].map(|name| (folder, name)));
        let places = places.filter_map(|(folder, name)| resolve_in_folder(folder, name));
        found.extend(places.filter(|place| root.join(place).is_file()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_runs_is_found_through_the_scripts_that_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("deploy.sh", ". ./lib/common.sh\nsend \"$1\"\n"),
            ("lib/common.sh", "python3 -m tools.send\n"),
            ("tools/send.py", "print(1)\n"),
            ("web/deploy", "#!/bin/sh\n"),
            ("README.md", "See deploy.sh.\n"),
            ("Makefile", "release:\n\tsh deploy.sh 1\n"),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let runs_in = |start: &str, line: &str, changed: &[&str]| {
            let changed = changed.iter().map(PathBuf::from).collect();
            !find_changed_code(folder.path(), Path::new(start), &[line], &changed).is_empty()
        };
        assert!(runs_in("web", "./deploy 1", &["web/deploy"]));
        assert!(runs_in("web", "sh ../deploy.sh 1", &["deploy.sh"]));
        assert!(!runs_in("web", "sh deploy.sh 1", &["deploy.sh"]));
        let runs = |line: &str, changed: &[&str]| runs_in("", line, changed);
        for (line, changed, expected) in [
            ("sh deploy.sh 1", "deploy.sh", true),
            ("./deploy.sh 1", "deploy.sh", true),
            ("sh deploy.sh 1", "lib/common.sh", true),
            ("sh deploy.sh 1", "tools/send.py", true),
            ("cd web && ./deploy 1", "web/deploy", true),
            ("make release", "deploy.sh", true),
            ("make release", "Makefile", true),
            ("sh deploy.sh 1", "README.md", false),
            ("curl -X POST https://pay.example/7", "deploy.sh", false),
            ("npm publish", "Makefile", false),
        ] {
            assert_eq!(runs(line, &[changed]), expected, "{line}: {changed}");
        }
    }
}
