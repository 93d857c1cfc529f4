//! Finds the files of the project that a command names, which a repair may change.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Characters with a special meaning in a glob.
const MEANS_MORE: [char; 8] = ['*', '?', '[', ']', '{', '}', '!', '\\'];

/// Returns the files and folders inside `root` that a command names when it runs in `directory`, relative
/// to the root. A program that is looked up on the path is not a script of the project, and the root itself
/// does not count.
pub(super) fn find_named_files(command: &[OsString], root: &Path, directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, word) in command.iter().enumerate() {
        let path = Path::new(word);
        if at == 0 && path.components().count() == 1 && path.parent() == Some(Path::new("")) {
            continue;
        }
        if let Some(name) = path_inside(root, &directory.join(path))
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

fn path_inside(root: &Path, path: &Path) -> Option<String> {
    let real: PathBuf = path.canonicalize().ok()?;
    let name = real.strip_prefix(root).ok()?.to_str()?;
    let plain = !name.is_empty() && !name.contains(MEANS_MORE);
    plain.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_inside_the_project_counts() {
        let owned = tempfile::tempdir().unwrap();
        let root = owned.path().canonicalize().unwrap();
        for folder in ["sync", "other"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        for file in ["sync/run.py", "run.sh", "python3", "odd[1].sh"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let names = |directory: &str, words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            find_named_files(&words, &root, &root.join(directory))
        };
        let none: [&str; 0] = [];
        assert_eq!(names("", &["python3", "sync/run.py", "--all"]), ["sync/run.py"]);
        assert_eq!(names("", &["./run.sh"]), ["run.sh"]);
        assert_eq!(names("sync", &["python3", "run.py", "../run.sh"]), ["sync/run.py", "run.sh"]);
        assert_eq!(names("", &["make", "-C", "sync"]), ["sync"]);
        assert_eq!(names("", &["sh", "run.sh", "run.sh"]), ["run.sh"]);
        assert_eq!(names("", &["sh", "-c", "./run.sh"]), ["run.sh"]);
        assert_eq!(names("", &["sh", "-c", "cat run.sh | sh"]), none);
        assert_eq!(names("", &["sh", "."]), none);
        assert_eq!(names("", &["sh", "/etc/passwd", "../..", "odd[1].sh", "gone.sh"]), none);
    }
}
