//! Computes what a program finds at each path, from the lists of a wall.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Private, Wall};

/// The access to a path and everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    /// The path is invisible.
    Hidden,
    /// The path can be read.
    Readable,
    /// The path can be written.
    Writable,
    /// Another folder is at this path.
    Private(PathBuf),
}

impl Wall {
    /// Returns the paths at which the access changes, parents before children. If two lists name
    /// the same path, the one that allows more takes precedence.
    pub(super) fn covers(&self) -> BTreeMap<PathBuf, Cover> {
        let mut named: BTreeMap<PathBuf, Cover> = BTreeMap::new();
        let mut name = |path: &Path, cover| {
            // A path that does not exist needs no cover, and cannot have one.
            if let Ok(path) = path.canonicalize() {
                named.insert(path, cover);
            }
        };
        for path in &self.hidden {
            name(path, Cover::Hidden);
        }
        for path in &self.readable {
            name(path, Cover::Readable);
        }
        for path in self.writable.iter().flatten() {
            name(path, Cover::Writable);
        }
        for private in &self.private {
            if let Some(folder) = self.folder_for(private) {
                name(&private.at, Cover::Private(folder));
            }
        }
        let mut covers: BTreeMap<PathBuf, Cover> = BTreeMap::new();
        for (path, cover) in named {
            if self.changes(nearest(&covers, &path), &cover) {
                covers.insert(path, cover);
            }
        }
        covers
    }

    /// Returns the folder that replaces a private path. A path without a folder of its own is found
    /// at its place in the private folder around it; `None` if there is no such folder, and the
    /// path is then not replaced.
    fn folder_for(&self, private: &Private) -> Option<PathBuf> {
        if !private.folder.as_os_str().is_empty() {
            return Some(private.folder.clone());
        }
        let at = private.at.canonicalize().ok()?;
        let around = |other: &&Private| {
            !other.folder.as_os_str().is_empty() && at != other.at && at.starts_with(&other.at)
        };
        let around =
            self.private.iter().filter(around).max_by_key(|other| other.at.as_os_str().len())?;
        Some(around.folder.join(at.strip_prefix(&around.at).ok()?))
    }

    /// Returns whether a cover changes the access below another one.
    fn changes(&self, around: Option<&Cover>, cover: &Cover) -> bool {
        match (around, cover) {
            (_, Cover::Private(_))
            | (Some(Cover::Hidden | Cover::Readable | Cover::Private(_)), Cover::Writable) => true,
            (around, Cover::Hidden) => around != Some(&Cover::Hidden),
            (around, Cover::Readable) => {
                matches!(around, Some(Cover::Hidden | Cover::Private(_)))
            }
            (Some(Cover::Writable), Cover::Writable) => false,
            (None, Cover::Writable) => self.writable.is_some(),
        }
    }
}

/// Returns the cover that applies to a path from above.
pub(super) fn nearest<'a>(covers: &'a BTreeMap<PathBuf, Cover>, path: &Path) -> Option<&'a Cover> {
    path.ancestors().skip(1).find_map(|above| covers.get(above))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lists_are_laid_over_each_other() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for name in
            ["home/project/.own/task/deep", "home/tools/token", "home/tools/cache", "temp", "mine"]
        {
            fs::create_dir_all(at(name)).unwrap();
        }
        let wall = Wall {
            writable: Some(vec![at("home/project/.own/task"), at("home/project/.own/task/deep")]),
            hidden: vec![
                at("home"),
                at("home/tools/token"),
                at("home/gone"),
                at("home/project/.own"),
            ],
            readable: vec![at("home/project"), at("home/tools"), at("home/project/.own/task/deep")],
            private: vec![
                Private { at: at("temp"), folder: at("mine") },
                Private { at: at("home"), folder: at("own") },
                Private::of_own(at("home/tools/cache")),
                Private::of_own(at("mine")),
            ],
            ..Wall::default()
        };
        let covers: Vec<(PathBuf, Cover)> = wall.covers().into_iter().collect();
        assert_eq!(
            covers,
            [
                (at("home"), Cover::Private(at("own"))),
                (at("home/project"), Cover::Readable),
                (at("home/project/.own"), Cover::Hidden),
                (at("home/project/.own/task"), Cover::Writable),
                (at("home/tools"), Cover::Readable),
                (at("home/tools/cache"), Cover::Private(at("own/tools/cache"))),
                (at("home/tools/token"), Cover::Hidden),
                (at("temp"), Cover::Private(at("mine"))),
            ]
        );
    }
}
