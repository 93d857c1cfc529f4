//! Names that no task may touch, in any spelling: the folders of git and of Unstuck.
//!
//! Some file systems take other spellings for the same name: upper case, characters that are
//! ignored when names are compared, dots and blanks at the end, and short names.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

/// Returns whether a component of the path is the folder of git or of Unstuck.
pub(super) fn is_private(path: &Path) -> bool {
    path.components().any(|component| match component {
        Component::Normal(name) => is_private_name(name.as_bytes()),
        _ => false,
    })
}

fn is_private_name(name: &[u8]) -> bool {
    let text = String::from_utf8_lossy(name);
    let kept: String = text.chars().filter(|letter| !is_invisible(*letter)).collect();
    // A colon separates another stream of the same file.
    let plain = kept.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    [".git", "git~1", ".unstuck"].iter().any(|private| plain.eq_ignore_ascii_case(private))
}

/// Returns whether some file systems ignore a character.
const fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_known() {
        for path in [
            ".git",
            ".git/config",
            "a/.GIT/hooks",
            ".Git",
            "GIT~1",
            ".git.",
            ".git ",
            ".git::$DATA",
            ".g\u{200c}it",
            ".unstuck/state.db",
            ".UNSTUCK",
        ] {
            assert!(is_private(Path::new(path)), "{path}");
        }
        for path in ["git", ".gitignore", ".github/x", "a.git/b", "unstuck", ".unstuck-notes"] {
            assert!(!is_private(Path::new(path)), "{path}");
        }
    }
}
