//! Where a project is, and where its things are.
//!
//! Everything Unstuck keeps about a project lies in `.unstuck/` at its root, for its user's eyes
//! only, and is ignored by git through a file of its own.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use unstuck_core::time::Time;
use unstuck_runner::{Clock as _, GateMirror, Setup, SystemClock, Turns};
use unstuck_store::{Holder, SqliteStore, Store};
use unstuck_world::redact::Redactor;

use crate::error::Error;
use crate::settings::{Flags, Resolved};

/// The folder of a project that holds what Unstuck keeps.
pub(super) const FOLDER: &str = ".unstuck";
/// What marks the root of a project, the surest sign first.
const MARKS: [&str; 3] = [FOLDER, "unstuck.toml", ".git"];

/// A project.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    root: PathBuf,
    name: Arc<str>,
    /// The settings, once they were read.
    settings: OnceLock<Arc<Resolved>>,
    /// What takes its secrets out of text, once somebody needed it.
    redactor: OnceLock<Arc<Redactor>>,
}

impl Project {
    /// The project that `dir`, or the current directory, belongs to: the nearest folder upwards
    /// that is marked as one, or the directory itself. A bare repository is no part of the project
    /// around it.
    pub(crate) fn find(dir: Option<&Path>) -> Result<Self, Error> {
        let dir = dir.unwrap_or(Path::new("."));
        let start = fs::canonicalize(dir).map_err(|source| {
            let place = dir.display().to_string();
            match source.kind() {
                io::ErrorKind::NotFound => {
                    Error::Unknown { what: "directory", name: place, list: "ls" }
                }
                _ => Error::Folder { place, source },
            }
        })?;
        let marked = |dir: &&Path| {
            MARKS.iter().any(|mark| dir.join(mark).exists()) || is_bare_repository(dir)
        };
        let root = start.ancestors().find(marked).unwrap_or(&start).to_owned();
        let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy();
        Ok(Self {
            name: Arc::from(name.as_ref()),
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

    /// The same project, with settings that were read already.
    #[must_use]
    pub(crate) fn with(self, settings: Resolved) -> Self {
        Self { settings: OnceLock::from(Arc::new(settings)), redactor: OnceLock::new(), ..self }
    }

    /// What takes its secrets out of text, made when it is needed first.
    pub(crate) fn redactor(&self, make: impl FnOnce() -> Redactor) -> Arc<Redactor> {
        Arc::clone(self.redactor.get_or_init(|| Arc::new(make())))
    }

    /// The same project, with its settings as they are by now.
    pub(crate) fn read_again(&self) -> Result<Self, Error> {
        Ok(self.clone().with(Resolved::load(&self.root, None, &Flags::new())?))
    }

    /// Its settings.
    pub(crate) fn settings(&self) -> Result<Arc<Resolved>, Error> {
        if let Some(settings) = self.settings.get() {
            return Ok(Arc::clone(settings));
        }
        let read = Arc::new(Resolved::load(&self.root, None, &Flags::new())?);
        Ok(Arc::clone(self.settings.get_or_init(|| read)))
    }

    /// What the loop needs to work on it for a verb.
    pub(crate) fn setup(&self, store: &Arc<dyn Store>, verb: &str) -> Result<Setup, Error> {
        let policy = Arc::new(self.settings()?.policy.clone());
        Ok(Setup {
            store: Arc::clone(store),
            project: Arc::clone(&self.name),
            holder: holder(verb),
            policy,
            clock: Arc::new(SystemClock),
            gates: Some(self.gates()),
            turns: Some(Turns::new(self.runs())),
        })
    }

    /// Where it tells the user's other projects of limited accounts, and hears of theirs.
    fn gates(&self) -> GateMirror {
        GateMirror::new(state_folder().join("gates"), self.root.to_string_lossy())
    }

    /// The control socket of whoever holds it.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder().join("control.sock")
    }

    /// The key that tokens are made with.
    pub(crate) fn token_key(&self) -> PathBuf {
        self.folder().join("token-key")
    }

    /// Where the lock files of runs are.
    pub(crate) fn runs(&self) -> PathBuf {
        self.folder().join("runs")
    }

    /// Where agents keep their own state.
    pub(crate) fn homes(&self) -> PathBuf {
        self.folder().join("agents")
    }

    /// What a run in the background says.
    pub(crate) fn run_log(&self) -> PathBuf {
        self.folder().join("run.log")
    }

    /// Where the outputs of jobs are kept.
    pub(crate) fn logs(&self) -> PathBuf {
        self.folder().join("logs")
    }

    /// The lock of whoever runs the jobs at their times.
    pub(crate) fn watcher_lock(&self) -> PathBuf {
        self.folder().join("watcher.lock")
    }

    /// Who that is.
    pub(crate) fn watcher(&self) -> PathBuf {
        self.folder().join("watcher.json")
    }

    /// Where long results of actions are kept.
    pub(crate) fn results(&self) -> PathBuf {
        self.folder().join("results")
    }

    /// The store, made if there is none.
    pub(crate) fn make_store(&self) -> Result<Arc<dyn Store>, Error> {
        make_folder(&self.folder())?;
        make_folder(&self.runs())?;
        let ignore = self.folder().join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n").map_err(|source| unusable(&ignore, source))?;
        }
        Ok(Arc::new(SqliteStore::open(self.database())?))
    }

    /// The store, if anything was ever run here.
    pub(crate) fn store(&self) -> Result<Arc<dyn Store>, Error> {
        if SqliteStore::was_made(&self.database()) {
            Ok(Arc::new(SqliteStore::open(self.database())?))
        } else {
            Err(Error::NothingHere { root: self.root.clone() })
        }
    }

    /// Where everything is that Unstuck keeps about it.
    pub(crate) fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// The file of its store.
    pub(crate) fn database(&self) -> PathBuf {
        self.folder().join("state.db")
    }
}

/// Whether a folder is a repository without a working tree.
fn is_bare_repository(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && ["objects", "refs"].iter().all(|part| dir.join(part).is_dir())
}

fn make_folder(folder: &Path) -> Result<(), Error> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.map_err(|source| unusable(folder, source))
}

/// Where Unstuck keeps what belongs to the user and to no project.
pub(crate) fn state_folder() -> PathBuf {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set("XDG_STATE_HOME")
        .or_else(|| Some(set("HOME")?.join(".local/state")))
        .unwrap_or_else(env::temp_dir)
        .join("unstuck")
}

/// Who we are, to others who want the project.
pub(crate) fn holder(verb: &str) -> Holder {
    Holder { pid: std::process::id(), verb: verb.to_owned(), since: now() }
}

/// The login name of whoever sits here, or their number.
pub(crate) fn whoever() -> String {
    let named = ["USER", "LOGNAME"].into_iter().filter_map(env::var_os);
    let mut named = named.filter_map(|name| name.into_string().ok());
    named
        .find(|name| !name.trim().is_empty())
        .unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

pub(crate) fn now() -> Time {
    SystemClock.now()
}

fn unusable(at: &Path, source: io::Error) -> Error {
    Error::Folder { place: at.display().to_string(), source }
}
