//! The default paths that are hidden and readable: the system and toolchains can be read, the
//! operator's home folder and runtime files of the machine cannot.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::{PrivateFolder, Wall};

/// Secrets of the system, the sockets of its services, and shared temporary files.
const HIDDEN: [&str; 12] = [
    "/home", "/root", "/run", "/tmp", "/var/tmp", "/etc/shadow", "/etc/gshadow", "/etc/sudoers.d",
    "/etc/ssh", "/etc/ssl/private", "/var/lib/docker", "/var/lib/mysql",
];

/// Folders of the root directory that belong to the system. The others hold data of people:
/// projects, data, disks.
const OF_SYSTEM: [&str; 18] = [
    "bin", "boot", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc",
    "run", "sbin", "snap", "sys", "usr", "var",
];

/// Paths below hidden ones that belong to the system: the resolver's configuration, and the places
/// where some distributions keep their programs.
const SYSTEM: [&str; 4] =
    ["/etc/resolv.conf", "/run/current-system", "/run/wrappers", "/run/opengl-driver"];

/// Toolchains, their downloads, and settings without secrets, below the home folder. Paths that
/// these programs have to write to are not listed: they are found in the private home.
const TOOLCHAINS: [&str; 62] = [
    ".asdf", ".bun", ".bundle", ".cabal", ".cache/Cypress", ".cache/deno", ".cache/ms-playwright",
    ".cache/puppeteer", ".cargo", ".composer", ".conan2", ".conda", ".config/git", ".config/go",
    ".config/mise", ".deno", ".dotnet", ".elan", ".fnm", ".gem", ".ghcup", ".gitconfig",
    ".gitignore", ".jdks", ".jenv", ".julia", ".juliaup", ".local/bin", ".local/lib",
    ".local/share/claude", ".local/share/coursier", ".local/share/fnm", ".local/share/gem",
    ".local/share/mise", ".local/share/nvm", ".local/share/pipx", ".local/share/pnpm",
    ".local/share/uv", ".local/share/virtualenv", ".local/share/virtualenvs", ".m2", ".mix",
    ".nuget", ".nvm", ".opam", ".pyenv", ".rbenv", ".rustup", ".rvm", ".sdkman", ".stack",
    ".swiftpm", ".tool-versions", ".volta", ".yarn", ".yarnrc", "anaconda3", "go", "mambaforge",
    "miniconda3", "miniforge3", "sdk",
];

/// Paths that package managers write to below readable folders: a task has empty ones of its own.
const DOWNLOADS: [&str; 3] = [".composer/cache", ".local/share/pnpm/store", ".yarn/berry"];

/// Interpreters, which are often links.
const INTERPRETERS: [&str; 4] = ["python3", "python", "node", "ruby"];

/// Secrets below the home folder. Most of them are hidden with it; they stay hidden where a project
/// or a toolchain makes the folder around them readable.
const SECRETS: [&str; 66] = [
    ".aws", ".azure", ".bash_history", ".bundle/config", ".cargo/credentials",
    ".cargo/credentials.toml", ".claude", ".claude.json", ".codex", ".composer/auth.json",
    ".config/BraveSoftware", ".config/Code", ".config/chromium", ".config/composer/auth.json",
    ".config/doctl", ".config/gcloud", ".config/gh", ".config/git/credentials", ".config/glab-cli",
    ".config/google-chrome", ".config/heroku", ".config/hub", ".config/microsoft-edge",
    ".config/op", ".config/rclone", ".config/sops", ".config/unstuck", ".databrickscfg", ".docker",
    ".fly", ".gem/credentials", ".git-credentials", ".gnupg", ".gradle/gradle.properties",
    ".hex/hex.config", ".histfile", ".ivy2/.credentials", ".kube", ".lesshst", ".local/share/fish",
    ".local/share/gem/credentials", ".local/share/keyrings", ".local/share/unstuck",
    ".local/state/unstuck", ".m2/settings-security.xml", ".m2/settings.xml", ".mozilla", ".my.cnf",
    ".mysql_history", ".netrc", ".node_repl_history", ".npmrc", ".password-store", ".pgpass",
    ".psql_history", ".pypirc", ".python_history", ".s3cfg", ".sbt/1.0/credentials",
    ".sqlite_history", ".ssh", ".terraform.d", ".thunderbird", ".vault-token", ".yarnrc.yml",
    ".zsh_history",
];

