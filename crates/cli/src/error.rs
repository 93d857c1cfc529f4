//! What can go wrong in the binary itself: what happened, where, and the next step as data.
//!
//! These are not faults. A [fault](unstuck_core::fault) is a failure of the work that Unstuck
//! looks after; an error here is a command that could not be carried out.

use std::io;
use std::path::PathBuf;

use unstuck_core::engine::{BuildId, QuestionId};
use unstuck_core::fault::{Code, Fault, UnknownCode};
use unstuck_core::plan::PlanError;
use unstuck_core::question::Decision;
use unstuck_core::signature::Signature;
use unstuck_runner::CommandError;
use unstuck_runner::control::{ClientError, Refusal};
use unstuck_server::auth::AccessError;
use unstuck_store::{AnswerError, Holder, StoreError};

use crate::exit::Exit;
use crate::problem::Problem;
use crate::render::words::plain_line;

/// A command that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A name that is no code.
    #[error("{0}")]
    UnknownCode(#[from] UnknownCode),
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
    /// A failure of ours that is not for others to state.
    #[error("{code} is about Unstuck itself")]
    AboutUs {
        /// Which one.
        code: Code,
    },
    /// No script is being run around us.
    #[error("the run around this is no script, or has ended")]
    NoScript,
    /// A key that cannot be used.
    #[error("this key cannot be used: {why}")]
    UnfitKey {
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no command to run.
    #[error("there is no command to run")]
    NoCommand,
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
    /// Nobody answers where a run says that whoever holds its project is.
    #[error("whoever runs this cannot be reached: {source}")]
    Unreachable {
        /// What the system said.
        source: io::Error,
    },
    /// Whoever holds the project refused.
    #[error("{0}")]
    Refused(#[from] ClientError),
    /// Something in the way that has a code.
    #[error("{}: {}", .0.code(), .0.message)]
    Fault(Box<Fault>),
    /// Nothing was named, and there is no folder of tasks.
    #[error("there is nothing to run: no tasks were named, and there is no folder tasks/")]
    NoTasks,
    /// A folder without a task file.
    #[error("there is no task file in {}", folder.display())]
    NoTasksIn {
        /// Which one.
        folder: PathBuf,
    },
    /// What was named is not there.
    #[error("there is no file {name}")]
    NoSuchTask {
        /// As it was named.
        name: String,
        /// What in that folder is called much like it.
        near: Option<String>,
    },
    /// Tasks that make no plan.
    #[error("{0}")]
    Plan(#[from] PlanError),
    /// A command was not carried out.
    #[error("{0}")]
    Command(#[from] CommandError),
    /// An answer was not taken.
    #[error("{0}")]
    Answer(#[from] AnswerError),
    /// A word that no question offers.
    #[error("question {question} does not offer {word:?}")]
    NoSuchChoice {
        /// Which question.
        question: QuestionId,
        /// The word.
        word: String,
        /// What it offers.
        choices: Vec<Decision>,
    },
    /// A hint was chosen and none was given. There is one answer, so it is not taken like this.
    #[error("this answer needs your words")]
    NoGuidance {
        /// The question.
        question: QuestionId,
    },
    /// There is nothing that could be looked up again.
    #[error("question {question} does not ask whether something happened")]
    NothingToCheck {
        /// The question.
        question: QuestionId,
    },
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
    #[error("nobody can be asked: {question}")]
    NobodyToAsk {
        /// What was wanted.
        verb: &'static str,
        /// What would have been asked.
        question: String,
    },
    /// A build that nothing was saved of.
    #[error("build {build} has no branch: nothing of it was saved")]
    NoBranch {
        /// Which one.
        build: BuildId,
    },
    /// A build and the person's branch have no commit in common.
    #[error("build {build} and your branch have no commit in common")]
    NothingInCommon {
        /// Which one.
        build: BuildId,
    },
    /// No branch is checked out.
    #[error("you are on no branch, so nothing can be brought to it")]
    NoBranchHere,
    /// Something of the person's is not committed.
    #[error("you have changes that are not committed: {}", paths(.files))]
    Uncommitted {
        /// In which files.
        files: Vec<PathBuf>,
    },
    /// Files that git does not know are where others are to come.
    #[error("files that git does not know are in the way: {}", paths(.files))]
    InTheWay {
        /// Which ones.
        files: Vec<PathBuf>,
    },
    /// Both sides changed the same lines.
    #[error("it does not fit: both sides changed {}", paths(.files))]
    Conflicts {
        /// The build's branch.
        branch: String,
        /// In which files.
        files: Vec<PathBuf>,
    },
    /// The commits of a build do not stand one after the other.
    #[error("the commits of build {build} do not stand in a row")]
    NotInARow {
        /// Which one.
        build: BuildId,
    },
    /// Git does not know who commits.
    #[error("git does not know your name, so it cannot make a commit")]
    NoName,
    /// The token for pull requests is missing.
    #[error("{variable} is not set, so no pull request can be opened")]
    NoToken {
        /// The variable that is expected to hold it.
        variable: String,
    },
    /// Nobody knows where the pull request belongs.
    #[error(
        "the remote {remote} is not at GitHub, so it is not known where to open a pull request"
    )]
    NotAtGithub {
        /// Its name.
        remote: String,
    },
    /// A person decided to leave the pull request out.
    #[error("it was decided to leave this pull request out")]
    PullRequestLeftOut,
    /// The answer was lost, and it cannot be looked up.
    #[error("nobody can tell whether the pull request was opened")]
    PullRequestUnknown,
    /// No job has this name.
    #[error("there is no job {name}")]
    NoSuchJob {
        /// As it was named.
        name: String,
        /// Those that are called much like it.
        near: Vec<String>,
    },
    /// Somebody runs the jobs of this project already.
    #[error("{holder} runs the jobs of this project already")]
    Watched {
        /// Who.
        holder: Holder,
    },
    /// There is no job at all.
    #[error("there are no jobs in {}", root.display())]
    NoJobs {
        /// The root of the project.
        root: PathBuf,
    },
    /// Who is let in could not be read or changed.
    #[error("{0}")]
    Access(#[from] AccessError),
    /// The store could not do its part.
    #[error("{0}")]
    Store(#[from] StoreError),
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
            Self::Output(_) | Self::PullRequestLeftOut => Exit::SomeFailed,
            Self::Folder { .. } | Self::Problems(_) | Self::Plan(_) | Self::NotAtGithub { .. } => {
                Exit::Config
            }
            // What has to be there before anything begins is the surroundings, not the work.
            Self::Fault(fault) => match Exit::of(fault.code()) {
                Exit::SomeFailed => Exit::Config,
                exit => exit,
            },
            Self::NoAnswer { .. } | Self::Unreachable { .. } | Self::Watched { .. } => {
                Exit::Limited
            }
            Self::NoToken { .. } => Exit::Denied,
            Self::PullRequestUnknown => Exit::Waiting,
            Self::Refused(ClientError::Refused { why: Refusal::Store, .. })
            | Self::Command(CommandError::Ended) => Exit::Internal,
            Self::Answer(AnswerError::Store(error))
            | Self::Command(CommandError::Store(error))
            | Self::Store(error) => of_store(error),
            Self::Access(error) => of_access(error),
            Self::UnknownCode(_)
            | Self::AboutUs { .. }
            | Self::NoScript
            | Self::UnfitKey { .. }
            | Self::Line { .. }
            | Self::NoCommand
            | Self::NoTasks
            | Self::NoTasksIn { .. }
            | Self::NoSuchTask { .. }
            | Self::NothingHere { .. }
            | Self::NoBuild { .. }
            | Self::Unknown { .. }
            | Self::Refused(_)
            | Self::Command(CommandError::Rejected(_))
            | Self::Answer(_)
            | Self::NoSuchChoice { .. }
            | Self::NoGuidance { .. }
            | Self::NothingToCheck { .. }
            | Self::UnknownSignature { .. }
            | Self::NoOpenBuild
            | Self::Ambiguous { .. }
            | Self::NotNow { .. }
            | Self::NoBranch { .. }
            | Self::NothingInCommon { .. }
            | Self::NoBranchHere
            | Self::Uncommitted { .. }
            | Self::InTheWay { .. }
            | Self::Conflicts { .. }
            | Self::NotInARow { .. }
            | Self::NoName
            | Self::NoSuchJob { .. }
            | Self::NoJobs { .. }
            | Self::NobodyToAsk { .. } => Exit::Usage,
        }
    }

    /// The code of what is in the way; none for a mistyped command, which is no failure of anything.
    pub(crate) fn code(&self) -> Option<Code> {
        match self {
            Self::Fault(fault) => Some(fault.code()),
            Self::Problems(problems) => problems.first().map(|problem| problem.code),
            Self::Plan(_) => Some(Code::ConfigInvalid),
            Self::NoAnswer { .. } => Some(Code::OperationTimeout),
            Self::Output(source) if source.kind() == io::ErrorKind::StorageFull => {
                Some(Code::EnvDiskFull)
            }
            Self::Command(CommandError::Ended) => Some(Code::InternalError),
            Self::Refused(ClientError::Refused { why, .. }) => Some(why.code()),
            Self::Refused(ClientError::Gone) | Self::Unreachable { .. } => {
                Some(Code::EnvUnavailable)
            }
            Self::Command(CommandError::Rejected(_)) | Self::NotNow { .. } => {
                Some(Code::LogicPhaseViolation)
            }
            Self::Folder { .. }
            | Self::Answer(AnswerError::Store(_))
            | Self::Command(CommandError::Store(_))
            | Self::Store(_) => Some(Code::InternalStore),
            Self::Access(error) => match of_access(error) {
                Exit::Config => Some(Code::ConfigInvalid),
                Exit::Internal => Some(Code::InternalError),
                _ => None,
            },
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
            Self::AboutUs { .. }
            | Self::UnfitKey { .. }
            | Self::NoScript
            | Self::Unreachable { .. } => self.script_hints(),
            Self::NoCommand => vec!["write it after `--`: `unstuck exec -- COMMAND`".to_owned()],
            Self::NothingHere { .. } => {
                vec!["`unstuck exec -- COMMAND` runs one; -C DIR names another project".to_owned()]
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
            Self::Access(error) => vec![error.hint()],
            Self::Answer(AnswerError::NotAnOption { question, .. }) => {
                vec![format!("`unstuck inbox show {}` lists the choices", question.0)]
            }
            Self::NoSuchChoice { question, choices, .. } => {
                let choices: Vec<&str> = choices.iter().map(|choice| choice.as_str()).collect();
                vec![
                    format!("its choices are {}", choices.join(", ")),
                    format!("`unstuck inbox show {}` says what each leads to", question.0),
                ]
            }
            Self::NoGuidance { question } => {
                let answer = format!("unstuck inbox answer {} provide_guidance", question.0);
                vec![format!("`{answer} --guidance 'what you would try'`")]
            }
            Self::NothingToCheck { question } => {
                vec![format!("`unstuck inbox show {}` says what it asks", question.0)]
            }
            Self::UnknownSignature { near, .. } => unknown_signature(near),
            Self::NoOpenBuild => {
                vec!["`unstuck status` shows the builds there are; name one, such as b7".to_owned()]
            }
            Self::Ambiguous { .. } => {
                vec!["write more of the name, or the number, such as t12".to_owned()]
            }
            Self::NotNow { hint, .. } => vec![hint.clone()],
            Self::NoBranch { .. }
            | Self::NothingInCommon { .. }
            | Self::NoBranchHere
            | Self::Uncommitted { .. }
            | Self::InTheWay { .. }
            | Self::Conflicts { .. }
            | Self::NotInARow { .. }
            | Self::NoName
            | Self::NoToken { .. }
            | Self::NotAtGithub { .. }
            | Self::PullRequestLeftOut
            | Self::PullRequestUnknown => self.landing_hints(),
            Self::NoSuchJob { .. } | Self::Watched { .. } | Self::NoJobs { .. } => self.job_hints(),
            Self::NobodyToAsk { verb, .. } => {
                vec![format!("`unstuck {verb} … --yes` does it without a question")]
            }
            Self::Fault(fault) => {
                vec![format!("`unstuck explain {}` says what helps", fault.code())]
            }
            Self::NoTasks => vec![
                "`unstuck run \"a goal\"` runs one; `unstuck init` writes an example task"
                    .to_owned(),
            ],
            Self::NoTasksIn { .. } => {
                vec!["tasks are files that end in .md; `unstuck init` writes an example".to_owned()]
            }
            Self::NoSuchTask { near, .. } => {
                let near = near.as_ref().map(|near| format!("did you mean {near}?"));
                let goal = "a goal goes in quotes: `unstuck run \"make the login test pass\"`";
                near.into_iter().chain([goal.to_owned()]).collect()
            }
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

    /// Next steps when it is about jobs.
    fn job_hints(&self) -> Vec<String> {
        match self {
            Self::NoSuchJob { near, .. } => {
                let near = near.join(" or ");
                let near = (!near.is_empty()).then(|| format!("did you mean {near}?"));
                near.into_iter().chain(["`unstuck jobs` lists them".to_owned()]).collect()
            }
            Self::Watched { .. } => vec![
                "`unstuck jobs` shows when each runs next; `unstuck jobs run NAME` runs one now"
                    .to_owned(),
            ],
            Self::NoJobs { .. } => vec![
                "`unstuck jobs add NAME --schedule 'every 5 minutes' -- COMMAND` adds one"
                    .to_owned(),
            ],
            _ => Vec::new(),
        }
    }

    /// Next steps for a script that says what it does.
    fn script_hints(&self) -> Vec<String> {
        match self {
            Self::AboutUs { .. } => vec![
                "`unstuck explain` lists the codes; LOGIC_ERROR says that the script is wrong"
                    .to_owned(),
            ],
            Self::UnfitKey { .. } => {
                vec!["take a short name for what is done, such as invoice-2026-11".to_owned()]
            }
            Self::NoScript => vec!["run the script with `unstuck exec -- SCRIPT`".to_owned()],
            Self::Unreachable { .. } => vec![
                "the run that this belongs to has ended; start its script with `unstuck exec`"
                    .to_owned(),
            ],
            _ => Vec::new(),
        }
    }

    /// Next steps when what a build did cannot be brought or sent.
    fn landing_hints(&self) -> Vec<String> {
        match self {
            Self::NoBranch { .. } => {
                vec!["`unstuck status` shows what became of its tasks".to_owned()]
            }
            Self::NothingInCommon { .. } => {
                vec!["check out the branch that the build was started on".to_owned()]
            }
            Self::NoBranchHere => vec!["`git switch BRANCH` goes to one".to_owned()],
            Self::Uncommitted { .. } => {
                vec!["nothing was changed; commit them, or `git stash` puts them aside".to_owned()]
            }
            Self::InTheWay { .. } => {
                vec!["nothing was changed; move them away, or commit them".to_owned()]
            }
            Self::Conflicts { branch, .. } => vec![format!(
                "nothing was changed; `git merge {branch}` lets you join them by hand"
            )],
            Self::NotInARow { .. } => vec!["nothing was changed; take --merge instead".to_owned()],
            Self::NoName => {
                vec!["`git config user.name NAME` and `git config user.email ADDRESS`".to_owned()]
            }
            Self::NoToken { variable } => vec![
                format!("`export {variable}=…` with a token that may open pull requests"),
                "`github.token_env` in unstuck.toml names another variable".to_owned(),
            ],
            Self::NotAtGithub { .. } => vec![
                "set `github.repository` and `github.base_url` in unstuck.toml, or `run.remote`"
                    .to_owned(),
            ],
            Self::PullRequestLeftOut => {
                vec!["`unstuck land --merge` brings the work into your branch".to_owned()]
            }
            Self::PullRequestUnknown => {
                vec!["look whether it is there, then say so with `unstuck inbox`".to_owned()]
            }
            _ => Vec::new(),
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

/// Files that cannot be used need a person; a number or a name that does not fit was mistyped.
const fn of_access(error: &AccessError) -> Exit {
    match error {
        AccessError::NotRead { .. }
        | AccessError::NotWritten { .. }
        | AccessError::Damaged { .. }
        | AccessError::Newer { .. }
        | AccessError::Exposed { .. } => Exit::Config,
        AccessError::NoRandom(_) => Exit::Internal,
        AccessError::UnknownToken(_) | AccessError::TooMany(_) | AccessError::UnfitName(_) => {
            Exit::Usage
        }
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

/// How many files are enough to know what it is about.
const PATHS_MAX: usize = 5;

/// `a, b and 3 more`.
fn paths(files: &[PathBuf]) -> String {
    let shown: Vec<String> =
        files.iter().take(PATHS_MAX).map(|file| plain_line(&file.to_string_lossy())).collect();
    match files.len().saturating_sub(PATHS_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
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
