//! File modes in a repair: it must not turn a file into a program, a link or a repository of its
//! own.

use std::path::PathBuf;

use unstuck_core::fault::{Fault, Files};
use unstuck_world::git::GitFileMode;
use unstuck_world::git::raw::TreeDifference;

/// Returns the paths to which a change gives such a mode.
pub(super) fn find_gained_modes(differences: &[TreeDifference]) -> Vec<PathBuf> {
    let gains = |of: &&TreeDifference| match of.new {
        GitFileMode::Absent | GitFileMode::File => false,
        GitFileMode::Executable
        | GitFileMode::Link
        | GitFileMode::Submodule
        | GitFileMode::Other(_) => of.old != of.new,
    };
    differences.iter().filter(gains).map(|of| of.path.clone()).collect()
}

/// Returns the fault about these paths, with the patch that keeps the change that was taken back.
pub(super) fn gained_modes_fault(paths: &[PathBuf], patch: &std::path::Path) -> Fault {
    let files: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let message = format!("a repair must not make these programs or links: {}", files.join(", "));
    let patch = Some(patch.display().to_string());
    Fault::scope_forbidden("repair", message, Files { files, patch })
}

#[cfg(test)]
mod tests {
    use unstuck_world::git::raw::DifferenceKind;

    use super::*;

    #[test]
    fn only_what_becomes_more_than_it_was_is_named() {
        let table = [
            (GitFileMode::File, GitFileMode::File, false),
            (GitFileMode::Absent, GitFileMode::File, false),
            (GitFileMode::Executable, GitFileMode::Executable, false),
            (GitFileMode::Executable, GitFileMode::File, false),
            (GitFileMode::File, GitFileMode::Absent, false),
            (GitFileMode::File, GitFileMode::Executable, true),
            (GitFileMode::Absent, GitFileMode::Executable, true),
            (GitFileMode::File, GitFileMode::Link, true),
            (GitFileMode::Link, GitFileMode::Link, false),
            (GitFileMode::Absent, GitFileMode::Submodule, true),
            (GitFileMode::File, GitFileMode::Other(0o100_600), true),
        ];
        for (old, new, named) in table {
            let of = TreeDifference {
                path: "a".into(),
                from: None,
                what: DifferenceKind::Modified,
                old,
                new,
            };
            assert_eq!(!find_gained_modes(&[of]).is_empty(), named, "{old:?} to {new:?}");
        }
    }
}
