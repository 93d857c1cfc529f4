//! The environment and the sandbox of an agent's processes, and the restoration of the operator's
//! repository after them.
//!
//! Settings refuse pushes: every remote is rewritten, for pushing only, to an address that no
//! transport knows, in the agent's repository and in its environment, which git ranks above all
//! files. Fetching works. An agent that names an address itself with a clean environment gets past
//! this; other modules make sure that it has no credentials and that `git` is shimmed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;

use super::project::FOLDER;
use super::shell::Shell;
use super::state::{
    WorkspaceKey, agent_email, build_branch_ref, build_start_ref, build_tip_ref, io_fault,
};
use super::workspace::Workspace;
use crate::git::{RepositoryExposure, RepositorySnapshot, RestoreReport};
use crate::process::{PrivateFolder, Wall, WallEnforcement};

/// An address that no transport of git handles; the message that git prints for it tells the agent
/// what to use instead.
pub(super) const REFUSED: &str = "pushing-is-refused-here-use-unstuck-mutate:";
const BEFORE: &str = "before";
/// Name of the state file that exists if the agent of the attempt cannot write to the operator's
/// repository.
const HELD: &str = "held";
/// Folders of a repository that git changes at a commit. Settings and hooks are not among them.
const COMMITTING: [&str; 3] = ["objects", "refs", "logs"];
/// Folders for temporary files, beside the one that `TMPDIR` names.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

impl Workspace {
    /// Returns the changes to the environment of everything that the agent runs.
    pub async fn build_agent_environment(
        &self,
        run: RunId,
    ) -> Result<Vec<(OsString, Option<OsString>)>, Fault> {
        let (urls, push_urls) = self.project.git.read_remote_urls().await?;
        // Git applies the longest matching rewrite, and a whole address is the longest there is.
        let mut settings = vec![(format!("url.{REFUSED}.pushInsteadOf"), String::new())];
        for url in urls {
            settings.push((format!("url.{REFUSED}.pushInsteadOf"), strip_login(&url)));
        }
        for url in push_urls {
            settings.push((format!("url.{REFUSED}.insteadOf"), strip_login(&url)));
        }
        let mut variables = vec![
            ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
            ("GIT_AUTHOR_NAME".to_owned(), "agent".to_owned()),
            ("GIT_AUTHOR_EMAIL".to_owned(), agent_email(run)),
            ("GIT_COMMITTER_NAME".to_owned(), "agent".to_owned()),
            ("GIT_COMMITTER_EMAIL".to_owned(), agent_email(run)),
            ("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()),
        ];
        // Without its own repository, the agent's git would find the operator's further up.
        if let Some(above) = self.directory.parent().filter(|_| self.private.is_some()) {
            let above = above.display().to_string();
            variables.push(("GIT_CEILING_DIRECTORIES".to_owned(), above));
        }
        for (n, (name, value)) in settings.into_iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{n}"), name));
            variables.push((format!("GIT_CONFIG_VALUE_{n}"), value));
        }
        Ok(variables.into_iter().map(|(name, value)| (name.into(), Some(value.into()))).collect())
    }

    /// Returns the sandbox of processes that an agent can influence: they write below the worktree,
    /// below folders that it shares, and to folders for temporary files. They have a private home
    /// folder. They cannot write to the operator's repository, unless they work in the operator's
    /// own tree.
    pub fn build_wall(&self, environment: &[(OsString, OsString)]) -> Wall {
        let common = &self.project.layout.common_dir;
        let shared = self.shared.iter().map(|path| self.project.root.join(path));
        let persons = [self.git_dir.clone()].into_iter();
        let persons = persons.chain(COMMITTING.map(|name| common.join(name)));
        let own = persons.filter(|_| self.in_place).chain(shared.filter(|path| path.is_dir()));
        let private = self.state.private_folder();
        let mut wall =
            build_wall_around(&self.project.root, &self.directory, &private, environment);
        wall.writable.iter_mut().for_each(|writable| writable.extend(own.clone()));
        wall.readable.extend([
            common.clone(),
            self.state.site_folder(),
            self.git_dir.join("modules"),
        ]);
        wall.readable.extend(read_alternates(&common.join("objects")));
        if self.project.checkout != self.project.root {
            self.open_checkout(&mut wall);
        }
        wall
    }

    /// Lets the operator's working tree be read if the project is a folder of it.
    fn open_checkout(&self, wall: &mut Wall) {
        let checkout = &self.project.checkout;
        // A working tree that holds the home folder stays closed.
        if std::env::home_dir().is_none_or(|home| !home.starts_with(checkout)) {
            wall.hidden.push(checkout.join(FOLDER));
            wall.readable.push(checkout.clone());
        }
    }

    /// Returns a shell that runs commands in the sandbox of this workspace.
    pub fn confine_shell(&self, shell: &Shell) -> Shell {
        let inherited = shell.inherits_environment.then(std::env::vars_os).into_iter().flatten();
        let set =
            |(name, value): &(OsString, Option<OsString>)| Some((name.clone(), value.clone()?));
        // Variables that the shell sets come first, and are found first.
        let environment = shell.environment.iter().filter_map(set).chain(inherited);
        let environment: Vec<_> = environment.collect();
        Shell { wall: self.build_wall(&environment).with_rules(&shell.wall), ..shell.clone() }
    }

