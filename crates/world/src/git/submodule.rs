//! Submodules: where they come from, and checking them out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::fail::GitAction;
use super::git::Git;

/// A repository that another one holds at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submodule {
    /// The name under which settings refer to it.
    pub name: String,
    /// The path from the root of the working tree.
    pub path: String,
}

impl Git {
    /// Returns the submodules that `.gitmodules` of a commit, a branch or a tree lists.
    pub async fn list_submodules(&self, revision: &str) -> Result<Vec<Submodule>, Fault> {
        let blob = format!("{revision}:.gitmodules");
        self.read_submodules(&["--blob", &blob]).await
    }

    /// Returns the submodules that a file lists.
    pub(crate) async fn list_submodules_in(&self, file: &Path) -> Result<Vec<Submodule>, Fault> {
        self.read_submodules(&["--file", &file.to_string_lossy()]).await
    }

    async fn read_submodules(&self, source: &[&str]) -> Result<Vec<Submodule>, Fault> {
        let paths = self.read_submodule_settings(source, ".path").await?;
        Ok(paths.into_iter().map(|(name, path)| Submodule { name, path }).collect())
    }

    /// Returns the settings of submodules that end with `suffix`, by the name of the submodule.
    async fn read_submodule_settings(
        &self,
        source: &[&str],
        suffix: &str,
    ) -> Result<Vec<(String, String)>, Fault> {
        let call = self.call(GitAction::Look).args(["config", "-z"]).args(source);
        let call = call.args(["--get-regexp", &format!(r"^submodule\..*\{suffix}$")]);
        // Exit code 1 is a file without any, 128 no such file.
        let done = call.run_expecting(&[0, 1, 128]).await?;
        let text = String::from_utf8_lossy(&done.stdout);
        let read = |record: &str| {
            let (key, value) = record.split_once('\n')?;
            let name = key.strip_prefix("submodule.")?.strip_suffix(suffix)?;
            Some((name.to_owned(), value.to_owned()))
        };
        Ok(text.split('\0').filter_map(read).collect())
    }

    /// Returns the addresses of submodules, by name: those of the operator's settings, else those
    /// of the commit that the operator has checked out. Relative addresses are resolved.
    pub(crate) async fn read_submodule_addresses(&self) -> Result<BTreeMap<String, String>, Fault> {
        let mut found = BTreeMap::new();
        for source in [&["--blob", "HEAD:.gitmodules"][..], &[]] {
            found.extend(self.read_submodule_settings(source, ".url").await?);
        }
        let origin = self.read_setting("remote.origin.url").await?;
        let origin = origin.unwrap_or_else(|| self.directory().display().to_string());
        for url in found.values_mut().filter(|url| url.starts_with("./") || url.starts_with("../"))
        {
            *url = resolve_address(&origin, url);
        }
        Ok(found)
    }

    /// Checks out these submodules at the commits in the index, and discards changes in them. They
    /// come from `addresses`, by name; addresses in files of the working tree do not count.
    pub(crate) async fn update_submodules(
        &self,
        submodules: &[Submodule],
        addresses: &BTreeMap<String, String>,
    ) -> Result<(), Fault> {
        if submodules.is_empty() {
            return Ok(());
        }
        // Settings on the command line take precedence, and the operator's own stay unchanged.
        let mut call = self.call(GitAction::Worktree).with_plain_paths();
        call = call.args(["-c", "protocol.file.allow=always"]);
        for (name, address) in addresses {
            let url = format!("submodule.{name}.url={address}");
            call = call.args(["-c", &url, "-c", &format!("submodule.{name}.active=true")]);
        }
        call = call.args(["submodule", "--quiet", "update", "--init", "--recursive", "--force"]);
        let paths = submodules.iter().map(|submodule| submodule.path.as_str());
        call.args(["--"]).args(paths).run().await.map(drop)
    }
}

fn resolve_address(origin: &str, relative: &str) -> String {
    let mut base = origin.trim_end_matches('/').to_owned();
    let mut rest = relative;
    loop {
        if let Some(same) = rest.strip_prefix("./") {
            rest = same;
        } else if let Some(up) = rest.strip_prefix("../") {
            let at = base.rfind(['/', ':']).unwrap_or_default();
            // A path directly after a host stays separated from it.
            let host = base.as_bytes().get(at) == Some(&b':');
            base.truncate(if host { at + 1 } else { at });
            rest = up;
        } else {
            let between = if base.ends_with(':') { "" } else { "/" };
            return format!("{base}{between}{rest}");
        }
    }
}

/// Returns the submodules that a repository has on this disk, by name: those below its git folder,
/// and nested ones.
pub fn find_local_submodules(common_dir: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![(common_dir.join("modules"), String::new())];
    while let Some((folder, above)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            let part = entry.file_name().to_string_lossy().into_owned();
            let name = if above.is_empty() { part } else { format!("{above}/{part}") };
            if path.join("HEAD").is_file() {
                folders.push((path.join("modules"), String::new()));
                found.push((name, path));
            } else if path.is_dir() {
                folders.push((path, name));
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_from_another() {
        for (origin, relative, wanted) in [
            ("https://example.org/a/b.git", "../c.git", "https://example.org/a/c.git"),
            ("https://example.org/a/b.git/", "../../c/d", "https://example.org/c/d"),
            ("git@example.org:a.git", "../b.git", "git@example.org:b.git"),
            ("/srv/a", "./b", "/srv/a/b"),
        ] {
            assert_eq!(resolve_address(origin, relative), wanted, "{origin} {relative}");
        }
    }
}
