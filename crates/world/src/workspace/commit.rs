//! Commits the checked content of a worktree, and runs the repository's own hooks like any other
//! command of the operator's.
//!
//! `git commit` exits with 1 when a hook refuses and with 1 when there is nothing to commit. Run
//! separately, each hook reports its own refusal, and runs under a guard with a timeout.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use unstuck_core::fault::text_rules::RuleSet;
use unstuck_core::fault::{
    BROKEN_HOOK, Code, Fault, KEPT_HOOK, Kind, Missing, REFUSED_MESSAGE, REFUSED_PUSH, Validation,
    text_rules,
};
use unstuck_core::text::{QUESTION_CHARS_MAX, push_refusal, quote_words, telling_line};
use unstuck_core::time::Time;

use super::changes::WorktreeContent;
use super::ecosystem::is_own_program;
use super::private::{read_plain_file, write_new_file};
use super::shell::Shell;
use super::state::io_fault;
use super::workspace::Workspace;
use crate::git::{CommitAuthor, GitAction, HookSources, NewCommit, Oid};
use crate::process::{ProcessEnd, derive_fault};

/// The message, author and time of a commit.
#[derive(Clone, Debug)]
pub struct CommitWording {
    /// The commit message, before hooks change it.
    pub message: String,
    /// The author and committer.
    pub person: CommitAuthor,
    /// The time of the commit.
    pub at: Time,
}

/// The outcome of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// There is nothing to commit: the worktree equals its base.
    Nothing,
    /// The task's branch is at this commit, whose parent is the base.
    As {
        /// The hash of the commit.
        commit: Oid,
        /// `true` if a hook changed the content, so that it differs from the checked one.
        by_hook: bool,
    },
}

impl Workspace {
    /// Commits the whole change as one commit on the base, and runs the repository's hooks. The
    /// content of the agent's own commits is part of it; the commits are not its ancestors. A
    /// repeated call makes the same commit.
    pub async fn commit_content(
        &self,
        content: &WorktreeContent,
        wording: &CommitWording,
        shell: &Shell,
    ) -> Result<CommitOutcome, Fault> {
        let WorktreeContent { base, tree: checked } = content;
        if *checked == self.resolve_tree(base).await? {
            // Commits of the agent that cancel each other out are dropped.
            self.point_branch(base, base).await?;
            return Ok(CommitOutcome::Nothing);
        }
        let hooks = self.find_hooks().await?;
        if GitHook::OF_COMMIT.iter().any(|hook| hooks.may_have(hook.name())) {
            // Checks have run the agent's code since its attempt.
            self.clean_private().await?;
        }
        self.position_agent_at(base)?;
        let tree = self.run_pre_commit((base, checked), &hooks, shell).await?;
        let message = self.pass_message_hooks(&wording.message, &hooks, shell).await?;
        let new = NewCommit {
            tree: &tree,
            parents: std::slice::from_ref(base),
            message: &message,
            person: &wording.person,
            at: wording.at,
            signed: true,
        };
        let commit = self.git.create_commit(new).await?;
        self.point_branch(base, &commit).await?;
        // The commit is made, so the outcome of this hook does not matter.
        let _ = self.run_commit_hook(GitHook::PostCommit, &hooks, shell).await;
        Ok(CommitOutcome::As { commit, by_hook: tree != *checked })
    }

    /// Returns the commit that [`commit`](Self::commit_content) made, or the base if there was nothing to
    /// commit.
    pub async fn find_commit_made(&self) -> Result<Oid, Fault> {
        let base = self.resolve_base().await?;
        if self.in_place {
            return self.find_commit_in_place(base).await;
        }
        let made = self.git.resolve_commit(&self.branch).await?;
        Ok(made.unwrap_or(base))
    }

