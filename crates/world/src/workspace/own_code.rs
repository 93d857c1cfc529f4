//! Makes commands use the code of the worktree they run in, not that of the operator's checkout.
//!
//! The operator's environment may point back into the checkout: variables with paths, packages that
//! Python finds there because they were installed from it (`pip install -e`), links of Node.js
//! workspaces that are found by walking up. Commands in a worktree would then test unchanged code.
//! Variables are rewritten, Python is redirected by a `sitecustomize` module, and links are made in
//! the worktree.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::project::{FOLDER, ProjectRepository};
use super::state::{WorkspaceKey, io_fault};
use super::workspace::Workspace;

/// Variables that hold paths of code and of build output: paths of the checkout are replaced by
/// those of the worktree.
const CODE: &[&str] = &[
    "PYTHONPATH", "NODE_PATH", "CARGO_TARGET_DIR", "GOFLAGS", "GOPATH", "GEM_PATH", "BUNDLE_PATH",
    "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CFLAGS", "CXXFLAGS", "LDFLAGS",
    "RUSTFLAGS", "NODE_OPTIONS", "MAKEFLAGS", "PWD",
];
/// Variables that name no code of the project, even if their paths are in the checkout.
const KEPT: [&str; 3] = ["HOME", "TMPDIR", "OLDPWD"];
/// Folders of installed packages, which a worktree may lack: the checkout's stay reachable after
/// the worktree's.
const INSTALLED: [&str; 4] = ["node_modules", "site-packages", ".venv", "venv"];
/// The operator's own virtual environment: package managers install into it, so it is removed if it
/// is in the checkout.
const ENVIRONMENT: &str = "VIRTUAL_ENV";
/// The variable that keeps Python from writing bytecode. Python judges bytecode current by the
/// second and the size of its source: an agent's changes come faster than that, and a check would
/// test the previous code.
const NO_BYTECODE: &str = "PYTHONDONTWRITEBYTECODE";
const SITE: &str = include_str!("sitecustomize.py");
const MODULES: &str = "node_modules";

impl ProjectRepository {
    /// Returns the environment of commands that run in the worktree of a task: no code path of it
    /// leads to the operator's checkout.
    pub fn redirect_environment(
        &self,
        place: WorkspaceKey,
        environment: &[(OsString, OsString)],
    ) -> Vec<(OsString, OsString)> {
        let worktree = self.worktree_folder(place);
        let lead = CheckoutRedirect { root: &self.checkout, worktree: &worktree };
        let mut pointed: Vec<(OsString, OsString)> = environment
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), lead.redirect_variable(name, value)?)))
            .collect();
        let site = self.task_state(place).site_folder();
        if site.is_dir() {
            prepend_entry(&mut pointed, "PYTHONPATH", site.as_os_str());
        }
        if !pointed.iter().any(|(name, _)| name == NO_BYTECODE) {
            pointed.push((NO_BYTECODE.into(), "1".into()));
        }
        pointed
    }
}

/// Puts an entry before all others of a colon-separated variable.
fn prepend_entry(environment: &mut Vec<(OsString, OsString)>, name: &str, entry: &OsStr) {
    let known = environment.iter().position(|(known, _)| known == name);
    let mut value = entry.to_owned();
    if let Some((_, rest)) = known.map(|at| environment.remove(at)).filter(|(_, v)| !v.is_empty()) {
        value.push(":");
        value.push(rest);
    }
    environment.push((name.into(), value));
}

/// A mapping of paths from the checkout to the worktree.
struct CheckoutRedirect<'a> {
    root: &'a Path,
    worktree: &'a Path,
}

