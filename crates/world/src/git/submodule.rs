//! Repositories within a repository.

use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::fail::Operation;
use super::git::Git;

/// A repository that another one holds at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submodule {
    /// Its name, by which settings speak of it.
    pub name: String,
    /// Where it is, from the root of the working tree.
    pub path: String,
}

impl Git {
    /// The submodules that a commit, a branch or a tree speaks of.
    pub async fn submodules(&self, revision: &str) -> Result<Vec<Submodule>, Fault> {
        let blob = format!("{revision}:.gitmodules");
        let call = self.call(Operation::Look).args(["config", "-z", "--blob", &blob]);
        let call = call.args(["--get-regexp", r"^submodule\..*\.path$"]);
        // 1 is a file without any, 128 no such file.
        let done = call.run_expecting(&[0, 1, 128]).await?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let read = |record: &str| {
            let (key, path) = record.split_once('\n')?;
            let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
            Some(Submodule { name: name.to_owned(), path: path.to_owned() })
        };
        Ok(text.split('\0').filter_map(read).collect())
    }

    /// Makes the working tree hold these submodules as its commit says, with changes in them thrown
    /// away. Those that `sources` knows are copied from there and not from the network.
    pub async fn update_submodules(
        &self,
        submodules: &[Submodule],
        sources: &[(String, PathBuf)],
    ) -> Result<(), Fault> {
        // Settings on the command line win, and nothing is written into the person's own.
        let mut call = self.call(Operation::Worktree).with_plain_paths();
        call = call.args(["-c", "protocol.file.allow=always"]);
        for (name, source) in sources {
            let url = format!("submodule.{name}.url={}", source.display());
            call = call.args(["-c", &url, "-c", &format!("submodule.{name}.active=true")]);
        }
        call = call.args(["submodule", "--quiet", "update", "--init", "--recursive", "--force"]);
        let paths = submodules.iter().map(|submodule| submodule.path.as_str());
        call.args(["--"]).args(paths).run().await.map(drop)
    }
}

/// Submodules that a repository has on this disk, by name: below its own folder, and those below
/// them.
pub fn local_submodules(common_dir: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![(common_dir.join("modules"), String::new())];
    while let Some((folder, above)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let (path, part) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
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