    /// Returns the tree as the pre-commit hook leaves it.
    async fn run_pre_commit(
        &self,
        (base, tree): (&Oid, &Oid),
        hooks: &HookSources,
        shell: &Shell,
    ) -> Result<Oid, Fault> {
        if !hooks.may_have(GitHook::PreCommit.name()) {
            return Ok(tree.clone());
        }
        self.run_commit_hook(GitHook::PreCommit, hooks, shell).await?;
        self.write_hook_tree(base, shell).await
    }
}

/// A hook that runs at a commit or a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitHook {
    PreCommit,
    PrepareMessage,
    Message,
    PostCommit,
    PrePush,
}

/// Shell command that runs the pre-push hook as git would, with the pushed refs on its standard
/// input. `git hook run` can pass standard input to a hook only from git 2.40 on.
const PUSH_HOOK: &str = r#"[ ! -x "$0" ] || printf '%s\n' "$3" | "$0" "$1" "$2""#;
/// Name of the file with the commit message, which hooks may change; git uses the same.
const MESSAGE: &str = "COMMIT_EDITMSG";
const MESSAGE_BYTES_MAX: u64 = 1_024 * 1_024;

impl GitHook {
    /// The hooks that run at a commit, in git's order.
    const OF_COMMIT: [Self; 4] =
        [Self::PreCommit, Self::PrepareMessage, Self::Message, Self::PostCommit];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::PrepareMessage => "prepare-commit-msg",
            Self::Message => "commit-msg",
            Self::PostCommit => "post-commit",
            Self::PrePush => "pre-push",
        }
    }
}

impl Workspace {
    /// Runs the repository's pre-push hook, if there is one, for a push of `commit` to `remote` as
    /// `reference` (a full name). A refusal is `VALIDATION_PRE_PUSH`, and nothing is sent.
    pub async fn pass_push_hook(
        &self,
        remote: &str,
        commit: &Oid,
        reference: &str,
        shell: &Shell,
    ) -> Result<(), Fault> {
        let hooks = self.find_hooks().await?;
        if !hooks.may_have(GitHook::PrePush.name()) {
            return Ok(());
        }
        let there = self.git.query_remote_ref(remote, reference).await?;
        let there = there.map_or_else(|| "0".repeat(commit.as_str().len()), |oid| oid.to_string());
        // The line that git passes: the name and hash of the pushed commit, and the remote ref with
        // its current hash.
        let told = format!("{commit} {commit} {reference} {there}");
        let url = self.git.read_push_url(remote).await?;
        let file = hooks.hook_file(GitHook::PrePush.name()).into_os_string();
        let about = [file, remote.into(), url.into(), told.into()];
        let arguments = [&["-c", PUSH_HOOK].map(OsString::from)[..], &about[..]].concat();
        self.run_hook((GitHook::PrePush, &hooks), OsStr::new("sh"), &arguments, shell).await
    }

    /// Returns the folders that may hold the repository's hooks.
    async fn find_hooks(&self) -> Result<HookSources, Fault> {
        self.git.find_hooks(&self.project.layout.common_dir.join("hooks")).await
    }

    /// Runs a commit hook, if there is one. A refusal is `VALIDATION_PRE_COMMIT`.
    async fn run_commit_hook(
        &self,
        hook: GitHook,
        of: &HookSources,
        shell: &Shell,
    ) -> Result<(), Fault> {
        if !of.may_have(hook.name()) {
            return Ok(());
        }
        let message = self.agents_git_dir().join(MESSAGE).into_os_string();
        let after: &[OsString] = match hook {
            GitHook::PrepareMessage => &["--".into(), message, "message".into()],
            GitHook::Message => &["--".into(), message],
            GitHook::PreCommit | GitHook::PostCommit | GitHook::PrePush => &[],
        };
        let run = ["hook", "run", "--ignore-missing", hook.name()].map(OsString::from);
        let arguments = [&of.to_arguments(), &run[..], after].concat();
        self.run_hook((hook, of), self.git.program(), &arguments, shell).await
    }

