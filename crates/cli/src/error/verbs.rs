//! Errors of single verbs: calls of scripts, jobs, the tasks of a run, answers and the server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use unstuck_core::engine::{BuildId, QuestionId};
use unstuck_core::fault::Code;
use unstuck_server::auth::{AccessError, InvalidPublicHost};
use unstuck_store::Holder;

use super::{near_hint, one_hint};
use crate::exit::Exit;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ScriptError {
    /// A fault code about Unstuck itself, which a script may not state.
    #[error("{code} is about Unstuck itself")]
    AboutUs { code: Code },
    #[error("this is not called from a script that Unstuck runs, or its run has ended")]
    NoScript,
    #[error("this key cannot be used: {why}")]
    UnfitKey { why: &'static str },
    #[error("there is no command to run")]
    NoCommand,
    /// The control socket that the run names for its holder does not answer.
    #[error("the process that runs this cannot be reached: {source}")]
    Unreachable { source: io::Error },
}

impl ScriptError {
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::Unreachable { .. } => Exit::Limited,
            Self::AboutUs { .. } | Self::NoScript | Self::UnfitKey { .. } | Self::NoCommand => {
                Exit::Usage
            }
        }
    }

    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::AboutUs { .. } => one_hint(
                "`unstuck explain` lists the codes; LOGIC_ERROR says that the script is wrong",
            ),
            Self::UnfitKey { .. } => {
                one_hint("use a short name for the action, such as invoice-2026-11")
            }
            Self::NoScript => one_hint("run the script with `unstuck exec -- SCRIPT`"),
            Self::Unreachable { source } if source.kind() == io::ErrorKind::PermissionDenied => {
                one_hint(
                    "the sandbox denies it to this shell; an agent can use the tool `mutate` instead",
                )
            }
            Self::Unreachable { .. } => one_hint(
                "the run that this belongs to has ended; start its script with `unstuck exec`",
            ),
            Self::NoCommand => one_hint("write it after `--`: `unstuck exec -- COMMAND`"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum JobsError {
    #[error("there is no job {name}")]
    NoSuchJob {
        name: String,
        /// Names of jobs that are similar.
        near: Vec<String>,
    },
    #[error("{holder} runs the jobs of this project already")]
    Watched { holder: Holder },
    #[error("there are no jobs in {}", root.display())]
    NoJobs { root: PathBuf },
}

impl JobsError {
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::Watched { .. } => Exit::Limited,
            Self::NoSuchJob { .. } | Self::NoJobs { .. } => Exit::Usage,
        }
    }

    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::NoSuchJob { near, .. } => {
                let all = "`unstuck jobs` lists them".to_owned();
                near_hint(near).into_iter().chain([all]).collect()
            }
            Self::Watched { .. } => one_hint(
                "`unstuck jobs` shows when each runs next; `unstuck jobs run NAME` runs one now",
            ),
            Self::NoJobs { .. } => {
                one_hint("`unstuck jobs add NAME --schedule 'every 5 minutes' -- COMMAND` adds one")
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TasksError {
    #[error("there is nothing to run: no tasks were named, and there is no folder tasks/")]
    Nothing,
    #[error("there is nothing to run: the goal is empty")]
    EmptyGoal,
    #[error("there is nothing left to do: every item is ticked")]
    AllDone,
    #[error("build {build} is already working on all of this")]
    Begun { build: BuildId },
    #[error("there is no task file in {}", folder.display())]
    EmptyFolder { folder: PathBuf },
    #[error("there is no file {name}")]
    NotThere {
        name: String,
        /// A similar name in the same folder.
        near: Option<String>,
    },
}

impl TasksError {
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::Nothing | Self::EmptyGoal => {
                one_hint("`unstuck run \"a goal\"` runs one; `unstuck init` writes an example task")
            }
            Self::Begun { .. } => one_hint("`unstuck resume` follows it to its end"),
            Self::AllDone => one_hint("write `- [ ]` before what is to be done"),
            Self::EmptyFolder { .. } => {
                one_hint("tasks are files that end in .md; `unstuck init` writes an example")
            }
            Self::NotThere { near, .. } => {
                let near = near_hint(near.as_slice());
                let goal = "a goal goes in quotes: `unstuck run \"make the login test pass\"`";
                near.into_iter().chain([goal.to_owned()]).collect()
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum InboxError {
    #[error("question {question} does not offer {word:?}")]
    NoSuchChoice {
        question: QuestionId,
        word: String,
        /// The choices as they are typed, each with its description.
        choices: Vec<String>,
    },
    /// Guidance was chosen and none was given. A question is answered only once, so the answer is not
    /// accepted without it.
    #[error("this answer needs a message")]
    NoGuidance { question: QuestionId },
    #[error("question {question} is not about a change")]
    NoChange { question: QuestionId },
    #[error("question {question} has nothing that could be checked again")]
    NothingToCheck { question: QuestionId },
}

impl InboxError {
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::NoSuchChoice { question, choices, .. } => {
                let more = format!("`unstuck inbox show {}` says what each leads to", question.0);
                choices.iter().cloned().chain([more]).collect()
            }
            Self::NoGuidance { question } => {
                let answer = format!("unstuck inbox answer {} provide_guidance", question.0);
                one_hint(format!("`{answer} --guidance 'what you would try'`"))
            }
            Self::NothingToCheck { question } | Self::NoChange { question } => {
                one_hint(format!("`unstuck inbox show {}` says what it asks", question.0))
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("cannot listen at {address}: {source}")]
    NotBound { address: SocketAddr, source: io::Error },
    #[error("two projects are called {name}: {} and {}", roots[0].display(), roots[1].display())]
    SameName { name: String, roots: [PathBuf; 2] },
    #[error(transparent)]
    UnfitHost(#[from] InvalidPublicHost),
    #[error(transparent)]
    Access(#[from] AccessError),
}

impl ServeError {
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::NotBound { .. } => Exit::Config,
            Self::SameName { .. } | Self::UnfitHost(_) => Exit::Usage,
            // Unusable files need a person; the other errors are mistyped arguments.
            Self::Access(error) => match error {
                AccessError::NotRead { .. }
                | AccessError::NotWritten { .. }
                | AccessError::Damaged { .. }
                | AccessError::Newer { .. }
                | AccessError::Exposed { .. } => Exit::Config,
                AccessError::NoRandom(_) => Exit::Internal,
                AccessError::UnknownToken(_)
                | AccessError::TooMany(_)
                | AccessError::UnfitName(_) => Exit::Usage,
            },
        }
    }

    pub(super) const fn code(&self) -> Option<Code> {
        match self.exit() {
            Exit::Config => Some(Code::ConfigInvalid),
            Exit::Internal => Some(Code::InternalError),
            _ => None,
        }
    }

    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::NotBound { address, .. } => vec![
                format!("is `unstuck serve` running already? http://{address}/ would answer"),
                "`--bind 127.0.0.1:PORT` uses another port".to_owned(),
            ],
            Self::SameName { .. } => {
                one_hint("serve them separately, or give one folder another name")
            }
            Self::UnfitHost(_) => Vec::new(),
            Self::Access(error) => vec![error.hint()],
        }
    }
}
