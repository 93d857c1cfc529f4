//! A repository's own hooks: respected, and run like any other command of the person's.
//!
//! `git commit` says 1 when a hook refuses and 1 when there is nothing to commit. Run by themselves,
//! the hooks say which of them refused, and they are under a guard with an end.

use std::ffi::{OsStr, OsString};

use unstuck_core::fault::{Fault, Validation};

use super::shell::Shell;
use super::workspace::Workspace;
use crate::git::{Hooks, Oid};
use crate::process::{How, verdict};

/// A hook that a commit passes, or a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    PreCommit,
    PrepareMessage,
    Message,
    PostCommit,
    PrePush,
}

/// Runs the hook before a push as git would: it reads what is pushed. Only a git from 2.40 on can be
/// told to give a hook something to read.
const PUSH_HOOK: &str = r#"
hook=$("$0" rev-parse --git-path hooks/pre-push) || exit
[ ! -x "$hook" ] || exec "$hook" "$1" "$2" <"$3"
"#;

impl Hook {
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
    /// Asks the repository's own hook whether `commit` may be pushed to `remote` as `reference` (a
    /// full name); no hook refuses nothing. One that refuses is `VALIDATION_PRE_PUSH`, and nothing
    /// was sent.
    pub async fn pass_push_hook(
        &self,
        remote: &str,
        commit: &Oid,
        reference: &str,
        shell: &Shell,
    ) -> Result<(), Fault> {
        if !self.hooks().await?.may_have(Hook::PrePush.name()) {
            return Ok(());
        }
        let there = self.git.ls_remote(remote, reference).await?;
        let there = there.map_or_else(|| "0".repeat(commit.as_str().len()), |oid| oid.to_string());
        // What git itself tells it: what is sent, by name and by hash, and what it is to replace.
        let told = format!("{commit} {commit} {reference} {there}\n");
        let told = self.state.write("pushed", told.as_bytes())?;
        let url = self.git.push_url(remote).await?;
        let about = [self.git.program().clone(), remote.into(), url.into(), told.into()];
        let arguments = [&["-c", PUSH_HOOK].map(OsString::from)[..], &about[..]].concat();
        self.run_hook(Hook::PrePush, OsStr::new("sh"), &arguments, shell).await
    }

    /// Where its hooks may be.
    pub(super) async fn hooks(&self) -> Result<Hooks, Fault> {
        self.git.hooks(&self.project.layout.common_dir.join("hooks")).await
    }

    /// Runs a hook of a commit, if there is one. One that refuses is `VALIDATION_PRE_COMMIT`.
    pub(super) async fn hook(&self, hook: Hook, of: &Hooks, shell: &Shell) -> Result<(), Fault> {
        if !of.may_have(hook.name()) {
            return Ok(());
        }
        let message = self.state.message().into_os_string();
        let after: &[OsString] = match hook {
            Hook::PrepareMessage => &["--".into(), message, "message".into()],
            Hook::Message => &["--".into(), message],
            Hook::PreCommit | Hook::PostCommit | Hook::PrePush => &[],
        };
        let run = ["hook", "run", "--ignore-missing", hook.name()].map(OsString::from);
        let arguments = [&run[..], after].concat();
        self.run_hook(hook, self.git.program(), &arguments, shell).await
    }

    async fn run_hook(
        &self,
        hook: Hook,
        program: &OsStr,
        arguments: &[OsString],
        shell: &Shell,
    ) -> Result<(), Fault> {
        let name = hook.name();
        let environment = self.hook_environment();
        let ended = shell.run_program(&self.directory, program, arguments, &environment).await?;
        let source = format!("hook:{name}");
        match (ended.how, verdict(&ended, &source, name)) {
            (How::Exited(exit), Some(_)) => {
                let output = String::from_utf8_lossy(&ended.output.to_bytes()).into_owned();
                let message = format!("the hook {name} refused ({exit})");
                let context = Validation { command: name.to_owned(), exit: Some(exit), output };
                Err(match hook {
                    Hook::PrePush => Fault::validation_pre_push(source, message, context),
                    _ => Fault::validation_pre_commit(source, message, context),
                })
            }
            (_, Some(fault)) => Err(fault),
            (_, None) => Ok(()),
        }
    }

    /// What git itself gives to hooks in a worktree.
    fn hook_environment(&self) -> Vec<(OsString, Option<OsString>)> {
        let set = |name: &str, value: OsString| (OsString::from(name), Some(value));
        vec![
            set("GIT_DIR", self.git_dir.clone().into()),
            set("GIT_WORK_TREE", self.directory.clone().into()),
            set("GIT_INDEX_FILE", self.git_dir.join("index").into()),
            set("GIT_EDITOR", ":".into()),
            set("GIT_TERMINAL_PROMPT", "0".into()),
        ]
    }
}
