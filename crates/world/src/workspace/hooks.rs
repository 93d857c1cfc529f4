//! A repository's own hooks: respected, and run like any other command of the person's.
//!
//! `git commit` says 1 when a hook refuses and 1 when there is nothing to commit. Run by themselves,
//! the hooks say which of them refused, and they are under a guard with an end.

use std::ffi::OsString;

use unstuck_core::fault::{Fault, Validation};

use super::shell::Shell;
use super::workspace::Workspace;
use crate::process::{How, verdict};

/// A hook that a commit passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    PreCommit,
    PrepareMessage,
    Message,
    PostCommit,
}

impl Hook {
    const fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::PrepareMessage => "prepare-commit-msg",
            Self::Message => "commit-msg",
            Self::PostCommit => "post-commit",
        }
    }
}

impl Workspace {
    /// Runs a hook, if there is one. One that refuses is `VALIDATION_PRE_COMMIT`.
    pub(super) async fn hook(&self, hook: Hook, shell: &Shell) -> Result<(), Fault> {
        let name = hook.name();
        let mut arguments: Vec<OsString> =
            ["hook", "run", "--ignore-missing", name].map(OsString::from).to_vec();
        let message = self.state.message().into_os_string();
        match hook {
            Hook::PrepareMessage => arguments.extend(["--".into(), message, "message".into()]),
            Hook::Message => arguments.extend(["--".into(), message]),
            Hook::PreCommit | Hook::PostCommit => {}
        }
        let program = self.git.program();
        let environment = self.hook_environment();
        let ended = shell.run_program(&self.directory, program, &arguments, &environment).await?;
        let source = format!("hook:{name}");
        match (ended.how, verdict(&ended, &source, name)) {
            (How::Exited(exit), Some(_)) => {
                let output = String::from_utf8_lossy(&ended.output.to_bytes()).into_owned();
                let message = format!("the hook {name} refused ({exit})");
                let context = Validation { command: name.to_owned(), exit: Some(exit), output };
                Err(Fault::validation_pre_commit(source, message, context))
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
