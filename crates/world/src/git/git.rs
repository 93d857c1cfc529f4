//! The git program and the repository it works on, with a long-running process that resolves names.
//!
//! Most of a task's git calls ask where a ref points, and starting a process for each takes longer
//! than all the rest together. Only names that mean the same from every working tree are resolved
//! by that process: full names of refs and objects. Git reads refs from disk each time. If the
//! process does not answer as it should, the caller starts a separate git, which also reports the
//! error.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::time::timeout;
use unstuck_core::fault::Fault;

use super::fail::GitAction;
use super::object::Oid;
use crate::process::GuardCommand;

/// Default timeout of a git command. Cloning and fetching are not among the operations; a status of
/// a very large tree on a slow disk is.
const PATIENCE: Duration = Duration::from_mins(5);

/// A client for the git program in one repository.
#[derive(Clone, Debug)]
pub struct Git {
    pub(super) program: OsString,
    pub(super) directory: PathBuf,
    /// The folders of the repository; git looks for them itself if this is `None`.
    pub(super) folders: Option<GitFolders>,
    pub(super) index: Option<PathBuf>,
    pub(super) patience: Duration,
    /// The guard that ends a command if the holder dies, and the lock of the run that it belongs
    /// to.
    pub(super) kept_by: Option<(GuardCommand, PathBuf)>,
    /// The lookup process, shared by all clients of the same repository.
    pub(super) lookup: Arc<RevisionLookup>,
}

/// The folders of a repository, named explicitly so that no file in a working tree decides about
/// them.
#[derive(Clone, Debug)]
pub(super) struct GitFolders {
    /// The git folder of one working tree.
    pub(super) own: PathBuf,
    /// The git folder that all working trees share.
    pub(super) common: PathBuf,
    /// `true` if the directory is the root of the working tree.
    pub(super) at_root: bool,
}

impl Git {
    /// Returns a client that runs `program` for the repository that contains `directory`.
    pub fn new(program: impl Into<OsString>, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            program: program.into(),
            lookup: Arc::new(RevisionLookup::new(directory.clone(), None)),
            directory,
            folders: None,
            kept_by: None,
            index: None,
            patience: PATIENCE,
        }
    }

    /// Returns a client whose commands run under a guard: a long one, such as a push, must not
    /// continue after the holder is killed.
    #[must_use]
    pub fn with_guard(&self, guard: GuardCommand, lock: impl Into<PathBuf>) -> Self {
        Self { kept_by: Some((guard, lock.into())), ..self.clone() }
    }

    /// Returns a client for the working tree `directory`, with explicit folders of its repository:
    /// `own` belongs to this working tree, `common` is shared by all. Git then ignores `.git` in
    /// that directory and `commondir` in `own`, because an agent may have changed them.
    #[must_use]
    pub fn for_worktree(
        &self,
        directory: impl Into<PathBuf>,
        own: impl Into<PathBuf>,
        common: impl Into<PathBuf>,
    ) -> Self {
        let folders = GitFolders { own: own.into(), common: common.into(), at_root: true };
        Self { directory: directory.into(), folders: Some(folders), index: None, ..self.clone() }
    }

    /// Returns a client that uses another file as its index.
    #[must_use]
    pub fn with_index(&self, index: impl Into<PathBuf>) -> Self {
        Self { index: Some(index.into()), ..self.clone() }
    }

    /// Returns a client with another timeout for its commands.
    #[must_use]
    pub fn with_timeout(&self, patience: Duration) -> Self {
        Self { patience, ..self.clone() }
    }

    /// Returns the folder in which the commands run.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the git folder of the working tree, if it was named explicitly.
    pub(crate) fn git_dir(&self) -> Option<&Path> {
        self.folders.as_ref().map(|folders| folders.own.as_path())
    }

    /// Returns the name or path of the git program.
    pub fn program(&self) -> &OsString {
        &self.program
    }

    /// Returns the version of the program, such as `2.47.3`.
    pub async fn read_version(&self) -> Result<String, Fault> {
        let done = self.call(GitAction::Look).args(["--version"]).run().await?;
        let said = String::from_utf8_lossy(&done.stdout);
        let number =
            said.strip_prefix("git version ").and_then(|rest| rest.split_whitespace().next());
        number.map(str::to_owned).ok_or_else(|| self.unreadable_fault(GitAction::Look))
    }

    /// Returns whether git ignores this folder, which need not exist.
    pub async fn ignores_folder(&self, path: &str) -> Result<bool, Fault> {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let call = self.call(GitAction::Look).with_plain_paths();
        let call = call.args(["check-ignore", "--quiet", "--", &folder]);
        Ok(call.run_expecting(&[0, 1]).await?.status == 0)
    }

    /// Returns the hash that is all of git's output.
    pub(super) fn parse_oid(&self, stdout: &[u8], operation: GitAction) -> Result<Oid, Fault> {
        Oid::parse(stdout.trim_ascii_end()).ok_or_else(|| self.unreadable_fault(operation))
    }

    /// Returns the fault for output of git that cannot be parsed.
    pub(super) fn unreadable_fault(&self, operation: GitAction) -> Fault {
        let message = format!("{} gave an answer that cannot be read", self.program.display());
        operation.to_fault(message, None, None)
    }
}

