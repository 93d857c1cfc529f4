//! Problems in a task file: the place, the mistake and a hint; and the limits that a file has to keep.

use std::fmt;

use crate::code::Code;

/// Maximum size of a file; a plan of ten thousand lines is smaller.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Maximum size of all files together: the text of a build stays in memory and in its journal.
pub const ALL_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum number of tasks of a build.
pub const TASKS_MAX: usize = 10_000;
/// Maximum length of a task's text, because it is part of every prompt of the task.
pub(super) const BRIEF_BYTES_MAX: usize = 128 * 1024;
/// Maximum size of front matter; longer text belongs into the body.
pub(super) const FRONT_BYTES_MAX: usize = 16 * 1024;

/// All known keys of a task.
pub(super) const KEYS: [&str; 10] = [
    "id", "title", "depends_on", "priority", "serialize", "provider", "model", "validate",
    "budget", "phase",
];

/// Maximum number of characters of the input repeated in a message.
const SHOWN_CHARS_MAX: usize = 60;

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFileProblem {
    /// The file, as it was named.
    pub file: String,
    /// Line number, counted from 1.
    pub line: Option<u32>,
    /// The mistake.
    pub wrong: PlanFileMistake,
}

impl PlanFileProblem {
    /// Returns the fault code of the mistake.
    pub const fn code(&self) -> Code {
        match self.wrong {
            PlanFileMistake::NotText | PlanFileMistake::Unclosed | PlanFileMistake::Yaml(_) => {
                Code::ConfigParseError
            }
            _ => Code::ConfigInvalid,
        }
    }

    /// Returns how to fix it, if that can be said.
    pub fn hint(&self) -> Option<String> {
        self.wrong.hint()
    }
}

impl fmt::Display for PlanFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.wrong)
    }
}

/// The kinds of mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFileMistake {
    /// The file is not text.
    #[error("this is not text in UTF-8")]
    NotText,
    /// The file is too large.
    #[error("the file has {0} bytes, and {FILE_BYTES_MAX} are the most")]
    TooLarge(usize),
    /// All files together are too large.
    #[error("all files together have more than {ALL_BYTES_MAX} bytes")]
    TooLargeTogether,
    /// A task is too long.
    #[error("the task has {0} bytes, and {BRIEF_BYTES_MAX} are the most")]
    TooLong(usize),
    /// There are too many tasks.
    #[error("there are {0} tasks, and {TASKS_MAX} are the most")]
    TooMany(usize),
    /// Every item of every plan is ticked.
    #[error("there is nothing left to do: every item is ticked")]
    NothingToDo,
    /// The file is empty.
    #[error("nothing says what is to be done")]
    Empty,
    /// The goal section is empty.
    #[error("the goal is empty")]
    NoGoal,
    /// An item of a plan has no words.
    #[error("this item says nothing")]
    EmptyItem,
    /// The front matter has no end.
    #[error("the front matter that begins here does not end")]
    Unclosed,
    /// The front matter is too large.
    #[error("the front matter has {0} bytes, and {FRONT_BYTES_MAX} are the most")]
    FrontTooLarge(usize),
    /// The front matter is not valid YAML.
    #[error("the front matter cannot be read: {0}")]
    Yaml(String),
    /// The front matter is not a mapping.
    #[error("the front matter is no list of keys and values")]
    NoKeys,
    /// An alias, which would allow very large values.
    #[error("an alias is not understood here")]
    Alias,
    /// A key that does not exist.
    #[error("there is no key `{key}`")]
    UnknownKey {
        /// The key, verbatim.
        key: String,
        /// The most similar known key.
        nearest: Option<&'static str>,
    },
    /// A key that occurs twice.
    #[error("`{0}` is given twice")]
    KeyTwice(String),
    /// A value that does not fit its key.
    #[error("`{key}` cannot be {found}")]
    Value {
        /// The name of the key.
        key: &'static str,
        /// The value found.
        found: String,
        /// The expected form.
        wanted: &'static str,
    },
    /// A line of a scope that is not a glob.
    #[error("this names no file or folder: {0}")]
    NoGlob(String),
    /// A glob that leads outside the project.
    #[error("`{0}` leads out of the project")]
    Outside(String),
    /// An invalid name.
    #[error("`{0}` cannot be the name of a task")]
    BadName(String),
    /// Two tasks have the same name.
    #[error("a task is named `{name}` here and in {other}")]
    Twice {
        /// The shared name.
        name: String,
        /// The other file, with its line.
        other: String,
    },
    /// A dependency that does not exist.
    #[error("it needs `{name}`, and there is no such task")]
    UnknownNeed {
        /// The name of the dependency.
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// A dependency that is not a task of this build and whose work is not part of the base.
    #[error("it needs `{name}`, {why}")]
    NotThere {
        /// The name of the dependency.
        name: String,
        /// The reason: "which is not done".
        why: String,
        /// The action that would add it.
        way: String,
    },
    /// A dependency that matches several tasks.
    #[error("it needs `{name}`, which could be {}", .fits.join(" or "))]
    Ambiguous {
        /// The name of the dependency.
        name: String,
        /// Some of the matching tasks.
        fits: Vec<String>,
    },
    /// Tasks depend on each other.
    #[error("these tasks wait for each other: {}", .0.join(" → "))]
    Cycle(Vec<String>),
}

impl PlanFileMistake {
    pub(super) fn bad_value(key: &'static str, found: &str, wanted: &'static str) -> Self {
        Self::Value { key, found: shorten_input(found), wanted }
    }

    /// Returns how to fix it, if that can be said.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotText => "save the file as UTF-8".to_owned(),
            Self::TooLarge(_) | Self::TooLargeTogether | Self::TooLong(_) => {
                "say where the agent finds the rest instead of writing it here".to_owned()
            }
            Self::TooMany(_) => "run them in several builds".to_owned(),
            Self::NothingToDo => "write `- [ ]` before what is to be done".to_owned(),
            Self::Empty => "write what is to be reached, or a list of `- [ ]` items".to_owned(),
            Self::NoGoal => "write below the heading what is to be reached".to_owned(),
            Self::EmptyItem => "write what is to be done after the box, or remove it".to_owned(),
            Self::Unclosed => "end it with a line `---`".to_owned(),
            Self::FrontTooLarge(_) => "write the text below the second `---`".to_owned(),
            Self::NoKeys => "write one `key: value` per line".to_owned(),
            Self::Alias => "write the value itself".to_owned(),
            Self::UnknownKey { nearest: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::UnknownKey { nearest: None, .. } => format!("the keys are {}", KEYS.join(", ")),
            Self::KeyTwice(_) => "keep one of them".to_owned(),
            Self::Value { wanted, .. } => (*wanted).to_owned(),
            Self::NoGlob(_) => "write it in backticks: `src/**`".to_owned(),
            Self::Outside(_) => "name files from the root of the project".to_owned(),
            Self::BadName(_) => "use letters, digits, `-`, `_` and `.`, at most 100".to_owned(),
            Self::Twice { .. } => "give one of them another name".to_owned(),
            Self::UnknownNeed { nearest: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::NotThere { way, .. } => way.clone(),
            Self::Ambiguous { .. } => "write the whole name".to_owned(),
            Self::Cycle(_) => "remove one of these needs".to_owned(),
            Self::UnknownNeed { nearest: None, .. } => {
                "a task is named by its `id`, or after its file".to_owned()
            }
            Self::Yaml(_) => return None,
        })
    }
}

/// Returns the first line of the input, shortened.
pub(super) fn shorten_input(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
