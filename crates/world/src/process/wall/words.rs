//! The encoding of a wall and its layers as words, for orders to a guard and to the stage inside.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::{Connections, PrivateFolder, ResourceLimits, Wall, WallLayers};
use crate::process::socket::PortForward;

/// The word for a missing list, path or number.
const NONE: &str = "-";

impl WallLayers {
    pub(in crate::process) fn into_words(self) -> impl Iterator<Item = OsString> {
        let bubblewrap = self.bubblewrap.map_or_else(|| NONE.into(), PathBuf::into_os_string);
        [bubblewrap, encode_bool(self.landlock), encode_bool(self.seccomp)].into_iter()
    }

    pub(in crate::process) fn from_words(
        words: &mut impl Iterator<Item = OsString>,
    ) -> Option<Self> {
        let bubblewrap = words.next()?;
        Some(Self {
            bubblewrap: (bubblewrap != NONE).then(|| bubblewrap.into()),
            landlock: parse_bool(&words.next()?)?,
            seccomp: parse_bool(&words.next()?)?,
        })
    }
}

impl Wall {
    pub(in crate::process) fn into_words(self) -> impl Iterator<Item = OsString> {
        let Self { writable, hidden, readable, private, network, limits } = self;
        let private = private.into_iter().flat_map(|private| [private.at, private.folder]);
        let forwards = match network {
            Connections::Open => None,
            Connections::Closed(forwards) => Some(forwards),
        };
        let ResourceLimits { processes, memory_bytes, file_bytes, disk_free_bytes_min } = limits;
        let numbers = [processes, memory_bytes, file_bytes, disk_free_bytes_min];
        let forwards = forwards.map(|forwards| {
            let words = |forward: PortForward| [forward.port.to_string().into(), forward.socket];
            forwards.into_iter().flat_map(words).collect()
        });
        encode_list(writable)
            .chain(encode_list(Some(hidden)))
            .chain(encode_list(Some(readable)))
            .chain(encode_list(Some(private.collect())))
            .chain(encode_list(forwards))
            .chain(numbers.map(encode_number))
    }

    pub(in crate::process) fn from_words(
        words: &mut impl Iterator<Item = OsString>,
    ) -> Option<Self> {
        Some(Self {
            writable: parse_list(words)?,
            hidden: parse_list(words)??,
            readable: parse_list(words)??,
            private: parse_pairs(parse_list(words)??, |at, folder| {
                Some(PrivateFolder { at, folder })
            })?,
            network: match parse_list(words)? {
                None => Connections::Open,
                Some(forwards) => Connections::Closed(parse_pairs(forwards, |port, socket| {
                    Some(PortForward { port: port.to_str()?.parse().ok()?, socket })
                })?),
            },
            limits: ResourceLimits {
                processes: parse_number(&words.next()?)?,
                memory_bytes: parse_number(&words.next()?)?,
                file_bytes: parse_number(&words.next()?)?,
                disk_free_bytes_min: parse_number(&words.next()?)?,
            },
        })
    }
}

/// Encodes a list: the number of paths, then the paths.
fn encode_list(paths: Option<Vec<PathBuf>>) -> impl Iterator<Item = OsString> {
    let count = paths.as_ref().map_or_else(|| NONE.to_owned(), |paths| paths.len().to_string());
    let paths = paths.into_iter().flatten().map(PathBuf::into_os_string);
    std::iter::once(OsString::from(count)).chain(paths)
}

#[expect(clippy::option_option, reason = "no list is another thing than words that are none")]
fn parse_list(words: &mut impl Iterator<Item = OsString>) -> Option<Option<Vec<PathBuf>>> {
    let count = words.next()?;
    if count == NONE {
        return Some(None);
    }
    let count: usize = count.to_str()?.parse().ok()?;
    // No memory is reserved by the count, because it is not trusted.
    let paths: Vec<PathBuf> = words.take(count).map(PathBuf::from).collect();
    (paths.len() == count).then_some(Some(paths))
}

fn parse_pairs<T>(
    paths: Vec<PathBuf>,
    make: impl Fn(PathBuf, PathBuf) -> Option<T>,
) -> Option<Vec<T>> {
    let mut paths = paths.into_iter();
    let mut all = Vec::new();
    while let Some(first) = paths.next() {
        all.push(make(first, paths.next()?)?);
    }
    Some(all)
}

fn encode_bool(yes: bool) -> OsString {
    if yes { "yes" } else { "no" }.into()
}

fn parse_bool(word: &OsStr) -> Option<bool> {
    match word.as_bytes() {
        b"yes" => Some(true),
        b"no" => Some(false),
        _ => None,
    }
}

fn encode_number(number: Option<u64>) -> OsString {
    number.map_or_else(|| NONE.into(), |number| number.to_string().into())
}

#[expect(clippy::option_option, reason = "no number is another thing than a word that is none")]
fn parse_number(word: &OsStr) -> Option<Option<u64>> {
    if word == NONE { Some(None) } else { word.to_str()?.parse().ok().map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Wall {
        Wall {
            writable: Some(vec!["/p q".into(), "-".into()]),
            hidden: vec!["/h".into()],
            readable: Vec::new(),
            private: vec![PrivateFolder { at: "/tmp".into(), folder: "/p/tmp".into() }],
            network: Connections::Closed(vec![PortForward { port: 8080, socket: "/s".into() }]),
            limits: ResourceLimits {
                processes: Some(7),
                file_bytes: Some(9),
                ..ResourceLimits::default()
            },
        }
    }

    #[test]
    fn a_wall_survives_its_way() {
        let closed = Wall { network: Connections::Closed(Vec::new()), ..Wall::default() };
        for wall in [Wall::default(), closed, whole()] {
            let mut words = wall.clone().into_words();
            assert_eq!(Wall::from_words(&mut words), Some(wall));
            assert_eq!(words.next(), None);
        }
        let bubblewrap = Some("/usr/bin/bwrap".into());
        for layers in
            [WallLayers::default(), WallLayers { bubblewrap, landlock: false, seccomp: false }]
        {
            assert_eq!(WallLayers::from_words(&mut layers.clone().into_words()), Some(layers));
        }
    }

    #[test]
    fn a_wall_that_was_cut_off_or_altered_is_none() {
        let words: Vec<OsString> = whole().into_words().collect();
        for end in 0..words.len() {
            assert_eq!(Wall::from_words(&mut words[..end].iter().cloned()), None, "{end}");
        }
        for (at, wrong) in [(0, "many"), (0, "99"), (3, "x"), (10, "http"), (12, "some")] {
            let mut words = words.clone();
            words[at] = wrong.into();
            assert_eq!(Wall::from_words(&mut words.into_iter()), None, "{wrong} at {at}");
        }
    }
}
