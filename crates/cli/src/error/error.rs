//! The error of a command that could not be carried out, with its exit code, fault code and hints.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::fault::{Code, Fault, Internal, Kind, UnknownCode};
use unstuck_core::plan::PlanError;
use unstuck_core::signature::Signature;
use unstuck_runner::CommandError;
use unstuck_runner::control::{ClientError, ControlRefusal};
use unstuck_server::auth::AccessError;
use unstuck_store::{AnswerError, Holder, StoreError};

use super::{
    InboxError, JobsError, LandError, ScriptError, ServeError, TasksError, near_hint, one_hint,
};
use crate::exit::Exit;
use crate::problem::InputProblem;

/// The source of the fault that neither an agent is installed nor one is named in the settings.
pub(crate) const NO_AGENT_SOURCE: &str = "settings";

#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("{0}")]
    UnknownCode(#[from] UnknownCode),
    #[error("only {allowed} files can be open at once here; at least {needed} are needed")]
    Descriptors { allowed: u64, needed: u64 },
    #[error("cannot read {place}: {source}")]
    Input {
        /// The path of the file, or "standard input".
        place: String,
        source: io::Error,
    },
    /// A line of bulk input that is no JSON string.
    #[error("{place}, line {line}: {problem}")]
    Line {
        /// The path of the file, or "standard input".
        place: String,
        /// The number of the line, counted from 1.
        line: u64,
        problem: String,
    },
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    #[error("nothing was run yet in {}", root.display())]
    NothingHere { root: PathBuf },
    #[error("no build was run yet in {}", root.display())]
    NoBuild { root: PathBuf },
    #[error("there is no {what} {name}")]
    Unknown {
        /// The kind of thing, such as a task or a build.
        what: &'static str,
        name: String,
        /// The command that lists the existing names.
        list: &'static str,
    },
    #[error("there is no setting {key}")]
    UnknownSetting {
        key: String,
        /// Names of settings that are similar.
        near: Vec<String>,
    },
    #[error("cannot use {place}: {source}")]
    Folder { place: String, source: io::Error },
    #[error("{holder} has locked the project and does not answer: {source}")]
    NoAnswer {
        holder: Holder,
        /// The error of the connection to the control socket.
        source: io::Error,
    },
    #[error("{0}")]
    Refused(#[from] ClientError),
    /// A condition that has a fault code prevents the command.
    #[error("{}: {}", .0.code(), .0.message)]
    Fault(Box<Fault>),
    /// Tasks that do not form a valid plan.
    #[error("{0}")]
    Plan(#[from] PlanError),
    #[error("{0}")]
    Command(#[from] CommandError),
    #[error("{0}")]
    Answer(#[from] AnswerError),
    /// A signature that this project has never recorded.
    #[error("this project has no error {given:?}")]
    UnknownSignature {
        given: String,
        /// Known signatures that are most similar to it.
        near: Vec<Signature>,
    },
    /// Files that a person wrote cannot be used as they are.
    #[error("{}", lines(.0))]
    Problems(Vec<InputProblem>),
    /// Arguments that cannot be used as they are.
    #[error("{}", lines(.0))]
    Arguments(Vec<InputProblem>),
    #[error("there is no unfinished build here")]
    NoOpenBuild,
    #[error("there is no build yet")]
    NoBuildYet,
    /// A prefix that several tasks have in common.
    #[error("{given:?} may mean {}", several(.names, *.more))]
    Ambiguous {
        given: String,
        /// Some of the tasks that it may mean.
        names: Vec<String>,
        /// Number of further tasks that it may mean.
        more: usize,
    },
    #[error("cannot {verb}: {said}")]
    NotNow {
        verb: &'static str,
        /// The reason, in the words of the part that decides.
        said: String,
        hint: String,
    },
    #[error("{verb} asks for confirmation: {question}")]
    NoTerminal { verb: &'static str, question: String },
    #[error(transparent)]
    Land(#[from] LandError),
    /// A call of a script to `exec`, `mutate` or `fail` cannot be carried out.
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error(transparent)]
    Jobs(#[from] JobsError),
    #[error(transparent)]
    Inbox(#[from] InboxError),
    #[error(transparent)]
    Tasks(#[from] TasksError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl From<AccessError> for CliError {
    fn from(error: AccessError) -> Self {
        Self::Serve(error.into())
    }
}

impl From<Fault> for CliError {
    fn from(fault: Fault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

/// Returns the fault for a broken invariant of a component.
pub(crate) fn internal_fault(component: &'static str, message: impl Into<String>) -> Fault {
    let context = Internal { component: component.to_owned() };
    Fault::internal_error(component, message, context)
}

impl CliError {
    /// Returns the error for a name that does not exist; the command `list` shows the existing ones.
    pub(crate) fn unknown(what: &'static str, name: impl Display, list: &'static str) -> Self {
        Self::Unknown { what, name: name.to_string(), list }
    }

    /// Returns a function that makes the error for a folder or file of Unstuck that cannot be used.
    pub(crate) fn unusable(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Folder { place: path.display().to_string(), source }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            // A missing file is a mistyped argument; a read that fails later is not.
            Self::Input { source, .. } => match source.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => Exit::Usage,
                _ => Exit::SomeFailed,
            },
            // The reader closed the pipe, as `head` does: nothing failed.
            Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Output(_) => Exit::SomeFailed,
            Self::Folder { .. } | Self::Descriptors { .. } | Self::Problems(_) | Self::Plan(_) => {
                Exit::Config
            }
            // A fault before the work begins is about the environment, not about the work.
            Self::Fault(fault) => match Exit::from_code(fault.code()) {
                Exit::SomeFailed => Exit::Config,
                exit => exit,
            },
            Self::NoAnswer { .. } => Exit::Limited,
            Self::Land(error) => error.exit(),
            Self::Script(error) => error.exit(),
            Self::Jobs(error) => error.exit(),
            Self::Serve(error) => error.exit(),
            Self::Refused(ClientError::Refused { why: ControlRefusal::Store, .. })
            | Self::Command(CommandError::Ended) => Exit::Internal,
            Self::Answer(AnswerError::Store(error))
            | Self::Command(CommandError::Store(error))
            | Self::Store(error) => store_exit(error),
            Self::UnknownCode(_)
            | Self::Line { .. }
            | Self::NothingHere { .. }
            | Self::NoBuild { .. }
            | Self::Unknown { .. }
            | Self::UnknownSetting { .. }
            | Self::Refused(_)
            | Self::Command(CommandError::Rejected(_))
            | Self::Answer(_)
            | Self::UnknownSignature { .. }
            | Self::NoOpenBuild
            | Self::NoBuildYet
            | Self::Ambiguous { .. }
            | Self::NotNow { .. }
            | Self::Arguments(_)
            | Self::Inbox(_)
            | Self::Tasks(_)
            | Self::NoTerminal { .. } => Exit::Usage,
        }
    }

    /// Returns the fault code, or `None` for a mistyped command, which is not a failure of anything.
    pub(crate) fn code(&self) -> Option<Code> {
        match self {
            Self::Fault(fault) => Some(fault.code()),
            Self::Problems(problems) => problems.first().map(|problem| problem.code),
            Self::Plan(_) => Some(Code::ConfigInvalid),
            Self::Serve(error) => error.code(),
            Self::NoAnswer { .. } => Some(Code::OperationTimeout),
            Self::Output(source) if source.kind() == io::ErrorKind::StorageFull => {
                Some(Code::EnvDiskFull)
            }
            Self::Command(CommandError::Ended) => Some(Code::InternalError),
            Self::Refused(ClientError::Refused { why, .. }) => Some(why.code()),
            Self::Refused(ClientError::Gone) | Self::Script(ScriptError::Unreachable { .. }) => {
                Some(Code::EnvUnavailable)
            }
            Self::Command(CommandError::Rejected(_)) | Self::NotNow { .. } => {
                Some(Code::LogicPhaseViolation)
            }
            Self::Folder { .. }
            | Self::Answer(AnswerError::Store(_))
            | Self::Command(CommandError::Store(_))
            | Self::Store(_) => Some(Code::InternalStore),
            Self::Input { .. } if self.exit() != Exit::Usage => Some(Code::ConfigParseError),
            _ => None,
        }
    }

    /// Returns the next steps, most useful first.
    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            Self::UnknownCode(unknown) => unknown_code_hints(unknown),
            Self::Line { .. } => {
                one_hint("bulk input is one JSON string per line; earlier lines were answered")
            }
            Self::Input { .. } => {
                one_hint("without a file, or with `-`, the text is read from standard input")
            }
            Self::Output(_) | Self::Arguments(_) => Vec::new(),
            Self::Script(error) => error.hints(),
            Self::Descriptors { .. } => {
                one_hint("`ulimit -n 1024` in the shell allows more; a service has LimitNOFILE")
            }
            Self::NothingHere { .. } => {
                vec![
                    "`unstuck run \"a goal\"` starts work, and `unstuck exec -- COMMAND` runs a \
                     command"
                        .to_owned(),
                    "-C DIR names another project".to_owned(),
                ]
            }
            Self::NoBuild { .. } => {
                one_hint("a report is about a build; `unstuck status` shows jobs as well")
            }
            Self::Unknown { what: "directory", .. } => one_hint("-C takes a folder that exists"),
            Self::Unknown { list, .. } => one_hint(format!("`{list}` shows what there is")),
            Self::UnknownSetting { near, .. } => {
                let all = "`unstuck config` lists all settings".to_owned();
                near_hint(near).into_iter().chain([all]).collect()
            }
            Self::Folder { source, .. } => one_hint(match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "free some space, or work in another folder"
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "give your user permission for it, or work in another folder"
                }
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                    "a file is in the place of a folder: move it away, or work in another folder"
                }
                _ => "work in another folder: -C DIR",
            }),
            Self::NoAnswer { .. } => one_hint("wait until it is done, or stop it; then try again"),
            Self::Answer(AnswerError::Store(error))
            | Self::Command(CommandError::Store(error))
            | Self::Store(error) => vec![error.hint().to_owned()],
            Self::Inbox(error) => error.hints(),
            Self::UnknownSignature { near, .. } => unknown_signature_hints(near),
            Self::NoOpenBuild => {
                one_hint("`unstuck status` shows the builds there are; name one, such as b7")
            }
            Self::NoBuildYet => one_hint("`unstuck run \"a goal\"` starts one"),
            Self::Ambiguous { .. } => {
                one_hint("write more of the name, or the number, such as t12")
            }
            Self::NotNow { hint, .. } => vec![hint.clone()],
            Self::Land(error) => error.hints(),
            Self::Jobs(error) => error.hints(),
            Self::Serve(error) => error.hints(),
            Self::NoTerminal { .. } => one_hint("without a terminal, add --yes"),
            Self::Fault(fault) => fault_hints(fault),
            Self::Tasks(error) => error.hints(),
            Self::Plan(_) => one_hint("nothing was started; fix the plan and run it again"),
            Self::Problems(problems) => {
                let first = problems.first().map(|problem| problem.code);
                first
                    .map(|code| format!("`unstuck explain {code}` says what helps"))
                    .into_iter()
                    .collect()
            }
            Self::Answer(_) => one_hint("`unstuck inbox` lists the open questions"),
            Self::Refused(_) | Self::Command(_) => {
                one_hint("`unstuck status` shows the current state")
            }
        }
    }

    /// Returns whether there is nothing to report, because the reader of the output is gone.
    pub(crate) fn is_silent(&self) -> bool {
        self.exit() == Exit::Done
    }
}

/// Returns the remedy for a fault before the work begins, if it is known, and the page about its code.
fn fault_hints(fault: &Fault) -> Vec<String> {
    let remedy = match &fault.kind {
        Kind::PreconditionMissing(missing) => match missing.what.as_str() {
            "a git repository" => Some("`git init && git add -A && git commit -m 'First commit'`"),
            "a clean working tree" => Some("commit or stash them"),
            _ => None,
        },
        Kind::ProviderNotAvailable(_) if fault.source == NO_AGENT_SOURCE => {
            Some("install Claude Code or Codex, or name an API: agent.provider and a key")
        }
        Kind::ProviderNotAvailable(_) => {
            Some("install it, or name it with agent.program; it was looked for along PATH")
        }
        _ => None,
    };
    let page = format!("`unstuck explain {}` says what helps", fault.code());
    remedy.map(str::to_owned).into_iter().chain([page]).collect()
}

/// Formats all problems, each on its own line.
fn lines(problems: &[InputProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Returns the exit code for an error of the store. A store that is unavailable or in use may recover; one
/// that cannot work needs a person.
const fn store_exit(error: &StoreError) -> Exit {
    match error {
        StoreError::Held(_) | StoreError::Full { .. } | StoreError::Unavailable { .. } => {
            Exit::Limited
        }
        StoreError::Newer { .. } | StoreError::Rights { .. } => Exit::Config,
        StoreError::Damaged { .. }
        | StoreError::NotWritten { .. }
        | StoreError::NotRead { .. }
        | StoreError::Fenced { .. } => Exit::Internal,
    }
}

/// Formats a list such as `one (t1), two (t2) or 3 more`.
fn several(names: &[String], more: usize) -> String {
    let more = (more > 0).then(|| format!("{more} more"));
    let mut names: Vec<String> = names.iter().cloned().chain(more).collect();
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

fn unknown_signature_hints(near: &[Signature]) -> Vec<String> {
    let list = "`unstuck status` shows the errors there are".to_owned();
    let near: Vec<String> = near.iter().map(Signature::to_string).collect();
    near_hint(&near).into_iter().chain([list]).collect()
}

fn unknown_code_hints(unknown: &UnknownCode) -> Vec<String> {
    let near: Vec<&str> = unknown.nearest.iter().map(|code| code.as_str()).collect();
    let list = "`unstuck explain` lists all codes".to_owned();
    near_hint(&near).into_iter().chain([list]).collect()
}
