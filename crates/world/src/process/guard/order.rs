//! The order to a guard, and its encoding.
//!
//! An order is not passed as arguments: a guard may be started before its program is known, and
//! arguments can be read by every user of the machine.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::time::Duration;

use crate::process::wall::{Wall, WallLayers};

/// Maximum size of an order in bytes: more than any system allows for arguments and environment.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The terminal session of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminalSession {
    /// A session of its own: terminal input and signals do not reach the program.
    #[default]
    Own,
    /// The caller's session: the program stays in the foreground process group, and Ctrl-C reaches
    /// it as it would without a guard.
    Caller,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::process) struct GuardOrder {
    pub(in crate::process) session: TerminalSession,
    /// Time between SIGTERM and SIGKILL.
    pub(in crate::process) grace: Duration,
    /// The sandbox of the program, and the layers it is made of.
    pub(in crate::process) wall: Wall,
    pub(in crate::process) layers: WallLayers,
    /// `true` if the program inherits the guard's environment.
    pub(in crate::process) inherits_environment: bool,
    /// Changes to that environment; `None` removes a variable.
    pub(in crate::process) environment: Vec<(OsString, Option<OsString>)>,
    pub(in crate::process) lock: PathBuf,
    pub(in crate::process) directory: PathBuf,
    pub(in crate::process) program: OsString,
    pub(in crate::process) args: Vec<OsString>,
}

impl GuardOrder {
    /// Encodes the order: its length, then words that each end with a zero byte, which no path and
    /// no argument can contain.
    pub(in crate::process) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<u64>()];
        for word in self.into_words() {
            bytes.extend(word.into_vec());
            bytes.push(0);
        }
        let length = (bytes.len() - size_of::<u64>()) as u64;
        bytes[..size_of::<u64>()].copy_from_slice(&length.to_ne_bytes());
        bytes
    }

    /// Waits for an order; returns `None` if the pipe ends without one.
    pub(super) fn read_from(mut from: impl Read) -> Option<Self> {
        let mut length = [0; size_of::<u64>()];
        from.read_exact(&mut length).ok()?;
        let length = u64::from_ne_bytes(length);
        let mut bytes = Vec::new();
        from.take(length.min(BYTES_MAX)).read_to_end(&mut bytes).ok()?;
        let is_whole = bytes.len() as u64 == length && bytes.pop() == Some(0);
        is_whole.then(|| Self::from_words(bytes.split(|byte| *byte == 0)))?
    }

    pub(super) fn search_path(&self) -> Option<OsString> {
        match self.environment.iter().rfind(|(name, _)| name == "PATH") {
            Some((_, value)) => value.clone(),
            None if self.inherits_environment => std::env::var_os("PATH"),
            None => None,
        }
    }

    fn into_words(self) -> impl Iterator<Item = OsString> {
        let session = match self.session {
            TerminalSession::Own => "own-session",
            TerminalSession::Caller => "caller-session",
        };
        let grace_ms = self.grace.as_millis().to_string();
        let inherits = if self.inherits_environment { "inherits" } else { "bare" };
        let changes = self.environment.len().to_string();
        let lock = self.lock.into();
        let directory = self.directory.into();
        [session.into(), grace_ms.into()]
            .into_iter()
            .chain(self.wall.into_words())
            .chain(self.layers.into_words())
            .chain([inherits.into(), changes.into()])
            .chain(self.environment.into_iter().flat_map(encode_change))
            .chain([lock, directory, self.program])
            .chain(self.args)
    }

    fn from_words<'a>(words: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut words = words.map(|word| OsStr::from_bytes(word).to_owned());
        Some(Self {
            session: match words.next()?.to_str()? {
                "own-session" => TerminalSession::Own,
                "caller-session" => TerminalSession::Caller,
                _ => return None,
            },
            grace: Duration::from_millis(words.next()?.to_str()?.parse().ok()?),
            wall: Wall::from_words(&mut words)?,
            layers: WallLayers::from_words(&mut words)?,
            inherits_environment: match words.next()?.to_str()? {
                "inherits" => true,
                "bare" => false,
                _ => return None,
            },
            environment: parse_environment(&mut words)?,
            lock: words.next()?.into(),
            directory: words.next()?.into(),
            program: words.next()?,
            args: words.collect(),
        })
    }
}

