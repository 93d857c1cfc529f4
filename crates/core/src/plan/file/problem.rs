//! What is wrong in a file of tasks: where, what, and what would be right.

use std::fmt;

use super::front::{FRONT_BYTES_MAX, KEYS};
use super::read::{ALL_BYTES_MAX, FILE_BYTES_MAX, TASKS_MAX};
use super::task::BRIEF_BYTES_MAX;
use crate::fault::Code;

/// How much of what was written is shown again.
const SHOWN_CHARS_MAX: usize = 60;

/// One mistake in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// The line, counted from 1.
    pub line: Option<u32>,
    /// What is wrong.
    pub wrong: Wrong,
}

impl Problem {
    /// What kind of mistake it is.
    pub const fn code(&self) -> Code {
        match self.wrong {
            Wrong::NotText | Wrong::Unclosed | Wrong::Yaml(_) => Code::ConfigParseError,
            _ => Code::ConfigInvalid,
        }
    }

    /// What would be right, where that can be said.
    pub fn hint(&self) -> Option<String> {
        self.wrong.hint()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.wrong)
    }
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The file holds something else than text.
    #[error("this is not text in UTF-8")]
    NotText,
    /// The file is too large.
    #[error("the file has {0} bytes, and {FILE_BYTES_MAX} are the most")]
    TooLarge(usize),
    /// All files together are too large.
    #[error("all files together have more than {ALL_BYTES_MAX} bytes")]
    TooLargeTogether,
    /// One task is too long.
    #[error("the task has {0} bytes, and {BRIEF_BYTES_MAX} are the most")]
    TooLong(usize),
    /// There are too many tasks.
    #[error("there are {0} tasks, and {TASKS_MAX} are the most")]
    TooMany(usize),
    /// Every item of every plan is ticked.
    #[error("there is nothing left to do: every item is ticked")]
    NothingToDo,
    /// Nothing is written in the file.
    #[error("nothing says what is to be done")]
    Empty,
    /// The section is there and nothing is in it.
    #[error("the goal is empty")]
    NoGoal,
    /// An item of a plan without words.
    #[error("this item says nothing")]
    EmptyItem,
    /// The front matter does not end.
    #[error("the front matter that begins here does not end")]
    Unclosed,
    /// The front matter is too large.
    #[error("the front matter has {0} bytes, and {FRONT_BYTES_MAX} are the most")]
    FrontTooLarge(usize),
    /// The front matter cannot be read.
    #[error("the front matter cannot be read: {0}")]
    Yaml(String),
    /// The front matter is something else than keys and values.
    #[error("the front matter is no list of keys and values")]
    NoKeys,
    /// Aliases would be a way to write very large values.
    #[error("an alias is not understood here")]
    Alias,
    /// A key that does not exist.
    #[error("there is no key `{key}`")]
    UnknownKey {
        /// As it is written.
        key: String,
        /// The one that was meant, perhaps.
        nearest: Option<&'static str>,
    },
    /// A key that is there twice.
    #[error("`{0}` is given twice")]
    KeyTwice(String),
    /// A value that does not fit its key.
    #[error("`{key}` cannot be {found}")]
    Value {
        /// The key.
        key: &'static str,
        /// What was found.
        found: String,
        /// What would fit.
        wanted: &'static str,
    },
    /// A line of a scope that names nothing.
    #[error("this names no file or folder: {0}")]
    NoGlob(String),
    /// A glob that leads out of the project.
    #[error("`{0}` leads out of the project")]
    Outside(String),
    /// A name that cannot be one.
    #[error("`{0}` cannot be the name of a task")]
    BadName(String),
    /// Two tasks have one name.
    #[error("a task is named `{name}` here and in {other}")]
    Twice {
        /// The name.
        name: String,
        /// The other file, with its line.
        other: String,
    },
    /// What is needed does not exist.
    #[error("it needs `{name}`, and there is no such task")]
    UnknownNeed {
        /// What is needed.
        name: String,
        /// The one that was meant, perhaps.
        nearest: Option<String>,
    },
    /// What is needed is no task of this build, and its work is not there.
    #[error("it needs `{name}`, {why}")]
    NotThere {
        /// What is needed.
        name: String,
        /// Why it is not there: "which is not done".
        why: String,
        /// What brings it.
        way: String,
    },
    /// What is needed could be more than one task.
    #[error("it needs `{name}`, which could be {}", .fits.join(" or "))]
    Ambiguous {
        /// What is needed.
        name: String,
        /// Some of the tasks it could be.
        fits: Vec<String>,
    },
    /// Tasks need each other.
    #[error("these tasks wait for each other: {}", .0.join(" → "))]
    Cycle(Vec<String>),
}

impl Wrong {
    pub(super) fn value(key: &'static str, found: &str, wanted: &'static str) -> Self {
        Self::Value { key, found: shown(found), wanted }
    }

    /// What would be right, where that can be said.
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

/// Something that was written, on one line and not too long.
pub(super) fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
