//! Additions of the settings to the sandboxes of agents, commands, setup, checks and hooks.

use std::path::{Path, PathBuf};

use unstuck_world::process::{PrivateFolder, ResourceLimits, Wall};

use crate::settings::WallSettings;

/// Bytes per megabyte of `wall.memory_mb`.
const MEGABYTE: u64 = 1 << 20;

/// Returns the sandbox rules of the settings, for the project at `root`.
pub(crate) fn wall_rules(settings: &WallSettings, root: &Path) -> Wall {
    let paths = |texts: &[String]| -> Vec<PathBuf> {
        texts.iter().map(|text| expand_path(text, root)).collect()
    };
    Wall {
        writable: Some(paths(&settings.writable)),
        readable: paths(&settings.readable),
        hidden: paths(&settings.hidden),
        private: paths(&settings.private).into_iter().map(PrivateFolder::in_private_home).collect(),
        limits: ResourceLimits {
            processes: Some(settings.processes),
            memory_bytes: settings.memory_mb.map(|megabytes| megabytes.saturating_mul(MEGABYTE)),
        },
        ..Wall::default()
    }
}

/// Expands a path of the settings: `~` is the home folder, and a relative path begins at the root.
fn expand_path(text: &str, root: &Path) -> PathBuf {
    let path = Path::new(text);
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => root.join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_at_the_root_or_in_the_home_folder() {
        let root = Path::new("/p");
        assert_eq!(expand_path("cache", root), Path::new("/p/cache"));
        assert_eq!(expand_path("/var/cache", root), Path::new("/var/cache"));
        let home = std::env::home_dir().unwrap();
        assert_eq!(expand_path("~/.m2/repository", root), home.join(".m2/repository"));
    }
}
