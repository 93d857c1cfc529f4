//! What leads commands to the code of the worktree that they run in.
//!
//! A person's environment may lead back into their own checkout: variables with paths, packages that
//! Python finds there because they were installed from it (`pip install -e`), links of Node.js
//! workspaces that are found by walking up. Commands in a worktree then test code that nobody
//! changed. Variables are rewritten, Python is pointed by a `sitecustomize` module of ours, and links
//! are made in the worktree.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::names::Place;
use super::project::{FOLDER, Project};
use super::state::failed;
use super::workspace::Workspace;

/// Variables that hold paths of code and of what is built from it: the checkout's become the
/// worktree's.
const CODE: &[&str] = &[
    "PYTHONPATH",
    "NODE_PATH",
    "CARGO_TARGET_DIR",
    "GOFLAGS",
    "GOPATH",
    "GEM_PATH",
    "BUNDLE_PATH",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "RUSTFLAGS",
    "NODE_OPTIONS",
    "MAKEFLAGS",
    "PWD",
];
/// Folders of packages that were installed, and that a worktree may have none of.
const INSTALLED: [&str; 4] = ["node_modules", "site-packages", ".venv", "venv"];
/// Where the person's own virtual environment is: package managers install into it.
const ENVIRONMENT: &str = "VIRTUAL_ENV";
/// Python takes bytecode for current by the second and the size of its source: an agent's changes
/// come faster than that, and a check would test the code as it was before.
const NO_BYTECODE: &str = "PYTHONDONTWRITEBYTECODE";
const SITE: &str = include_str!("sitecustomize.py");
const MODULES: &str = "node_modules";

impl Project {
    /// The environment of commands that run in the worktree of a task: nothing of it leads to the
    /// person's own checkout.
    pub fn environment_in(
        &self,
        place: Place,
        environment: &[(OsString, OsString)],
    ) -> Vec<(OsString, OsString)> {
        let worktree = self.worktree(place);
        let lead = Lead { root: &self.root, worktree: &worktree };
        let mut pointed: Vec<(OsString, OsString)> = environment
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), lead.variable(name, value)?)))
            .collect();
        let site = self.state(place).site();
        if site.is_dir() {
            prepend(&mut pointed, "PYTHONPATH", site.as_os_str());
        }
        if !pointed.iter().any(|(name, _)| name == NO_BYTECODE) {
            pointed.push((NO_BYTECODE.into(), "1".into()));
        }
        pointed
    }
}

/// Puts an entry before all others of a variable.
fn prepend(environment: &mut Vec<(OsString, OsString)>, name: &str, entry: &OsStr) {
    let known = environment.iter().position(|(known, _)| known == name);
    let mut value = entry.to_owned();
    if let Some((_, rest)) = known.map(|at| environment.remove(at)).filter(|(_, v)| !v.is_empty()) {
        value.push(":");
        value.push(rest);
    }
    environment.push((name.into(), value));
}

/// Where paths lead from, and where to.
struct Lead<'a> {
    root: &'a Path,
    worktree: &'a Path,
}

impl Lead<'_> {
    /// The value of a variable in the worktree; nothing where it is better not there.
    fn variable(&self, name: &OsStr, value: &OsStr) -> Option<OsString> {
        if name == ENVIRONMENT {
            let own = self.to(Path::new(value));
            return own.is_none().then(|| value.to_owned());
        }
        if name == "PATH" {
            // Programs that the person has installed in the checkout stay in reach.
            return Some(self.entries(value, |_| true));
        }
        if CODE.iter().any(|known| name == *known) {
            let installed =
                |path: &Path| path.iter().any(|part| INSTALLED.iter().any(|known| part == *known));
            return Some(self.words(&self.entries(value, installed)));
        }
        Some(value.to_owned())
    }

    /// The same place in the worktree, for one in the checkout.
    fn to(&self, path: &Path) -> Option<PathBuf> {
        let real = fs::canonicalize(path);
        let path = real.as_deref().unwrap_or(path);
        let rest = path.strip_prefix(self.root).ok()?;
        let ours = [FOLDER, ".git"];
        if rest.iter().next().is_some_and(|first| ours.iter().any(|known| first == *known)) {
            return None;
        }
        Some(if rest.as_os_str().is_empty() {
            self.worktree.to_owned()
        } else {
            self.worktree.join(rest)
        })
    }

    /// A list of paths with the worktree's in place of the checkout's, or before it where `both`.
    fn entries(&self, value: &OsStr, both: impl Fn(&Path) -> bool) -> OsString {
        let mut pointed: Vec<&[u8]> = Vec::new();
        let entries: Vec<&[u8]> = value.as_bytes().split(|byte| *byte == b':').collect();
        let own: Vec<Option<PathBuf>> = entries
            .iter()
            .map(|entry| self.to(Path::new(OsStr::from_bytes(entry))).filter(|_| !entry.is_empty()))
            .collect();
        for (entry, own) in entries.iter().zip(&own) {
            pointed.extend(own.as_ref().map(|path| path.as_os_str().as_bytes()));
            if own.is_none() || both(Path::new(OsStr::from_bytes(entry))) {
                pointed.push(entry);
            }
        }
        OsString::from_vec(pointed.join(&b':'))
    }

    /// A line of options with the worktree's paths in place of the checkout's: `-mod=/shop/go.mod`.
    fn words(&self, value: &OsStr) -> OsString {
        let (Some(text), Some(root)) = (value.to_str(), self.root.to_str()) else {
            return value.to_owned();
        };
        let word = |word: &str| match word.find(root) {
            Some(at) if at > 0 && !word.contains(':') => {
                let (option, path) = word.split_at(at);
                let own = self.to(Path::new(path));
                own.map_or_else(|| word.to_owned(), |own| format!("{option}{}", own.display()))
            }
            _ => word.to_owned(),
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ").into()
    }
}