/// Maximum length of an answer line, in bytes: longer than any name that is asked plus git's word
/// after it.
const ANSWER_BYTES_MAX: u64 = 4_096;

/// A git process that resolves names, shared by all clients of a repository. It is started at the
/// first lookup.
#[derive(Debug)]
pub(super) struct RevisionLookup {
    /// The folder in which git runs. It is not a task's worktree: those come and go, and agents
    /// change their files.
    directory: PathBuf,
    folders: Option<GitFolders>,
    running: Mutex<Option<LookupProcess>>,
}

#[derive(Debug)]
struct LookupProcess {
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
    _child: GitProcessGroup,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LookupAnswer {
    Object(Oid),
    Nothing,
}

impl RevisionLookup {
    pub(super) fn new(directory: PathBuf, folders: Option<GitFolders>) -> Self {
        Self { directory, folders, running: Mutex::default() }
    }

    /// Resolves a name; returns `None` if the caller has to ask git in another way.
    pub(super) async fn resolve_name(&self, git: &Git, name: &str) -> Option<LookupAnswer> {
        if !is_same_everywhere(name) {
            return None;
        }
        let mut kept = self.running.lock().await;
        // The process is taken out: if this future is dropped, a later caller must not read its
        // answer.
        let mut running = match kept.take() {
            Some(running) => running,
            None => self.start_process(git)?,
        };
        let meaning = timeout(git.patience, running.query_name(name)).await.ok()??;
        *kept = Some(running);
        Some(meaning)
    }

    fn start_process(&self, git: &Git) -> Option<LookupProcess> {
        let directory = self.directory.clone();
        let folders = self.folders.clone();
        let repository = Git { directory, folders, ..git.clone() };
        let call = repository.call(GitAction::Look);
        let call = call.args(["cat-file", "--batch-check=%(objectname)"]);
        let mut command = call.build_command();
        let mut child =
            GitProcessGroup(command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?);
        let ask = child.0.stdin.take()?;
        let answers = child.0.stdout.take()?;
        Some(LookupProcess { ask, answers: BufReader::new(answers), _child: child })
    }
}

impl LookupProcess {
    async fn query_name(&mut self, name: &str) -> Option<LookupAnswer> {
        self.ask.write_all(format!("{name}\n").as_bytes()).await.ok()?;
        let mut answer = Vec::new();
        let mut answers = (&mut self.answers).take(ANSWER_BYTES_MAX);
        answers.read_until(b'\n', &mut answer).await.ok()?;
        parse_answer(name, &answer)
    }
}

/// A child process whose whole group is killed on drop: git starts other programs.
#[derive(Debug)]
pub(super) struct GitProcessGroup(pub(super) Child);

impl Drop for GitProcessGroup {
    fn drop(&mut self) {
        // The id is `None` once the child was waited for.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = id {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Parses one line of git's output; returns `None` if it is no answer to this question.
fn parse_answer(name: &str, answer: &[u8]) -> Option<LookupAnswer> {
    let line = answer.strip_suffix(b"\n")?;
    if let Some(oid) = Oid::parse(line) {
        return Some(LookupAnswer::Object(oid));
    }
    let word = line.strip_prefix(name.as_bytes())?;
    (word == b" missing").then_some(LookupAnswer::Nothing)
}

/// Returns whether a name means the same from every working tree, and fits on a line.
fn is_same_everywhere(name: &str) -> bool {
    let bare = name.split('^').next().unwrap_or_default();
    let own = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];
    let of_all = bare.starts_with("refs/") && !own.iter().any(|prefix| bare.starts_with(prefix));
    (of_all || Oid::parse(bare.as_bytes()).is_some()) && !name.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_an_answer_is_read_as_one() {
        let name = "refs/heads/a^{commit}";
        let oid = "1".repeat(40);
        let object = LookupAnswer::Object(Oid::parse(oid.as_bytes()).unwrap());
        let rows = [
            (format!("{oid}\n"), Some(object)),
            (format!("{name} missing\n"), Some(LookupAnswer::Nothing)),
            (format!("{name} ambiguous\n"), None),
            ("refs/heads/b^{commit} missing\n".to_owned(), None),
            (oid, None),
            ("\n".to_owned(), None),
            (String::new(), None),
        ];
        for (answer, wanted) in rows {
            assert_eq!(parse_answer(name, answer.as_bytes()), wanted, "{answer:?}");
        }
    }

    #[test]
    fn names_of_one_working_tree_alone_are_asked_there() {
        let oid = "1".repeat(40);
        for name in ["refs/heads/a^{commit}", &oid, &format!("{oid}^{{tree}}"), &format!("{oid}^1")]
        {
            assert!(is_same_everywhere(name), "{name}");
        }
        for name in ["HEAD", "main", "refs/bisect/bad", "refs/heads/a\nrefs/heads/b", "1234"] {
            assert!(!is_same_everywhere(name), "{name}");
        }
    }
}
