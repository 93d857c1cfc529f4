//! Finds the root of a project and the paths of its files.
//!
//! Unstuck keeps all files of a project in `.unstuck/` at its root, readable by its user only, and git
//! ignores the folder because of a `.gitignore` inside it.

use std::env;
use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use unstuck_core::time::Time;
use unstuck_runner::control::TokenKey;
use unstuck_runner::{Clock as _, GateMirror, RunnerSetup, SystemClock, TaskLocks};
use unstuck_store::{Holder, SqliteStore, Store};
use unstuck_world::redact::Redactor;

use crate::error::CliError;
use crate::settings::{ResolvedSettings, SettingFlags, environment_redactor, settings_redactor};

/// The folder of a project that holds Unstuck's files.
pub(super) const FOLDER: &str = ".unstuck";
/// The file with the name under which the store knows the project: that of its folder when the store
/// was made. Actions and builds are found by it, also once the folder has another name.
const KEPT_NAME: &str = ".unstuck/name";
/// Entries that mark the root of a project, the surest sign first.
const MARKS: [&str; 3] = [FOLDER, "unstuck.toml", ".git"];

#[derive(Clone, Debug)]
pub(crate) struct LocalProject {
    root: PathBuf,
    name: Arc<str>,
    settings: OnceLock<Arc<ResolvedSettings>>,
    /// The redactor of the project's secrets, created on first use.
    redactor: OnceLock<Arc<Redactor>>,
}

