//! What an agent's processes get from its worktree, and what is put back after them.
//!
//! Pushing is refused through settings: every remote is rewritten, for pushing only, to an address
//! that no transport knows, in the agent's repository and in its environment, which git puts above all
//! files. Fetching works. An agent that names an address itself with a clean environment gets past
//! this; that it has no credentials, and that `git` is shimmed, is for others to see to.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;

use super::elsewhere::elsewhere;
use super::names::{Place, address, build_branch, build_start, build_tip};
use super::project::FOLDER;
use super::shell::Shell;
use super::state::failed;
use super::workspace::Workspace;
use crate::git::{Oid, Reach, Restored, Snapshot, kept_ref};
use crate::process::{Held, Private, Wall};

/// No transport of git's goes by this name, and the message that git prints then is a pointer.
pub(super) const REFUSED: &str = "pushing-is-refused-here-use-unstuck-mutate:";
const BEFORE: &str = "before";
/// Where git keeps what was stashed.
const STASH: &str = "refs/stash";
/// What git changes in a repository at a commit. Settings and hooks are not among it.
const COMMITTING: [&str; 3] = ["objects", "refs", "logs"];
/// Where programs put what they need for a moment, beside what `TMPDIR` says.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

impl Workspace {
    /// Changes to the environment of everything that the agent runs.
    pub async fn environment(
        &self,
        run: RunId,
    ) -> Result<Vec<(OsString, Option<OsString>)>, Fault> {
        let (urls, push_urls) = self.project.git.remote_urls().await?;
        // The longest rewrite wins, and a whole address is the longest there is.
        let mut settings = vec![(format!("url.{REFUSED}.pushInsteadOf"), String::new())];
        for url in urls {
            settings.push((format!("url.{REFUSED}.pushInsteadOf"), without_login(&url)));
        }
        for url in push_urls {
            settings.push((format!("url.{REFUSED}.insteadOf"), without_login(&url)));
        }
        let mut variables = vec![
            ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
            ("GIT_AUTHOR_NAME".to_owned(), "agent".to_owned()),
            ("GIT_AUTHOR_EMAIL".to_owned(), address(run)),
            ("GIT_COMMITTER_NAME".to_owned(), "agent".to_owned()),
            ("GIT_COMMITTER_EMAIL".to_owned(), address(run)),
            ("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()),
        ];
        // Without its own repository an agent's git would find the person's, further up.
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

    /// What processes that an agent can influence are kept from: they write below the worktree, below
    /// folders that it shares, and to places for temporary files. They have a home folder of their own.
    /// Of the person's repository they write to nothing, unless they work in the person's own tree.
    pub fn wall(&self, environment: &[(OsString, OsString)]) -> Wall {
        let common = &self.project.layout.common_dir;
        let shared = self.shared.iter().map(|path| self.project.root.join(path));
        let persons = [self.git_dir.clone()].into_iter();
        let persons = persons.chain(COMMITTING.map(|name| common.join(name)));
        let own = persons.filter(|_| self.in_place).chain(shared.filter(|path| path.is_dir()));
        let private = self.state.private();
        let mut wall = wall_around(&self.project.root, &self.directory, &private, environment);
        wall.writable.iter_mut().for_each(|writable| writable.extend(own.clone()));
        wall.readable.extend([common.clone(), self.state.site(), self.git_dir.join("modules")]);
        wall.readable.extend(alternates(&common.join("objects")));
        wall
    }

    /// How commands are run behind the wall of this workspace.
    pub fn behind_wall(&self, shell: &Shell) -> Shell {
        let inherited = shell.inherits_environment.then(std::env::vars_os).into_iter().flatten();
        let set =
            |(name, value): &(OsString, Option<OsString>)| Some((name.clone(), value.clone()?));
        // What the shell sets comes first, and is found first.
        let environment = shell.environment.iter().filter_map(set).chain(inherited);
        let environment: Vec<_> = environment.collect();
        Shell { wall: self.wall(&environment).with(&shell.wall), ..shell.clone() }
    }

    /// Whether an agent could write to the person's repository behind its wall, of which the machine
    /// held so much. A place that it may write to can hold the repository itself.
    pub fn reach(&self, held: Held, wall: &Wall) -> Reach {
        let layout = &self.project.layout;
        let folders = [&layout.common_dir, &layout.git_dir];
        // A folder that takes the place of another hides what is there.
        let replaced =
            |place: &Path| held.namespaces && wall.private.iter().any(|one| one.at == place);
        let holds = |place: &PathBuf| {
            // A name may lead there through a link.
            let real = place.canonicalize().unwrap_or_else(|_| place.clone());
            !replaced(place) && folders.iter().any(|folder| folder.starts_with(&real))
        };
        let exposed = wall.writable.as_ref().is_none_or(|places| places.iter().any(holds));
        if held.files.is_full() && !exposed { Reach::Held } else { Reach::Unknown }
    }

    /// Notes what the person's repository is like, before an attempt.
    pub(super) async fn note_shared(&self) -> Result<(), Fault> {
        let before = Snapshot::take(&self.project.git, &self.project.layout).await?;
        let bytes = serde_json::to_vec(&before)
            .map_err(|error| failed(&self.state.kept(), &std::io::Error::from(error)))?;
        self.state.write(BEFORE, &bytes).map(drop)
    }

    /// Puts settings, hooks, refs and the checked-out branch of the person's repository back as they
    /// were before the attempt, and takes what git would run out of the agent's own. This comes first
    /// after an attempt: settings decide what every other git command runs. `reach` says whether the
    /// agent could have written to the person's repository.
    pub async fn restore_shared(&self, run: RunId, reach: Reach) -> Result<Restored, Fault> {
        let Some(bytes) = self.state.read(BEFORE)? else { return Ok(Restored::default()) };
        let before: Snapshot = serde_json::from_slice(&bytes)
            .map_err(|error| failed(&self.state.kept(), &std::io::Error::from(error)))?;
        let keep = self.state.kept().join(run.to_string());
        let (git, layout) = (&self.project.git, &self.project.layout);
        if reach == Reach::Unknown {
            self.project.mend(self.place.build)?;
        }
        let by = address(run);
        let restored =
            before.restore(git, layout, (&by, reach), &self.needed_refs(), &keep).await?;
        self.clean_private().await?;
        self.state.forget(BEFORE)?;
        Ok(restored)
    }

    /// Refs of ours that are there as long as the task is worked on.
    fn needed_refs(&self) -> Vec<String> {
        let Place { build, .. } = self.place;
        let own = [self.place.base(), self.place.branch()];
        own.into_iter().chain([build_branch(build), build_start(build), build_tip(build)]).collect()
    }

    /// Finds commits that the agent left on a branch, or in the stash, while the worktree is as it
    /// found it. That is no attempt without a change: the agent is told where its work is.
    pub async fn find_work_elsewhere(&self, restored: &Restored) -> Result<Option<Fault>, Fault> {
        if let Some(fault) = self.find_work_in_submodules().await? {
            return Ok(Some(fault));
        }
        let left = self.refs_of_agent(restored).await?;
        if left.is_empty() || !self.changes().await?.is_empty() {
            return Ok(None);
        }
        let base = self.base().await?;
        let known = self.tree_of(&base).await?;
        for (name, commit) in &left {
            if !self.take_over(commit, &base).await
                || self.git.commit_of(commit.as_str()).await?.is_none()
                || self.git.is_ancestor(commit, &base).await?
            {
                continue;
            }
            if self.git.tree_of(commit.as_str()).await?.is_some_and(|tree| tree != known) {
                self.point(&kept_ref(commit), commit).await?;
                return Ok(Some(on_another_branch(name, commit)));
            }
        }
        Ok(None)
    }

    /// Branches and the stash of the agent, other than the branch that it was given, which no ref of
    /// the person's repository names.
    async fn refs_of_agent(&self, restored: &Restored) -> Result<BTreeMap<String, Oid>, Fault> {
        let is_work = |name: &str| name.starts_with("refs/heads/") || name == STASH;
        let Some(private) = &self.private else {
            let mut left = restored.stood_at.clone();
            left.retain(|name, _| is_work(name));
            return Ok(left);
        };
        let mut left = private.refs();
        left.retain(|name, _| is_work(name) && *name != self.branch);
        if !left.is_empty() {
            let persons = self.project.git.refs(&[]).await?;
            left.retain(|_, commit| !persons.values().any(|known| known == commit));
        }
        Ok(left)
    }
}

/// The wall around what runs in `directory`, a working tree of the project at `root`: it writes there
/// and to places for temporary files, and reads the project. What it finds as its home folder and as
/// places for temporary files lies below `private`.
pub fn wall_around(
    root: &Path,
    directory: &Path,
    private: &Path,
    environment: &[(OsString, OsString)],
) -> Wall {
    let value = |of: &str| environment.iter().find(|(name, _)| name == of);
    let named = value("TMPDIR").map(|(_, value)| PathBuf::from(value));
    let temporary: Vec<PathBuf> = named.into_iter().chain(TEMPORARY.map(PathBuf::from)).collect();
    let mut wall = Wall::usual(value("PATH").map(|(_, value)| &**value));
    wall.writable = Some([directory.to_owned()].into_iter().chain(temporary.clone()).collect());
    wall.hidden.push(root.join(FOLDER));
    wall.readable.push(root.to_owned());
    let instead = |at, name| Private { at, folder: private.join(name) };
    wall.private.extend(temporary.into_iter().map(|at| instead(at, "temporary")));
    // A project that is the home folder itself stays where it is.
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let home = home.filter(|home| root.canonicalize().is_ok_and(|root| root != *home));
    wall.private.extend(home.map(|at| instead(at, "home")));
    wall
}

/// An address without the name and the password or token that it holds: agents read it.
fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host = rest.find('/').unwrap_or(rest.len());
    match rest[..host].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

/// Other folders that the person's repository has objects from.
fn alternates(objects: &Path) -> Vec<PathBuf> {
    let listed = fs::read(objects.join("info/alternates")).unwrap_or_default();
    let lines = listed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| objects.join(OsStr::from_bytes(line))).collect()
}

/// The work is in the repository, and not where it is looked for.
fn on_another_branch(name: &str, commit: &Oid) -> Fault {
    let place = match name.strip_prefix("refs/heads/") {
        Some(branch) => format!("on the branch {branch}"),
        None => "in the stash".to_owned(),
    };
    let message = format!("your work is {place}, not in the worktree");
    let output = format!(
        "The worktree is as you found it: your work is {place}, and only what is in the worktree \
         counts.\nBring it back: git checkout {commit} -- .\nThen stay on the branch that you \
         were given."
    );
    elsewhere(message, output)
}