impl Workspace {
    /// Makes what leads Python and Node.js to the worktree's own code.
    pub(super) fn lead_to_own_code(&self) -> Result<(), Fault> {
        if self.in_place {
            return Ok(());
        }
        // In every project: a check may be a Python program wherever the code is.
        let file = self.state.site().join("sitecustomize.py");
        self.write_site(&file).map_err(|error| failed(&file, &error))?;
        let modules = self.directory.join(MODULES);
        self.link_workspaces(&modules).map_err(|error| failed(&modules, &error))
    }

    fn write_site(&self, file: &Path) -> io::Result<()> {
        let quoted = |path: &Path| {
            serde_json::to_string(&path.to_string_lossy()).unwrap_or_else(|_| "\"\"".to_owned())
        };
        let text = SITE
            .replace("\"@CHECKOUT@\"", &quoted(&self.project.root))
            .replace("\"@WORKTREE@\"", &quoted(&self.directory));
        if fs::read_to_string(file).is_ok_and(|there| there == text) {
            return Ok(());
        }
        fs::create_dir_all(self.state.site())?;
        fs::write(file, text)
    }

    /// Packages of the project's own are linked in the checkout's `node_modules`, where Node.js finds
    /// them from a worktree as well; the worktree gets links of its own, which are found first.
    fn link_workspaces(&self, modules: &Path) -> io::Result<()> {
        let root = &self.project.root;
        if fs::symlink_metadata(modules).is_ok() {
            return Ok(());
        }
        let lead = Lead { root, worktree: &self.directory };
        for link in own_links(root) {
            let Some(own) = fs::canonicalize(&link).ok().and_then(|real| lead.to(&real)) else {
                continue;
            };
            let Ok(name) = link.strip_prefix(root.join(MODULES)) else { continue };
            if own.exists() {
                let to = modules.join(name);
                fs::create_dir_all(to.parent().unwrap_or(modules))?;
                symlink(own, to)?;
            }
        }
        Ok(())
    }
}

/// Links in the `node_modules` of a checkout that lead to the checkout's own files: packages, packages
/// with a scope, and programs of packages.
pub fn own_links(root: &Path) -> Vec<PathBuf> {
    let modules = root.join(MODULES);
    let mut links = Vec::new();
    for path in listed(&modules) {
        let grouped = path
            .file_name()
            .is_some_and(|name| name == ".bin" || name.as_encoded_bytes().starts_with(b"@"));
        if grouped && !path.is_symlink() {
            links.extend(listed(&path).filter(|path| path.is_symlink()));
        } else if path.is_symlink() {
            links.push(path);
        }
    }
    let own = |link: &PathBuf| {
        let Ok(real) = fs::canonicalize(link) else { return false };
        real.strip_prefix(root).is_ok_and(|rest| rest.iter().all(|part| part != MODULES))
    };
    links.retain(own);
    links.sort();
    links
}

fn listed(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_checkout_become_the_worktrees() {
        let (root, worktree) = (Path::new("/shop"), Path::new("/shop/.unstuck/worktrees/t1"));
        let lead = Lead { root, worktree };
        let own = "/shop/.unstuck/worktrees/t1";
        let cases = [
            ("PYTHONPATH", "/shop/src:/opt/lib:", Some(format!("{own}/src:/opt/lib:"))),
            ("PYTHONPATH", "src", Some("src".to_owned())),
            ("PYTHONPATH", "/shop", Some(own.to_owned())),
            ("PYTHONPATH", "/shopping", Some("/shopping".to_owned())),
            (
                "NODE_PATH",
                "/shop/node_modules",
                Some(format!("{own}/node_modules:/shop/node_modules")),
            ),
            ("CARGO_TARGET_DIR", "/shop/target", Some(format!("{own}/target"))),
            ("CARGO_TARGET_DIR", "/var/target", Some("/var/target".to_owned())),
            ("GOFLAGS", "-v -modfile=/shop/go.mod", Some(format!("-v -modfile={own}/go.mod"))),
            ("PATH", "/shop/.venv/bin:/bin", Some(format!("{own}/.venv/bin:/shop/.venv/bin:/bin"))),
            ("VIRTUAL_ENV", "/shop/.venv", None),
            ("VIRTUAL_ENV", "/home/ada/env", Some("/home/ada/env".to_owned())),
            ("HOME", "/shop", Some("/shop".to_owned())),
            ("PYTHONPATH", "/shop/.unstuck/x", Some("/shop/.unstuck/x".to_owned())),
        ];
        for (name, value, expected) in cases {
            let pointed = lead.variable(OsStr::new(name), OsStr::new(value));
            assert_eq!(pointed, expected.map(OsString::from), "{name}={value}");
        }
    }
}