    async fn run_hook(
        &self,
        (hook, of): (GitHook, &HookSources),
        program: &OsStr,
        arguments: &[OsString],
        shell: &Shell,
    ) -> Result<(), Fault> {
        let name = hook.name();
        let environment = self.hook_environment();
        let mut shell = self.confine_shell(shell);
        shell.wall.readable.push(of.folder().to_owned());
        let ended = shell.run_program(&self.directory, program, arguments, &environment).await?;
        let source = format!("hook:{name}");
        match (ended.how, derive_fault(&ended, &source, name)) {
            (ProcessEnd::Exited(exit), Some(_)) => {
                let output = String::from_utf8_lossy(&ended.output.to_bytes()).into_owned();
                let denied = shell.wall.find_denied(&output, &self.directory);
                if let Some(denied) = denied.filter(|denied| !denied.warned) {
                    let file = of.hook_file(name).display().to_string();
                    let file = quote_words(&file, QUESTION_CHARS_MAX).unwrap_or_default();
                    let who = format!("the {name} hook of your repository, {file},");
                    let so = match hook {
                        GitHook::PrePush => "the work is not pushed",
                        _ => "the work is not committed",
                    };
                    let output = format!("{}\n[{}]", output.trim_end(), denied.render_sentence());
                    return Err(denied.to_fault(KEPT_HOOK, (&who, so), &output));
                }
                let missing =
                    text_rules::find_missing_of_script(name, exit, &ended.output.to_bytes())
                        .filter(|program| !is_own_program(program, &self.directory));
                if let Some(missing) = missing {
                    let what = format!("{missing}, which the {name} hook of your repository needs");
                    let message = format!("the hook {name} cannot run here ({exit})\n{output}");
                    return Err(Fault::precondition_missing(
                        BROKEN_HOOK,
                        message,
                        Missing { what },
                    ));
                }
                let message = format!("the hook {name} refused ({exit})");
                let context = Validation { command: name.to_owned(), exit: Some(exit), output };
                Err(match hook {
                    GitHook::PrePush => {
                        let fault = Fault::validation_pre_push(source, message, context);
                        let output = ended.output.to_bytes();
                        // What a tool says of its surroundings is no fault of the work.
                        match text_rules::classify_with(&output, RuleSet::ValidationOutput) {
                            Some(_) => to_refused_push(fault),
                            None => fault,
                        }
                    }
                    _ => Fault::validation_pre_commit(source, message, context),
                })
            }
            (_, Some(fault)) => Err(fault),
            (_, None) => Ok(()),
        }
    }

    /// Writes the index that a hook left as a tree in the operator's repository. Runs git in the
    /// sandbox, like the hook itself, because it reads the agent's files.
    async fn write_hook_tree(&self, base: &Oid, shell: &Shell) -> Result<Oid, Fault> {
        if self.private.is_none() {
            return self.git.write_tree().await;
        }
        let program = self.git.program();
        let environment = self.hook_environment();
        let arguments = ["write-tree".into()];
        let shell = self.confine_shell(shell);
        let ended = shell.run_program(&self.directory, program, &arguments, &environment).await?;
        let unreadable = || {
            let message = "what the hook pre-commit left cannot be committed";
            GitAction::Commit.to_fault(message, None, None)
        };
        let written = ended.output.to_bytes();
        let tree = Oid::parse(written.trim_ascii_end()).ok_or_else(unreadable)?;
        if self.import_object(&tree, base).await { Ok(tree) } else { Err(unreadable()) }
    }

    /// Passes a commit message to the hooks that may change it, and returns the result.
    async fn pass_message_hooks(
        &self,
        message: &str,
        hooks: &HookSources,
        shell: &Shell,
    ) -> Result<String, Fault> {
        let message_hooks = [GitHook::PrepareMessage, GitHook::Message];
        if !message_hooks.iter().any(|hook| hooks.may_have(hook.name())) {
            return Ok(message.to_owned());
        }
        let file = self.agents_git_dir().join(MESSAGE);
        write_new_file(&file, message.as_bytes()).map_err(|error| io_fault(&file, &error))?;
        for hook in message_hooks {
            let passed = self.run_commit_hook(hook, hooks, shell).await;
            passed.map_err(|fault| refused_message_fault(fault, message, (hook, hooks)))?;
        }
        let left =
            read_plain_file(&file, MESSAGE_BYTES_MAX).and_then(|left| String::from_utf8(left).ok());
        left.ok_or_else(|| {
            let message = "the message that a hook left is no text";
            GitAction::Commit.to_fault(message, None, None)
        })
    }

