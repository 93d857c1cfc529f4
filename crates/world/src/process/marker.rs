//! The marker in the environment of every process of a tree: the lock of its run.
//!
//! If one run is nested in another, the marker names the outer runs as well, so that ending the
//! outer one finds every process. It is also the way to find a tree whose guard was killed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

pub(super) const VARIABLE: &str = "UNSTUCK_GUARD";

/// Separator between the runs of a value; it is escaped in paths.
const BETWEEN: u8 = b':';

/// Returns the value for the tree of `lock`, nested in the runs that `outer` names.
pub(super) fn nest_marker(outer: Option<&OsStr>, lock: &Path) -> OsString {
    let mut value = outer.map(|outer| outer.as_bytes().to_vec()).unwrap_or_default();
    if !value.is_empty() {
        value.push(BETWEEN);
    }
    value.extend(escape_path(lock));
    OsString::from_vec(value)
}

/// Returns whether an environment, in the kernel's format, marks its process as part of `lock`'s
/// tree.
#[cfg(target_os = "linux")]
pub(super) fn is_marked(environment: &[u8], lock: &Path) -> bool {
    let wanted = escape_path(lock);
    environment
        .split(|byte| *byte == 0)
        .filter_map(|entry| entry.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"="))
        .any(|value| value.split(|byte| *byte == BETWEEN).any(|run| run == wanted))
}

fn escape_path(lock: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in lock.as_os_str().as_bytes() {
        match *byte {
            b'%' => out.extend(b"%25"),
            BETWEEN => out.extend(b"%3A"),
            plain => out.push(plain),
        }
    }
    out
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn environment(value: &OsStr) -> Vec<u8> {
        [b"HOME=/\0UNSTUCK_GUARD=".as_slice(), value.as_bytes(), b"\0X=/p/b\0"].concat()
    }

    #[test]
    fn a_tree_is_known_by_its_own_run_and_the_runs_around_it() {
        let outer = nest_marker(None, Path::new("/p/a"));
        let inner = nest_marker(Some(&outer), Path::new("/p/b"));
        assert!(is_marked(&environment(&outer), Path::new("/p/a")));
        assert!(is_marked(&environment(&inner), Path::new("/p/a")));
        assert!(is_marked(&environment(&inner), Path::new("/p/b")));
    }

    #[test]
    fn a_run_is_never_taken_for_another() {
        let cases = ["/p/a1", "/p", "/a", "/x:/p/a", "/p/a:/x", "/x%3A/p/a", ""];
        for other in cases {
            let value = nest_marker(None, Path::new(other));
            assert!(!is_marked(&environment(&value), Path::new("/p/a")), "{other}");
        }
        // The values of other variables do not count.
        assert!(!is_marked(&environment(OsStr::new("/p/c")), Path::new("/p/b")));
    }
}
