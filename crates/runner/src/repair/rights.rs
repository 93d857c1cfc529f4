//! File modes in a repair: it must not turn a file into a program, a link or a repository of its
//! own.

use std::path::PathBuf;

use unstuck_core::fault::{Fault, Files};
use unstuck_world::git::Mode;
use unstuck_world::git::raw::Difference;

/// Returns the paths to which a change gives such a mode.
pub(super) fn gained(differences: &[Difference]) -> Vec<PathBuf> {
    let gains = |of: &&Difference| match of.new {
        Mode::Absent | Mode::File => false,
        Mode::Executable | Mode::Link | Mode::Submodule | Mode::Other(_) => of.old != of.new,
    };
    differences.iter().filter(gains).map(|of| of.path.clone()).collect()
}

/// Returns the fault about these paths, with the patch that keeps the change that was taken back.
pub(super) fn fault(paths: &[PathBuf], patch: &std::path::Path) -> Fault {
    let files: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let message = format!("a repair must not make these programs or links: {}", files.join(", "));
    let patch = Some(patch.display().to_string());
    Fault::scope_forbidden("repair", message, Files { files, patch })
}

#[cfg(test)]
mod tests {
    use unstuck_world::git::raw::What;

    use super::*;

    #[test]
    fn only_what_becomes_more_than_it_was_is_named() {
        let table = [
            (Mode::File, Mode::File, false),
            (Mode::Absent, Mode::File, false),
            (Mode::Executable, Mode::Executable, false),
            (Mode::Executable, Mode::File, false),
            (Mode::File, Mode::Absent, false),
            (Mode::File, Mode::Executable, true),
            (Mode::Absent, Mode::Executable, true),
            (Mode::File, Mode::Link, true),
            (Mode::Link, Mode::Link, false),
            (Mode::Absent, Mode::Submodule, true),
            (Mode::File, Mode::Other(0o100_600), true),
        ];
        for (old, new, named) in table {
            let of = Difference { path: "a".into(), from: None, what: What::Modified, old, new };
            assert_eq!(!gained(&[of]).is_empty(), named, "{old:?} to {new:?}");
        }
    }
}