impl LocalProject {
    /// Finds the project of `dir`, or of the current directory: the nearest marked folder upwards, or the
    /// directory itself. A bare repository is not part of the project around it.
    pub(crate) fn find(dir: Option<&Path>) -> Result<Self, CliError> {
        let dir = dir.unwrap_or(Path::new("."));
        let start = fs::canonicalize(dir).map_err(|source| {
            let place = dir.display().to_string();
            match source.kind() {
                io::ErrorKind::NotFound => {
                    CliError::Unknown { what: "directory", name: place, list: "ls" }
                }
                _ => CliError::Folder { place, source },
            }
        })?;
        if !start.is_dir() {
            let name = start.display().to_string();
            return Err(CliError::Unknown { what: "directory", name, list: "ls" });
        }
        let marked = |dir: &&Path| {
            MARKS.iter().any(|mark| dir.join(mark).exists()) || is_bare_repository(dir)
        };
        let root = start.ancestors().find(marked).unwrap_or(&start).to_owned();
        let folder_name = || root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into();
        let name = read_kept_name(&root).unwrap_or_else(folder_name);
        Ok(Self {
            name: Arc::from(name),
            root,
            settings: OnceLock::new(),
            redactor: OnceLock::new(),
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) const fn name(&self) -> &Arc<str> {
        &self.name
    }

    #[must_use]
    pub(crate) fn with_settings(self, settings: ResolvedSettings) -> Self {
        Self { settings: OnceLock::from(Arc::new(settings)), redactor: OnceLock::new(), ..self }
    }

    /// Returns the project with its settings loaded again.
    pub(crate) fn reload_settings(&self) -> Result<Self, CliError> {
        Ok(self.clone().with_settings(ResolvedSettings::load(
            &self.root,
            None,
            &SettingFlags::new(),
        )?))
    }

    /// Returns the settings, loaded on first use.
    pub(crate) fn settings(&self) -> Result<Arc<ResolvedSettings>, CliError> {
        if let Some(settings) = self.settings.get() {
            return Ok(Arc::clone(settings));
        }
        let read = Arc::new(ResolvedSettings::load(&self.root, None, &SettingFlags::new())?);
        Ok(Arc::clone(self.settings.get_or_init(|| read)))
    }

    pub(crate) fn runner_setup(
        &self,
        store: &Arc<dyn Store>,
        verb: &str,
    ) -> Result<RunnerSetup, CliError> {
        let policy = Arc::new(self.settings()?.policy.clone());
        // Through the mirror, the user's projects share the state of limited accounts.
        let gates = GateMirror::new(user_state_folder().join("gates"), self.root.to_string_lossy());
        Ok(RunnerSetup {
            store: Arc::clone(store),
            project: Arc::clone(&self.name),
            holder: describe_holder(verb),
            policy,
            clock: Arc::new(SystemClock),
            gates: Some(gates),
            turns: Some(TaskLocks::new(self.runs_folder())),
        })
    }

    /// Returns the path of the holder's control socket.
    pub(crate) fn socket_path(&self) -> PathBuf {
        self.unstuck_folder().join("control.sock")
    }

    pub(crate) fn open_token_key(&self) -> Result<TokenKey, CliError> {
        let path = self.unstuck_folder().join("token-key");
        TokenKey::open(&path).map_err(CliError::unusable(&path))
    }

    /// Returns the folder of the lock files of runs.
    pub(crate) fn runs_folder(&self) -> PathBuf {
        self.unstuck_folder().join("runs")
    }

    /// Returns the folder in which agents keep their own state.
    pub(crate) fn agent_homes_folder(&self) -> PathBuf {
        self.unstuck_folder().join("agents")
    }

    /// Returns the path of the output of a run in the background.
    pub(crate) fn run_log_path(&self) -> PathBuf {
        self.unstuck_folder().join("run.log")
    }

    /// Returns the folder of the outputs of jobs.
    pub(crate) fn job_logs_folder(&self) -> PathBuf {
        self.unstuck_folder().join("logs")
    }

    /// Returns the path of the lock of the process that runs the scheduled jobs.
    pub(crate) fn watcher_lock_path(&self) -> PathBuf {
        self.unstuck_folder().join("watcher.lock")
    }

    /// Returns the path of the file that describes the process that runs the scheduled jobs.
    pub(crate) fn watcher_path(&self) -> PathBuf {
        self.unstuck_folder().join("watcher.json")
    }

    /// Returns the folder of long results of actions.
    pub(crate) fn results_folder(&self) -> PathBuf {
        self.unstuck_folder().join("results")
    }

    pub(crate) fn open_or_create_store(&self) -> Result<Arc<dyn Store>, CliError> {
        create_private_folder(&self.unstuck_folder())?;
        create_private_folder(&self.runs_folder())?;
        let ignore = self.unstuck_folder().join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n").map_err(CliError::unusable(&ignore))?;
        }
        let kept = self.root.join(KEPT_NAME);
        if !kept.exists() {
            replace_file(&kept, &format!("{}\n", self.name)).map_err(CliError::unusable(&kept))?;
        }
        Ok(Arc::new(SqliteStore::open(self.database_path())?))
    }

    /// Opens the store; an error if nothing was ever run here.
    pub(crate) fn open_store(&self) -> Result<Arc<dyn Store>, CliError> {
        if SqliteStore::was_made(&self.database_path()) {
            Ok(Arc::new(SqliteStore::open(self.database_path())?))
        } else {
            Err(CliError::NothingHere { root: self.root.clone() })
        }
    }

    /// Opens the store; `None` if nothing was ever run here.
    pub(crate) fn find_store(&self) -> Result<Option<Arc<dyn Store>>, CliError> {
        match self.open_store() {
            Err(CliError::NothingHere { .. }) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Returns the folder with all files that Unstuck keeps about the project.
    pub(crate) fn unstuck_folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    pub(crate) fn database_path(&self) -> PathBuf {
        self.unstuck_folder().join("state.db")
    }
}

/// Returns the redactor of all secrets that are known in a project, for output and stored text. If the
/// settings cannot be read, only the secrets of the environment are known; the caller that needs the
/// settings reports the error.
pub(crate) fn project_redactor(project: &LocalProject) -> Arc<Redactor> {
    let create = || {
        let resolved = project.settings();
        let redactor = resolved.map(|resolved| settings_redactor(&resolved.settings));
        Arc::new(redactor.unwrap_or_else(|_| environment_redactor()))
    };
    Arc::clone(project.redactor.get_or_init(create))
}

/// Returns whether a folder is a repository without a working tree.
pub(crate) fn is_bare_repository(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && ["objects", "refs"].iter().all(|part| dir.join(part).is_dir())
}

fn create_private_folder(folder: &Path) -> Result<(), CliError> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.map_err(CliError::unusable(folder))
}

/// Returns the folder of the state that belongs to the user and to no project.
pub(crate) fn user_state_folder() -> PathBuf {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set("XDG_STATE_HOME")
        .or_else(|| Some(set("HOME")?.join(".local/state")))
        .unwrap_or_else(env::temp_dir)
        .join("unstuck")
}

/// Returns the folder in which the servers of the user announce their addresses.
pub(crate) fn own_servers_folder() -> PathBuf {
    user_state_folder().join("server").join("listening")
}

/// Returns the kept name of the project at `root`; `None` if nothing was ever run there.
fn read_kept_name(root: &Path) -> Option<String> {
    let kept = fs::read_to_string(root.join(KEPT_NAME)).ok()?;
    let name = kept.trim_end_matches('\n');
    (!name.is_empty()).then(|| name.to_owned())
}

/// Describes this process as a holder, for other processes that want the project.
pub(crate) fn describe_holder(verb: &str) -> Holder {
    Holder { pid: std::process::id(), verb: verb.to_owned(), since: now() }
}

/// Returns the login name of the user of this process, or the user id. The variables are not set
/// everywhere, for example not under cron or in a container; the list of local users is then read.
pub(crate) fn current_user() -> String {
    let named = ["USER", "LOGNAME"].into_iter().filter_map(env::var_os);
    let mut named = named.filter_map(|name| name.into_string().ok());
    if let Some(name) = named.find(|name| !name.trim().is_empty()) {
        return name;
    }
    let uid = rustix::process::getuid().as_raw();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    find_login_name(&users, uid).map_or_else(|| format!("uid {uid}"), str::to_owned)
}

/// Returns the name of a user in the text of `/etc/passwd`.
fn find_login_name(users: &str, uid: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        let id = fields.nth(1)?.parse::<u32>().ok()?;
        (id == uid).then_some(name)
    })
}

pub(crate) fn now() -> Time {
    SystemClock.now()
}

/// Writes or replaces a file atomically: a reader finds the old text or the new one, never a part.
pub(crate) fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    replace_file_through(path.parent().unwrap_or(Path::new(".")), path, text)
}

/// Replaces a file in one step, like [`replace_file`]; the draft is in `folder`, on the same file system.
pub(crate) fn replace_file_through(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = folder.join(format!(".{name}.{}", std::process::id()));
    let mut file = fs::File::create(&draft)?;
    file.write_all(text.as_bytes())?;
    if let Ok(known) = fs::metadata(path) {
        file.set_permissions(known.permissions())?;
    }
    file.sync_all()?;
    fs::rename(&draft, path).inspect_err(|_| {
        let _ = fs::remove_file(&draft);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_name_is_found_by_its_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\n\n# note\n:x:7:7::/:\nana:x:1000:1000:Ana,,,:/home/ana:/bin/zsh\n";
        assert_eq!(find_login_name(users, 0), Some("root"));
        assert_eq!(find_login_name(users, 1000), Some("ana"));
        assert_eq!(find_login_name(users, 7), None, "an entry without a name");
        assert_eq!(find_login_name(users, 1), None);
    }
}