    /// Returns the git folder that the agent, and hooks, find in the worktree.
    fn agents_git_dir(&self) -> &Path {
        self.private.as_ref().map_or(&self.git_dir, |private| private.folder())
    }

    /// Returns the variables that git itself sets for hooks in a worktree.
    fn hook_environment(&self) -> Vec<(OsString, Option<OsString>)> {
        let set = |name: &str, value: OsString| (OsString::from(name), Some(value));
        let git_dir = self.agents_git_dir();
        vec![
            set("GIT_DIR", git_dir.into()),
            set("GIT_WORK_TREE", self.directory.clone().into()),
            set("GIT_INDEX_FILE", git_dir.join("index").into()),
            set("GIT_EDITOR", ":".into()),
            set("GIT_TERMINAL_PROMPT", "0".into()),
        ]
    }
}

/// Turns a refusal by the pre-push hook into a question: its reason is outside the work, or an agent has
/// tried in vain to remove it.
pub fn to_refused_push(fault: Fault) -> Fault {
    let Kind::ValidationPrePush(red) = &fault.kind else { return fault };
    let name = GitHook::PrePush.name();
    let said = telling_line(&red.output).and_then(|line| quote_words(line, QUESTION_CHARS_MAX));
    let said = said.map_or_else(String::new, |said| format!(": {said}"));
    let cause = format!(
        "The {name} hook of your repository refused the push{said}. The work is committed and not pushed."
    );
    let message = format!("the hook {name} refused the push\n{}", red.output);
    let missing = Missing { what: name.to_owned() };
    Fault::precondition_missing(REFUSED_PUSH, message, missing).with_cause(cause)
}

/// Turns a declared push that did not arrive into a question with git's reason.
pub fn to_failed_push(fault: Fault, remote: &str) -> Fault {
    if fault.code() != Code::GitPushFailed {
        return fault;
    }
    let quote = |words: &str| quote_words(words, QUESTION_CHARS_MAX).unwrap_or_default();
    let said =
        push_refusal(&fault.message).map_or_else(String::new, |said| format!(": {}", quote(&said)));
    let cause =
        format!("The push to {} did not happen{said}. The work is committed.", quote(remote));
    let missing = Missing { what: "git push".to_owned() };
    Fault::precondition_missing(REFUSED_PUSH, fault.message, missing).with_cause(cause)
}

/// Turns a refusal by a hook of messages into a question: no agent writes the message, so none can
/// correct it.
fn refused_message_fault(
    fault: Fault,
    message: &str,
    (hook, hooks): (GitHook, &HookSources),
) -> Fault {
    let Kind::ValidationPreCommit(red) = &fault.kind else { return fault };
    let (name, file) = (hook.name(), hooks.hook_file(hook.name()).display().to_string());
    let title = message.lines().next().unwrap_or_default();
    let quote = |words: &str| quote_words(words, QUESTION_CHARS_MAX).unwrap_or_default();
    let cause = format!(
        "The {name} hook of your repository, {}, refused the commit message, which is the title of \
         the task: {}. No AI helper writes it. Correct the hook, or leave this task out and give it \
         a title that the hook accepts.",
        quote(&file),
        quote(title)
    );
    let said = format!("the hook {name} refused the commit message\n{}", red.output);
    let missing = Missing { what: name.to_owned() };
    Fault::precondition_missing(REFUSED_MESSAGE, said, missing).with_cause(cause)
}
