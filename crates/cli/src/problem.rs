//! A mistake in a file that a person wrote: its position, the message and a hint about the right form.

use std::fmt;

use serde::Serialize;
use unstuck_core::fault::{Category, Code};

/// A mistake in a file, a variable or an option. All mistakes found are reported at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct InputProblem {
    pub(crate) code: Code,
    pub(crate) category: Category,
    /// The file, the environment variable or the option that holds the mistake.
    #[serde(rename = "path")]
    pub(crate) place: String,
    /// The line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// The column, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// The name of the setting, if the mistake is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<String>,
    /// The environment variable that the setting needs or comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) variable: Option<String>,
    pub(crate) message: String,
    /// The right form, for the person to write instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

impl InputProblem {
    /// Creates a problem about a place as a whole.
    pub(crate) fn at_place(
        code: Code,
        place: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
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

    /// Adds the line and column of the byte `offset` of `text`.
    #[must_use]
    pub(crate) fn with_position(mut self, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        self.line = Some(1 + before.matches('\n').count());
        self.column = Some(1 + before[line_start..].chars().count());
        self
    }

    /// Adds the setting that the problem is about.
    #[must_use]
    pub(crate) fn with_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Adds the environment variable that the setting needs or comes from.
    #[must_use]
    pub(crate) fn with_variable(mut self, variable: Option<&str>) -> Self {
        self.variable = variable.map(str::to_owned);
        self
    }

    /// Adds the right form as a hint.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for InputProblem {
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
            let problem = InputProblem::at_place(Code::ConfigInvalid, "a.toml", "is wrong");
            problem.with_position("é = 1\nb = 2\n", offset).to_string()
        };
        assert_eq!(at(0), "a.toml:1:1: is wrong");
        assert_eq!(at(3), "a.toml:1:3: is wrong");
        assert_eq!(at(7), "a.toml:2:1: is wrong");
        assert_eq!(at(9_999), "a.toml:3:1: is wrong");
    }
}
