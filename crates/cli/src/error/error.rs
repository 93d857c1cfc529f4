//! A command that could not be carried out: its exit code, its code and the next steps.

use std::io;
use std::path::PathBuf;

use unstuck_core::fault::{Code, Fault, UnknownCode};
use unstuck_core::plan::PlanError;
use unstuck_core::signature::Signature;
use unstuck_runner::CommandError;
use unstuck_runner::control::{ClientError, Refusal};
use unstuck_server::auth::AccessError;
use unstuck_store::{AnswerError, Holder, StoreError};

use super::{InboxError, JobsError, LandError, ScriptError, ServeError, TasksError};
use crate::exit::Exit;
use crate::problem::Problem;

/// A command that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A name that is no code.
    #[error("{0}")]
    UnknownCode(#[from] UnknownCode),
    /// Too few files may be open at once.
    #[error("only {allowed} files may be open at once here, and at least {needed} have to be")]
    Descriptors {
        /// How many may.
        allowed: u64,
        /// How many have to.
        needed: u64,
    },
    /// The input could not be opened or read.
    #[error("cannot read {place}: {source}")]
    Input {
        /// The file, or standard input.
        place: String,
        /// What the system said.
        source: io::Error,
    },
    /// A line of bulk input that is no JSON string.
    #[error("{place}, line {line}: {problem}")]
    Line {
        /// The file, or standard input.
        place: String,
        /// Counted from one.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// Nothing was ever run in this project.
    #[error("nothing was run yet in {}", root.display())]
    NothingHere {
        /// Its root.
        root: PathBuf,
    },
    /// There is no build of a plan yet.
    #[error("no build was run yet in {}", root.display())]
    NoBuild {
        /// Its root.
        root: PathBuf,
    },
    /// There is nothing with this name.
    #[error("there is no {what} {name}")]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// The name.
        name: String,
        /// What shows the names there are.
        list: &'static str,
    },
    /// A folder or file of ours could not be made or used.
    #[error("cannot use {place}: {source}")]
    Folder {
        /// Which one.
        place: String,
        /// What the system said.
        source: io::Error,
    },
    /// Whoever holds the project does not answer.
    #[error("{holder} holds the project and does not answer: {source}")]
    NoAnswer {
        /// Who.
        holder: Holder,
        /// What the system said.
        source: io::Error,
    },
    /// Whoever holds the project refused.
    #[error("{0}")]
    Refused(#[from] ClientError),
    /// Something in the way that has a code.
    #[error("{}: {}", .0.code(), .0.message)]
    Fault(Box<Fault>),
    /// Tasks that make no plan.
    #[error("{0}")]
    Plan(#[from] PlanError),
    /// A command was not carried out.
    #[error("{0}")]
    Command(#[from] CommandError),
    /// An answer was not taken.
    #[error("{0}")]
    Answer(#[from] AnswerError),
    /// An error that this project has never met.
    #[error("this project has met no error {given:?}")]
    UnknownSignature {
        /// What was given.
        given: String,
        /// Those that look most like it.
        near: Vec<Signature>,
    },
    /// Files that a person wrote cannot be used as they are.
    #[error("{}", lines(.0))]
    Problems(Vec<Problem>),
    /// No build is under way, or there never was one.
    #[error("there is no build under way here")]
    NoOpenBuild,
    /// Several tasks begin with what was given.
    #[error("{given:?} may mean {}", several(.names, *.more))]
    Ambiguous {
        /// What was given.
        given: String,
        /// Some of those that it may mean.
        names: Vec<String>,
        /// How many more there are.
        more: usize,
    },
    /// It does not fit the state things are in.
    #[error("cannot {verb}: {said}")]
    NotNow {
        /// What was wanted.
        verb: &'static str,
        /// Why it cannot be, in the words of whoever decides.
        said: String,
        /// The next step.
        hint: String,
    },
    /// A question has to be answered before something is done, and nobody is at the keyboard.
    #[error("there is no terminal to ask at: {question}")]
    NobodyToAsk {
        /// What was wanted.
        verb: &'static str,
        /// What would have been asked.
        question: String,
    },
    /// What a build did cannot be brought or sent.
    #[error(transparent)]
    Land(#[from] LandError),
    /// A script that says what it does cannot do so.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// Something about jobs.
    #[error(transparent)]
    Jobs(#[from] JobsError),
    /// An answer that cannot be taken.
    #[error(transparent)]
    Inbox(#[from] InboxError),
    /// There is nothing to run.
    #[error(transparent)]
    Tasks(#[from] TasksError),
    /// Nothing can be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The store could not do its part.
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl From<AccessError> for Error {
    fn from(error: AccessError) -> Self {
        Self::Serve(error.into())
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

impl Error {
    /// The exit code it leads to.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            // A file that is not there is a mistyped argument; one that breaks off is not.
            Self::Input { source, .. } => match source.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => Exit::Usage,
                _ => Exit::SomeFailed,
            },
            // The reader has seen enough, as `head` does: nothing failed.
            Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Output(_) => Exit::SomeFailed,
            Self::Folder { .. } | Self::Descriptors { .. } | Self::Problems(_) | Self::Plan(_) => {
                Exit::Config
            }
            // What has to be there before anything begins is the surroundings, not the work.
            Self::Fault(fault) => match Exit::of(fault.code()) {
                Exit::SomeFailed => Exit::Config,
                exit => exit,
            },
            Self::NoAnswer { .. } => Exit::Limited,
            Self::Land(error) => error.exit(),
            Self::Script(error) => error.exit(),
            Self::Jobs(error) => error.exit(),
            Self::Serve(error) => error.exit(),
            Self::Refused(ClientError::Refused { why: Refusal::Store, .. })
            | Self::Command(CommandError::Ended) => Exit::Internal,
            Self::Answer(AnswerError::Store(error))
            | Self::Command(CommandError::Store(error))
            | Self::Store(error) => of_store(error),
            Self::UnknownCode(_)
            | Self::Line { .. }
            | Self::NothingHere { .. }
            | Self::NoBuild { .. }
            | Self::Unknown { .. }
            | Self::Refused(_)
            | Self::Command(CommandError::Rejected(_))
            | Self::Answer(_)
            | Self::UnknownSignature { .. }
            | Self::NoOpenBuild
            | Self::Ambiguous { .. }
            | Self::NotNow { .. }
            | Self::Inbox(_)
            | Self::Tasks(_)
            | Self::NobodyToAsk { .. } => Exit::Usage,
        }
    }

    /// The code of what is in the way; none for a mistyped command, which is no failure of anything.
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

    /// Next steps, most useful first.
    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            Self::UnknownCode(unknown) => unknown_code(unknown),
            Self::Line { .. } => vec![
                "bulk input is one JSON string per line; earlier lines were answered".to_owned(),
            ],
            Self::Input { .. } => {
                vec!["without a file, or with `-`, the text is read from standard input".to_owned()]
            }
            Self::Output(_) => Vec::new(),
            Self::Script(error) => error.hints(),
            Self::Descriptors { .. } => {
                vec![
                    "`ulimit -n 1024` in the shell allows more; a service has LimitNOFILE"
                        .to_owned(),
                ]
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
                vec!["a report is about a build; `unstuck status` shows jobs as well".to_owned()]
            }
            Self::Unknown { list, .. } => vec![format!("`{list}` shows what there is")],
            Self::Folder { .. } => {
                vec!["give your user the right to it, or work in another folder".to_owned()]
            }
            Self::NoAnswer { .. } => {
                vec!["wait until it is done, or stop it; then try again".to_owned()]
            }
            Self::Answer(AnswerError::Store(error))
            | Self::Command(CommandError::Store(error))
            | Self::Store(error) => vec![error.hint().to_owned()],
            Self::Answer(AnswerError::NotAnOption { question, .. }) => {
                vec![format!("`unstuck inbox show {}` lists the choices", question.0)]
            }
            Self::Inbox(error) => error.hints(),
            Self::UnknownSignature { near, .. } => unknown_signature(near),
            Self::NoOpenBuild => {
                vec!["`unstuck status` shows the builds there are; name one, such as b7".to_owned()]
            }
            Self::Ambiguous { .. } => {
                vec!["write more of the name, or the number, such as t12".to_owned()]
            }
            Self::NotNow { hint, .. } => vec![hint.clone()],
            Self::Land(error) => error.hints(),
            Self::Jobs(error) => error.hints(),
            Self::Serve(error) => error.hints(),
            Self::NobodyToAsk { verb, .. } => {
                vec![format!("`unstuck {verb} … --yes` does it without a question")]
            }
            Self::Fault(fault) => {
                vec![format!("`unstuck explain {}` says what helps", fault.code())]
            }
            Self::Tasks(error) => error.hints(),
            Self::Plan(_) => vec!["nothing was started; mend the plan and run it again".to_owned()],
            Self::Problems(problems) => {
                let first = problems.first().map(|problem| problem.code);
                first
                    .map(|code| format!("`unstuck explain {code}` says what helps"))
                    .into_iter()
                    .collect()
            }
            Self::Answer(_) => vec!["`unstuck inbox` lists the open questions".to_owned()],
            Self::Refused(_) | Self::Command(_) => {
                vec!["`unstuck status` shows where everything stands".to_owned()]
            }
        }
    }

    /// Whether there is anybody left to tell, and anything to say.
    pub(crate) fn is_silent(&self) -> bool {
        self.exit() == Exit::Done
    }
}

/// All problems, each on a line of its own.
fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// A store that is away or in use may come back; one that cannot work needs a person.
const fn of_store(error: &StoreError) -> Exit {
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

/// `one (t1), two (t2) or 3 more`.
fn several(names: &[String], more: usize) -> String {
    let more = (more > 0).then(|| format!("{more} more"));
    let mut names: Vec<String> = names.iter().cloned().chain(more).collect();
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

fn unknown_signature(near: &[Signature]) -> Vec<String> {
    let list = "`unstuck status` shows the errors there are".to_owned();
    let near: Vec<String> = near.iter().map(Signature::to_string).collect();
    let near = (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")));
    near.into_iter().chain([list]).collect()
}

fn unknown_code(unknown: &UnknownCode) -> Vec<String> {
    let near: Vec<&str> = unknown.nearest.iter().map(|code| code.as_str()).collect();
    let list = "`unstuck explain` lists all codes".to_owned();
    if near.is_empty() {
        vec![list]
    } else {
        vec![format!("did you mean {}?", near.join(" or ")), list]
    }
}
