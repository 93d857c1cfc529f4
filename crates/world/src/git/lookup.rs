//! Resolves names of refs and objects through one long-running git process: most of a task's git
//! calls ask where a ref points, and starting a process for each takes longer than all the rest
//! together.
//!
//! Only names that mean the same from every working tree are resolved here: full names of refs and
//! objects. Git reads refs from disk each time. If the process does not answer as it should, the
//! caller starts a separate git, which also reports the error.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::call::GitProcessGroup;
use super::fail::GitAction;
use super::git::{Git, GitFolders};
use super::oid::Oid;

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

/// The result of resolving a name.
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
