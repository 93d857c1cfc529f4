//! Computes what a program finds at each path, from the lists of a wall.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{PrivateFolder, Wall};

/// The access to a path and everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathCover {
    Hidden,
    Readable,
    Writable,
    /// Another folder is at this path.
    Private(PathBuf),
}

impl Wall {
    /// Returns the paths at which the access changes, parents before children. If two lists name
    /// the same path, the one that allows more takes precedence.
    pub(super) fn compute_covers(&self) -> BTreeMap<PathBuf, PathCover> {
        let mut named: BTreeMap<PathBuf, PathCover> = BTreeMap::new();
        let mut name = |path: &Path, cover| {
            // A path that does not exist needs no cover, and cannot have one.
            if let Ok(path) = path.canonicalize() {
                named.insert(path, cover);
            }
        };
        for path in &self.hidden {
            name(path, PathCover::Hidden);
        }
        for path in &self.readable {
            name(path, PathCover::Readable);
        }
        for path in self.writable.iter().flatten() {
            name(path, PathCover::Writable);
        }
        for private in &self.private {
            if let Some(folder) = self.folder_for(private) {
                name(&private.at, PathCover::Private(folder));
            }
        }
        let mut covers: BTreeMap<PathBuf, PathCover> = BTreeMap::new();
        for (path, cover) in named {
            if self.changes_access(nearest_cover(&covers, &path), &cover) {
                covers.insert(path, cover);
            }
        }
        covers
    }

    /// Returns the folder that replaces a private path. A path without a folder of its own is found
    /// at its place in the private folder around it; `None` if there is no such folder, and the
    /// path is then not replaced.
    fn folder_for(&self, private: &PrivateFolder) -> Option<PathBuf> {
        if !private.folder.as_os_str().is_empty() {
            return Some(private.folder.clone());
        }
        let at = private.at.canonicalize().ok()?;
        let around = |other: &&PrivateFolder| {
            !other.folder.as_os_str().is_empty() && at != other.at && at.starts_with(&other.at)
        };
        let around =
            self.private.iter().filter(around).max_by_key(|other| other.at.as_os_str().len())?;
        Some(around.folder.join(at.strip_prefix(&around.at).ok()?))
    }

    /// Returns whether a cover changes the access below another one.
    fn changes_access(&self, around: Option<&PathCover>, cover: &PathCover) -> bool {
        match (around, cover) {
            (_, PathCover::Private(_))
            | (
                Some(PathCover::Hidden | PathCover::Readable | PathCover::Private(_)),
                PathCover::Writable,
            ) => true,
            (around, PathCover::Hidden) => around != Some(&PathCover::Hidden),
            (around, PathCover::Readable) => {
                matches!(around, Some(PathCover::Hidden | PathCover::Private(_)))
            }
            (Some(PathCover::Writable), PathCover::Writable) => false,
            (None, PathCover::Writable) => self.writable.is_some(),
        }
    }
}

/// Returns the cover that applies to a path from above.
pub(super) fn nearest_cover<'a>(
    covers: &'a BTreeMap<PathBuf, PathCover>,
    path: &Path,
) -> Option<&'a PathCover> {
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
                PrivateFolder { at: at("temp"), folder: at("mine") },
                PrivateFolder { at: at("home"), folder: at("own") },
                PrivateFolder::in_private_home(at("home/tools/cache")),
                PrivateFolder::in_private_home(at("mine")),
            ],
            ..Wall::default()
        };
        let covers: Vec<(PathBuf, PathCover)> = wall.compute_covers().into_iter().collect();
        assert_eq!(
            covers,
            [
                (at("home"), PathCover::Private(at("own"))),
                (at("home/project"), PathCover::Readable),
                (at("home/project/.own"), PathCover::Hidden),
                (at("home/project/.own/task"), PathCover::Writable),
                (at("home/tools"), PathCover::Readable),
                (at("home/tools/cache"), PathCover::Private(at("own/tools/cache"))),
                (at("home/tools/token"), PathCover::Hidden),
                (at("temp"), PathCover::Private(at("mine"))),
            ]
        );
    }
}
