//! What our own fence did to a command. It is no outage and nobody's broken tool: waiting does not
//! help, and neither does asking who runs the other side.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use unstuck_core::fault::{Category, Code, ErrorType, Fault};

use crate::commands::Network;

/// What the agent reads where the network is off.
const NO_NETWORK: &str = "commands of this project have no network (commands.network = false): this \
     is no outage, and trying again does not help; work with what is here, or ask a person";

/// Words about a connection, in lower case, as tools use them where the system refused one.
const CONNECTING: [&str; 5] = ["connect", "resolve", "network", "socket", "host"];

/// Words with which the system refuses a path.
const CLOSED: [&str; 3] = ["permission denied", "operation not permitted", "read-only file system"];

/// What our fence kept a command from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// From the network.
    FromNetwork,
    /// From a path outside of what may be written.
    FromPath(PathBuf),
}

impl Kept {
    /// What the agent reads.
    pub(super) fn for_agent(&self) -> String {
        match self {
            Self::FromNetwork => NO_NETWORK.to_owned(),
            Self::FromPath(path) => format!(
                "{} is outside of what commands of this project may write: it is not broken, and \
                 trying again does not help; write below the worktree, or ask a person",
                path.display()
            ),
        }
    }

    /// What people read in the log.
    pub(super) fn for_people(&self) -> String {
        match self {
            Self::FromNetwork => {
                "A command was kept from the network, because commands.network is off.".to_owned()
            }
            Self::FromPath(path) => {
                format!(
                    "A command was kept from writing to {}, outside the worktree.",
                    path.display()
                )
            }
        }
    }
}

/// What of a failure is the doing of our fence; none where it is a failure of its own.
pub(super) fn by_our_fence(
    fault: &Fault,
    output: &str,
    network: Network,
    writable: Option<&[PathBuf]>,
) -> Option<Kept> {
    let lower = output.to_lowercase();
    let refused = CLOSED.iter().any(|word| lower.contains(word));
    if network.is_off() {
        let outage = fault.category() == Category::Environment
            && fault.error_type() == ErrorType::Network
            && fault.code() != Code::EnvDiskFull;
        if outage || (refused && CONNECTING.iter().any(|word| lower.contains(word))) {
            return Some(Kept::FromNetwork);
        }
    }
    let closed = output.lines().filter(|line| {
        let line = line.to_lowercase();
        CLOSED.iter().any(|word| line.contains(word))
    });
    let mut paths = closed.flat_map(paths);
    paths.find(|path| is_outside(path, writable)).map(Kept::FromPath)
}

/// The absolute paths of a line.
fn paths(line: &str) -> impl Iterator<Item = PathBuf> + '_ {
    let words = line.split([' ', '\t', '\'', '"', '`', ':', ',', ';', '(', ')', '=', '‘', '’']);
    words.filter(|word| word.len() > 1 && word.starts_with('/')).map(PathBuf::from)
}

/// Whether a path that is there, or could be, is closed by our fence.
fn is_outside(path: &Path, writable: Option<&[PathBuf]>) -> bool {
    let Some(writable) = writable else { return false };
    // Where the person themselves may not write, the fence is not what is in the way.
    let near = path.ancestors().find(|place| place.exists());
    let own = near.is_some_and(|place| access(place, Access::WRITE_OK).is_ok());
    own && !writable.iter().any(|place| path.starts_with(place))
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::{Kind, Tool};

    use super::*;

    fn fault(code: Code) -> Fault {
        Fault::new(Kind::bare(code), "shell", "x")
    }

    // B45: what our fence does is never taken for an outage.
    #[test]
    fn a_closed_network_is_no_outage() {
        let output = "curl: (6) Could not resolve host: example.org";
        let of = |code, output: &str, network| {
            by_our_fence(&fault(code), output, network, None).is_some()
        };
        for code in [Code::EnvDns, Code::EnvConnection, Code::EnvUnavailable, Code::EnvRegistry] {
            assert!(of(code, output, Network::Landlock), "{code}");
            assert!(!of(code, output, Network::Open), "{code}");
            assert!(!of(code, output, Network::NotPossible), "{code}");
        }
        let refused = "Failed to connect to example.org port 443: Permission denied";
        assert!(of(Code::ToolAccessDenied, refused, Network::Landlock));
        assert!(!of(Code::LogicError, "assertion failed", Network::Landlock));
        assert!(!of(Code::EnvDiskFull, "No space left on device", Network::Landlock));
        let other = Fault::tool_missing("shell", "no jq", Tool::default());
        assert_eq!(by_our_fence(&other, "jq: not found", Network::Landlock, None), None);
    }

    #[test]
    fn a_closed_path_is_named() {
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("in"), place.path().join("out"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        let writable = [inside.clone()];
        let of = |path: &Path| {
            let output = format!("touch: cannot touch '{}': Permission denied", path.display());
            let fault = fault(Code::ToolAccessDenied);
            by_our_fence(&fault, &output, Network::Open, Some(&writable))
        };
        assert_eq!(of(&outside.join("x")), Some(Kept::FromPath(outside.join("x"))));
        assert_eq!(of(&inside.join("x")), None);
        let open = by_our_fence(&fault(Code::ToolAccessDenied), "no path", Network::Open, None);
        assert_eq!(open, None);
    }
}
