//! Something wrong in a file that a person wrote: where, what, and what would be right.

use std::fmt;

use serde::Serialize;
use unstuck_core::fault::{Category, Code};

/// One mistake. There may be many, and all of them are told at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// What kind of mistake.
    pub(crate) code: Code,
    /// Where such mistakes belong.
    pub(crate) category: Category,
    /// The file, the variable or the option.
    #[serde(rename = "path")]
    pub(crate) place: String,
    /// The line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// The column, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// The setting, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<String>,
    /// The variable of the environment that it needs or comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) variable: Option<String>,
    /// What is wrong.
    pub(crate) message: String,
    /// What would be right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

impl Problem {
    /// Something wrong at a place as a whole.
    pub(crate) fn at(code: Code, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            category: code.row().category,
            place: place.into(),
            line: None,
            column: None,
            field: None,
            variable: None,
            message: message.into(),
            hint: None,
        }
    }

    /// The same, at the byte `offset` of `text`.
    #[must_use]
    pub(crate) fn in_text(mut self, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        self.line = Some(1 + before.matches('\n').count());
        self.column = Some(1 + before[line_start..].chars().count());
        self
    }

    /// The same, about this setting.
    #[must_use]
    pub(crate) fn about(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// The same, about a setting that needs this variable or comes from it.
    #[must_use]
    pub(crate) fn of_variable(mut self, variable: Option<&str>) -> Self {
        self.variable = variable.map(str::to_owned);
        self
    }

    /// The same, with what would be right.
    #[must_use]
    pub(crate) fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_text_is_counted_from_one() {
        let at = |offset| {
            let problem = Problem::at(Code::ConfigInvalid, "a.toml", "is wrong");
            problem.in_text("é = 1\nb = 2\n", offset).to_string()
        };
        assert_eq!(at(0), "a.toml:1:1: is wrong");
        assert_eq!(at(3), "a.toml:1:3: is wrong");
        assert_eq!(at(7), "a.toml:2:1: is wrong");
        assert_eq!(at(9_999), "a.toml:3:1: is wrong");
    }
}
