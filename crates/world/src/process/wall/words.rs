//! The encoding of a wall and its layers as words, for orders to a guard and to the stage inside.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::{Connections, Layers, Limits, Private, Wall};
use crate::egress::Forward;

/// The word for a missing list, path or number.
const NONE: &str = "-";

impl Layers {
    pub(in crate::process) fn into_words(self) -> impl Iterator<Item = OsString> {
        let bubblewrap = self.bubblewrap.map_or_else(|| NONE.into(), PathBuf::into_os_string);
        [bubblewrap, yes_or_no(self.landlock), yes_or_no(self.seccomp)].into_iter()
    }

    pub(in crate::process) fn from_words(
        words: &mut impl Iterator<Item = OsString>,
    ) -> Option<Self> {
        let bubblewrap = words.next()?;
        Some(Self {
            bubblewrap: (bubblewrap != NONE).then(|| bubblewrap.into()),
            landlock: read_bool(&words.next()?)?,
            seccomp: read_bool(&words.next()?)?,
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
        let forwards = forwards.map(|forwards| {
            let words = |forward: Forward| [forward.port.to_string().into(), forward.socket];
            forwards.into_iter().flat_map(words).collect()
        });
        list_words(writable)
            .chain(list_words(Some(hidden)))
            .chain(list_words(Some(readable)))
            .chain(list_words(Some(private.collect())))
            .chain(list_words(forwards))
            .chain([limits.processes, limits.memory_bytes].map(number_word))
    }

    pub(in crate::process) fn from_words(
        words: &mut impl Iterator<Item = OsString>,
    ) -> Option<Self> {
        Some(Self {
            writable: read_list(words)?,
            hidden: read_list(words)??,
            readable: read_list(words)??,
            private: pairs(read_list(words)??, |at, folder| Some(Private { at, folder }))?,
            network: match read_list(words)? {
                None => Connections::Open,
                Some(forwards) => Connections::Closed(pairs(forwards, |port, socket| {
                    Some(Forward { port: port.to_str()?.parse().ok()?, socket })
                })?),
            },
            limits: Limits {
                processes: read_number(&words.next()?)?,
                memory_bytes: read_number(&words.next()?)?,
            },
        })
    }
}

/// Encodes a list: the number of paths, then the paths.
fn list_words(paths: Option<Vec<PathBuf>>) -> impl Iterator<Item = OsString> {
    let count = paths.as_ref().map_or_else(|| NONE.to_owned(), |paths| paths.len().to_string());
    let paths = paths.into_iter().flatten().map(PathBuf::into_os_string);
    std::iter::once(OsString::from(count)).chain(paths)
}

#[expect(clippy::option_option, reason = "no list is another thing than words that are none")]
fn read_list(words: &mut impl Iterator<Item = OsString>) -> Option<Option<Vec<PathBuf>>> {
    let count = words.next()?;
    if count == NONE {
        return Some(None);
    }
    let count: usize = count.to_str()?.parse().ok()?;
    // No memory is reserved by the count, because it is not trusted.
    let paths: Vec<PathBuf> = words.take(count).map(PathBuf::from).collect();
    (paths.len() == count).then_some(Some(paths))
}

fn pairs<T>(paths: Vec<PathBuf>, make: impl Fn(PathBuf, PathBuf) -> Option<T>) -> Option<Vec<T>> {
    let mut paths = paths.into_iter();
    let mut all = Vec::new();
    while let Some(first) = paths.next() {
        all.push(make(first, paths.next()?)?);
    }
    Some(all)
}

fn yes_or_no(yes: bool) -> OsString {
    if yes { "yes" } else { "no" }.into()
}

fn read_bool(word: &OsStr) -> Option<bool> {
    match word.as_bytes() {
        b"yes" => Some(true),
        b"no" => Some(false),
        _ => None,
    }
}

fn number_word(number: Option<u64>) -> OsString {
    number.map_or_else(|| NONE.into(), |number| number.to_string().into())
}

#[expect(clippy::option_option, reason = "no number is another thing than a word that is none")]
fn read_number(word: &OsStr) -> Option<Option<u64>> {
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
            private: vec![Private { at: "/tmp".into(), folder: "/p/tmp".into() }],
            network: Connections::Closed(vec![Forward { port: 8080, socket: "/s".into() }]),
            limits: Limits { processes: Some(7), memory_bytes: None },
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
        for layers in [Layers::default(), Layers { bubblewrap, landlock: false, seccomp: false }] {
            assert_eq!(Layers::from_words(&mut layers.clone().into_words()), Some(layers));
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