impl Wall {
    /// Creates a wall that lets a program read the system and toolchains, and write to no path. The
    /// folders in `search_path`, where the program looks for others, can be read.
    pub fn with_usual_paths(search_path: Option<&OsStr>) -> Self {
        let home = std::env::home_dir().filter(|home| home.parent().is_some());
        let below_home = |names: &[&str]| -> Vec<PathBuf> {
            home.iter().flat_map(|home| names.iter().map(|name| home.join(name))).collect()
        };
        let hidden =
            HIDDEN.iter().map(PathBuf::from).chain(home.clone()).chain(non_system_folders());
        let hidden = hidden.chain(below_home(&SECRETS)).collect();
        let searched = search_path.into_iter().flat_map(std::env::split_paths);
        let searched = searched.filter(|place| place.is_absolute());
        let searched = searched.flat_map(|place| with_interpreters(&place, home.as_deref()));
        let readable = SYSTEM.iter().map(PathBuf::from).chain(below_home(&TOOLCHAINS));
        let downloads = below_home(&DOWNLOADS).into_iter().map(PrivateFolder::in_private_home);
        Self {
            writable: Some(Vec::new()),
            hidden,
            readable: readable.chain(searched).collect(),
            private: downloads.collect(),
            ..Self::default()
        }
    }

    /// Makes another program, which is about to be started, readable, with the folder around it
    /// unless that is hidden itself.
    pub fn admit_program(&mut self, program: &Path) {
        let Ok(program) = fs::canonicalize(program) else { return };
        let around = program.parent().filter(|around| !self.hidden.iter().any(|at| at == around));
        self.readable.push(around.unwrap_or(&program).to_owned());
    }
}

/// Returns the folders of the root directory that do not belong to the system.
fn non_system_folders() -> impl Iterator<Item = PathBuf> {
    let found = fs::read_dir("/").into_iter().flatten().flatten();
    let folders = found.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).filter(|path| !is_system_path(path))
}

fn is_system_path(path: &Path) -> bool {
    let first = path.iter().nth(1).and_then(OsStr::to_str);
    first.is_some_and(|first| OF_SYSTEM.contains(&first))
}

/// Returns the folder of a toolchain, and those of the interpreters that its links lead to: a
/// virtual environment of Python consists of links.
fn with_interpreters(place: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let linked = INTERPRETERS.iter().filter_map(|name| fs::canonicalize(place.join(name)).ok());
    let linked = linked.filter_map(|program| Some(toolchain_around(program.parent()?, home)));
    let mut found: Vec<PathBuf> = linked.collect();
    found.push(toolchain_around(place, home));
    found
}

/// Returns the folder of a toolchain whose programs are at `place`: the parent of `place`, if that
/// lies below the home folder and is not all of it, or below a folder that does not belong to the
/// system.
fn toolchain_around(place: &Path, home: Option<&Path>) -> PathBuf {
    // Also a toolchain in another user's home folder, or in the operator's own if `HOME` names
    // another.
    let is_known = |around: &&Path| {
        around
            .file_name()
            .and_then(OsStr::to_str)
            .is_some_and(|name| name.starts_with('.') && TOOLCHAINS.contains(&name))
    };
    if let Some(known) = place.ancestors().find(is_known) {
        return known.to_owned();
    }
    let is_own = |around: &&Path| {
        let shared = around.file_name() == Some(OsStr::new(".local"));
        let in_home = home.is_some_and(|home| around.starts_with(home) && *around != home);
        !shared && (in_home || is_outside_system(around) && is_toolchain(around))
    };
    let named = matches!(place.file_name().and_then(OsStr::to_str), Some("bin" | "shims" | ".bin"));
    let around = place.parent().filter(|_| named).filter(is_own);
    around.unwrap_or(place).to_owned()
}

/// Returns whether a folder lies below one of the root directory that does not belong to the
/// system.
fn is_outside_system(path: &Path) -> bool {
    let shared = HIDDEN.iter().any(|hidden| path.starts_with(hidden));
    path.iter().count() > 2 && !is_system_path(path) && !shared
}

/// Returns whether a folder holds libraries besides programs, rather than a person's work.
fn is_toolchain(path: &Path) -> bool {
    let packages = path.file_name() == Some(OsStr::new("node_modules"));
    packages || ["lib", "lib64", "pyvenv.cfg"].iter().any(|name| path.join(name).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_is_more_than_its_programs() {
        let home = Some(Path::new("/home/a"));
        let around = |place: &str| toolchain_around(Path::new(place), home);
        assert_eq!(around("/home/a/tools/x/bin"), Path::new("/home/a/tools/x"));
        assert_eq!(around("/home/a/bin"), Path::new("/home/a/bin"), "not the whole home folder");
        assert_eq!(around("/home/a/.local/bin"), Path::new("/home/a/.local/bin"));
        assert_eq!(around("/usr/bin"), Path::new("/usr/bin"));
        assert_eq!(around("/home/b/.pyenv/shims"), Path::new("/home/b/.pyenv"));
        assert_eq!(around("/tmp/x/bin"), Path::new("/tmp/x/bin"));
        assert_eq!(around("/work/ada/bin"), Path::new("/work/ada/bin"), "not what is beside it");
        assert_eq!(around("/work/a/node_modules/.bin"), Path::new("/work/a/node_modules"));
    }

    #[test]
    fn lists_are_sorted_and_name_nothing_twice() {
        for list in [&TOOLCHAINS[..], &SECRETS[..], &OF_SYSTEM[..]] {
            assert!(list.is_sorted_by(|one, next| one < next));
        }
    }
}