    /// Returns whether an agent could have written to the operator's repository, given its sandbox
    /// and the extent to which the machine enforced it. A writable folder can contain the
    /// repository itself.
    fn assess_exposure(&self, held: WallEnforcement, wall: &Wall) -> RepositoryExposure {
        let layout = &self.project.layout;
        let folders = [&layout.common_dir, &layout.git_dir];
        // A folder that replaces another hides its files.
        let replaced =
            |place: &Path| held.namespaces && wall.private.iter().any(|one| one.at == place);
        let holds = |place: &PathBuf| {
            // The path may be a link to the repository.
            let real = place.canonicalize().unwrap_or_else(|_| place.clone());
            !replaced(place) && folders.iter().any(|folder| folder.starts_with(&real))
        };
        let exposed = wall.writable.as_ref().is_none_or(|places| places.iter().any(holds));
        if held.files.is_full() && !exposed {
            RepositoryExposure::Held
        } else {
            RepositoryExposure::Unknown
        }
    }

    /// Records the state of the operator's repository directly before an agent works in the sandbox
    /// `wall`, of which the machine enforces `held`.
    pub async fn note_repository(&self, held: WallEnforcement, wall: &Wall) -> Result<(), Fault> {
        match self.assess_exposure(held, wall) {
            RepositoryExposure::Held => self.state.write_file(HELD, b"").map(drop)?,
            RepositoryExposure::Unknown => self.state.delete_file(HELD)?,
        }
        let before = RepositorySnapshot::capture(&self.project.git, &self.project.layout).await?;
        let bytes = serde_json::to_vec(&before)
            .map_err(|error| io_fault(&self.state.kept_folder(), &std::io::Error::from(error)))?;
        self.state.write_file(BEFORE, &bytes).map(drop)
    }

    /// Restores settings, hooks, refs and the checked-out branch of the operator's repository to
    /// their state before the attempt, and removes everything from the agent's repository that git
    /// would run. This comes first after an attempt, also after one that was killed: settings
    /// decide what every other git command runs.
    pub async fn restore_repository(&self, run: RunId) -> Result<RestoreReport, Fault> {
        let Some(bytes) = self.state.read_file(BEFORE)? else {
            return Ok(RestoreReport::default());
        };
        let reach = match self.state.read_file(HELD)? {
            Some(_) => RepositoryExposure::Held,
            None => RepositoryExposure::Unknown,
        };
        let before: RepositorySnapshot = serde_json::from_slice(&bytes)
            .map_err(|error| io_fault(&self.state.kept_folder(), &std::io::Error::from(error)))?;
        let keep = self.state.kept_folder().join(run.to_string());
        let git = &self.project.git;
        let layout = &self.project.layout;
        if reach == RepositoryExposure::Unknown {
            self.project.restore_missing(self.place.build)?;
        }
        let by = agent_email(run);
        let restored =
            before.restore(git, layout, (&by, reach), &self.list_needed_refs(), &keep).await?;
        self.clean_private().await?;
        self.state.delete_file(BEFORE)?;
        Ok(restored)
    }

    /// Returns the refs of Unstuck that must exist as long as the task is worked on.
    fn list_needed_refs(&self) -> Vec<String> {
        let WorkspaceKey { build, .. } = self.place;
        let own = [self.place.base_ref(), self.place.branch_ref()];
        own.into_iter()
            .chain([build_branch_ref(build), build_start_ref(build), build_tip_ref(build)])
            .collect()
    }
}

/// Returns the sandbox for processes in `directory`, a working tree of the project at `root`: they
/// write there and to folders for temporary files, and read the project. Their home folder and
/// their folders for temporary files are below `private`.
pub fn build_wall_around(
    root: &Path,
    directory: &Path,
    private: &Path,
    environment: &[(OsString, OsString)],
) -> Wall {
    let value = |of: &str| environment.iter().find(|(name, _)| name == of);
    let named = value("TMPDIR").map(|(_, value)| PathBuf::from(value));
    let temporary: Vec<PathBuf> = named.into_iter().chain(TEMPORARY.map(PathBuf::from)).collect();
    let mut wall = Wall::with_usual_paths(value("PATH").map(|(_, value)| &**value));
    wall.writable = Some([directory.to_owned()].into_iter().chain(temporary.clone()).collect());
    wall.hidden.push(root.join(FOLDER));
    wall.readable.push(root.to_owned());
    let instead = |at, name| PrivateFolder { at, folder: private.join(name) };
    wall.private.extend(temporary.into_iter().map(|at| instead(at, "temporary")));
    // A project that is the home folder itself stays visible.
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let home = home.filter(|home| root.canonicalize().is_ok_and(|root| root != *home));
    wall.private.extend(home.map(|at| instead(at, "home")));
    wall
}

/// Removes the user name and the password or token from a URL, because agents read it.
fn strip_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host = rest.find('/').unwrap_or(rest.len());
    match rest[..host].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

/// Returns the other folders that the operator's repository takes objects from.
fn read_alternates(objects: &Path) -> Vec<PathBuf> {
    let listed = fs::read(objects.join("info/alternates")).unwrap_or_default();
    let lines = listed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| objects.join(OsStr::from_bytes(line))).collect()
}