/// Encodes a change of the environment as two words; a sign precedes the value.
fn encode_change((name, value): (OsString, Option<OsString>)) -> [OsString; 2] {
    let mut change = OsString::from(if value.is_some() { "=" } else { "-" });
    change.push(value.unwrap_or_default());
    [name, change]
}

fn parse_environment(
    words: &mut impl Iterator<Item = OsString>,
) -> Option<Vec<(OsString, Option<OsString>)>> {
    let count: usize = words.next()?.to_str()?.parse().ok()?;
    // No memory is reserved by the count, because it is not trusted.
    let mut changes = Vec::new();
    for _ in 0..count {
        let name = words.next()?;
        let value = match words.next()?.as_bytes().split_first()? {
            (b'=', value) => Some(OsStr::from_bytes(value).to_owned()),
            (b'-', []) => None,
            _ => return None,
        };
        changes.push((name, value));
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> GuardOrder {
        GuardOrder {
            session: TerminalSession::Caller,
            grace: Duration::from_millis(1_500),
            wall: Wall::default(),
            layers: WallLayers::default(),
            inherits_environment: true,
            environment: vec![
                ("KEY".into(), Some("a=b\nc".into())),
                ("GONE".into(), None),
                ("EMPTY".into(), Some(OsString::new())),
            ],
            lock: "/p/run 1/lock".into(),
            directory: "/p".into(),
            program: OsString::from_vec(vec![b'a', 0xff]),
            args: vec!["--".into(), OsString::new(), "__guard".into(), OsString::new()],
        }
    }

    fn said(words: &[&str]) -> Option<GuardOrder> {
        let bytes: Vec<u8> =
            words.iter().flat_map(|word| [word.as_bytes(), &[0]].concat()).collect();
        let length = (bytes.len() as u64).to_ne_bytes();
        GuardOrder::read_from([length.as_slice(), &bytes].concat().as_slice())
    }

    #[test]
    fn an_order_survives_its_way() {
        for writable in [None, Some(Vec::new()), Some(vec!["/p q".into(), "bare".into()])] {
            let wall = Wall { writable, ..Wall::default() };
            let bare = GuardOrder { wall, inherits_environment: false, ..order() };
            assert_eq!(GuardOrder::read_from(bare.clone().into_bytes().as_slice()), Some(bare));
        }
        assert_eq!(GuardOrder::read_from(order().into_bytes().as_slice()), Some(order()));
    }

    #[test]
    fn what_follows_an_order_is_not_read() {
        let bytes = [order().into_bytes(), b"more".to_vec()].concat();
        let mut from = bytes.as_slice();
        assert_eq!(GuardOrder::read_from(&mut from), Some(order()));
        assert_eq!(from, b"more");
    }

    #[test]
    fn an_order_that_was_cut_off_is_none() {
        let whole = order().into_bytes();
        for end in 0..whole.len() {
            assert_eq!(GuardOrder::read_from(&whole[..end]), None, "{end}");
        }
        assert_eq!(GuardOrder::read_from(u64::MAX.to_ne_bytes().as_slice()), None);
    }

    #[test]
    fn what_is_no_order_is_refused() {
        let open = ["-", "0", "0", "0", "-", "-", "-", "-", "-"];
        let layers = ["-", "yes", "yes"];
        let before = ["own-session", "5"];
        let after = ["bare", "1", "A", "=1", "/l", "/", "true"];
        let good = [&before[..], &open, &layers, &after].concat();
        assert!(said(&good).is_some());
        let wrong = [
            (0, "--help"),
            (1, "soon"),
            (2, "some"),
            (2, "9"),
            (12, "perhaps"),
            (14, "all"),
            (15, "many"),
            (15, "9"),
            (17, "1"),
            (17, "-1"),
            (17, ""),
        ];
        for (at, word) in wrong {
            let mut words = good.clone();
            words[at] = word;
            assert_eq!(said(&words), None, "{word:?} at {at}");
        }
        assert_eq!(said(&good[..good.len() - 1]), None);
        assert_eq!(said(&[]), None);
    }
}