impl CheckoutRedirect<'_> {
    /// Returns the value of a variable in the worktree, or `None` if the variable is to be removed.
    fn redirect_variable(&self, name: &OsStr, value: &OsStr) -> Option<OsString> {
        if name == ENVIRONMENT {
            let own = self.redirect_path(Path::new(value));
            return own.is_none().then(|| value.to_owned());
        }
        if name == "PATH" {
            // Programs that the operator has installed in the checkout stay reachable.
            return Some(self.redirect_entries(value, |_| true));
        }
        if CODE.iter().any(|known| name == *known) {
            let installed =
                |path: &Path| path.iter().any(|part| INSTALLED.iter().any(|known| part == *known));
            return Some(self.redirect_words(&self.redirect_entries(value, installed)));
        }
        Some(if KEPT.iter().any(|known| name == *known) {
            value.to_owned()
        } else {
            self.redirect_shared_paths(value)
        })
    }

    /// Returns the value of any other variable with the worktree's paths in place of the checkout's,
    /// where the worktree has them too: `PROJECT_ROOT=/shop`. What only the checkout has stays.
    fn redirect_shared_paths(&self, value: &OsStr) -> OsString {
        let entry = |entry: &[u8]| {
            let path = Path::new(OsStr::from_bytes(entry));
            let is_installed = path.iter().any(|part| INSTALLED.iter().any(|known| part == *known));
            let own = path.is_absolute() && !is_installed;
            let own = own.then(|| self.redirect_path(path)).flatten();
            let own = own.filter(|own| own == self.worktree || own.exists());
            own.map_or_else(|| entry.to_vec(), |own| own.into_os_string().into_vec())
        };
        let entries: Vec<Vec<u8>> =
            value.as_bytes().split(|byte| *byte == b':').map(entry).collect();
        OsString::from_vec(entries.join(&b':'))
    }

    /// Returns the path in the worktree that corresponds to one in the checkout; `None` for paths
    /// outside it, in `.unstuck` or in `.git`.
    fn redirect_path(&self, path: &Path) -> Option<PathBuf> {
        let real = fs::canonicalize(path);
        let path = real.as_deref().unwrap_or(path);
        let rest = path.strip_prefix(self.root).ok()?;
        let ours = [FOLDER, ".git"];
        if rest.iter().any(|part| ours.iter().any(|known| part == *known)) {
            return None;
        }
        Some(if rest.as_os_str().is_empty() {
            self.worktree.to_owned()
        } else {
            self.worktree.join(rest)
        })
    }

    /// Returns a list of paths with the worktree's in place of the checkout's, or before it where
    /// `both` holds.
    fn redirect_entries(&self, value: &OsStr, both: impl Fn(&Path) -> bool) -> OsString {
        let mut pointed: Vec<&[u8]> = Vec::new();
        let entries: Vec<&[u8]> = value.as_bytes().split(|byte| *byte == b':').collect();
        let own: Vec<Option<PathBuf>> = entries
            .iter()
            .map(|entry| {
                self.redirect_path(Path::new(OsStr::from_bytes(entry)))
                    .filter(|_| !entry.is_empty())
            })
            .collect();
        for (entry, own) in entries.iter().zip(&own) {
            pointed.extend(own.as_ref().map(|path| path.as_os_str().as_bytes()));
            if own.is_none() || both(Path::new(OsStr::from_bytes(entry))) {
                pointed.push(entry);
            }
        }
        OsString::from_vec(pointed.join(&b':'))
    }

    /// Returns a line of options with the worktree's paths in place of the checkout's:
    /// `-mod=/shop/go.mod`.
    fn redirect_words(&self, value: &OsStr) -> OsString {
        let (Some(text), Some(root)) = (value.to_str(), self.root.to_str()) else {
            return value.to_owned();
        };
        let word = |word: &str| match word.find(root) {
            Some(at) if at > 0 && !word.contains(':') => {
                let (option, path) = word.split_at(at);
                let own = self.redirect_path(Path::new(path));
                own.map_or_else(|| word.to_owned(), |own| format!("{option}{}", own.display()))
            }
            _ => word.to_owned(),
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ").into()
    }
}

impl Workspace {
    /// Writes the `sitecustomize` module and the links that lead Python and Node.js to the
    /// worktree's own code.
    pub(super) fn lead_to_own_code(&self) -> Result<(), Fault> {
        if self.in_place {
            return Ok(());
        }
        // In every project: a check may be a Python program wherever the code is.
        let file = self.state.site_folder().join("sitecustomize.py");
        self.write_site_file(&file).map_err(|error| io_fault(&file, &error))?;
        let places = BTreeSet::from([
            (&self.project.checkout, self.directory.clone()),
            (&self.project.root, self.project_folder()),
        ]);
        for (from, to) in places {
            let modules = to.join(MODULES);
            self.link_workspaces(from, &modules).map_err(|error| io_fault(&modules, &error))?;
        }
        Ok(())
    }

    fn write_site_file(&self, file: &Path) -> io::Result<()> {
        let quoted = |path: &Path| serde_json::to_string(&path.to_string_lossy());
        let text = SITE
            .replace("\"@CHECKOUT@\"", &quoted(&self.project.checkout)?)
            .replace("\"@WORKTREE@\"", &quoted(&self.directory)?);
        if fs::read_to_string(file).is_ok_and(|there| there == text) {
            return Ok(());
        }
        fs::create_dir_all(self.state.site_folder())?;
        fs::write(file, text)
    }

    /// Links the project's own packages in the worktree's `node_modules`. The checkout's
    /// `node_modules` has such links as well, and Node.js finds them from a worktree by walking up;
    /// the worktree's own are found first. Leaves a `node_modules` that exists as it is.
    fn link_workspaces(&self, root: &Path, modules: &Path) -> io::Result<()> {
        if fs::symlink_metadata(modules).is_ok() {
            return Ok(());
        }
        let checkout = &self.project.checkout;
        let lead = CheckoutRedirect { root: checkout, worktree: &self.directory };
        for link in find_own_links(root) {
            let Some(own) = fs::canonicalize(&link).ok().and_then(|real| lead.redirect_path(&real))
            else {
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

/// Returns the links in the `node_modules` of a checkout that lead to the checkout's own files,
/// sorted: packages, packages with a scope, and programs of packages.
pub fn find_own_links(root: &Path) -> Vec<PathBuf> {
    let modules = root.join(MODULES);
    let mut links = Vec::new();
    for path in list_folder(&modules) {
        let grouped = path
            .file_name()
            .is_some_and(|name| name == ".bin" || name.as_encoded_bytes().starts_with(b"@"));
        if grouped && !path.is_symlink() {
            links.extend(list_folder(&path).filter(|path| path.is_symlink()));
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

fn list_folder(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_checkout_become_the_worktrees() {
        let root = Path::new("/shop");
        let worktree = Path::new("/shop/.unstuck/worktrees/t1");
        let lead = CheckoutRedirect { root, worktree };
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
            ("PYTHONPATH", "/shop/web/.unstuck/x", Some("/shop/web/.unstuck/x".to_owned())),
            ("PROJECT_ROOT", "/shop", Some(own.to_owned())),
            (
                "SHOP_DATA",
                "/shop/only-in-the-checkout",
                Some("/shop/only-in-the-checkout".to_owned()),
            ),
            ("SHOP_URL", "http://a:80/shop", Some("http://a:80/shop".to_owned())),
        ];
        for (name, value, expected) in cases {
            let pointed = lead.redirect_variable(OsStr::new(name), OsStr::new(value));
            assert_eq!(pointed, expected.map(OsString::from), "{name}={value}");
        }
    }
}
