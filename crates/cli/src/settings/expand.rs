//! Expands `${VAR}` in the texts of a settings file.

use unstuck_core::fault::Code;

/// Maximum number of expansions in one file.
pub(super) const EXPANSIONS_MAX: usize = 256;
/// Maximum length of an expanded text.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The reason why a text could not be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ExpandError {
    #[error("the variable {0} is not set")]
    Unset(String),
    #[error("`${{` is not closed; write `$${{` for the characters themselves")]
    Open,
    #[error("{0:?} is no name of a variable")]
    Name(String),
    #[error("more than {EXPANSIONS_MAX} variables, or more than {TEXT_BYTES_MAX} bytes of them")]
    TooMuch,
}

impl ExpandError {
    pub(super) const fn code(&self) -> Code {
        match self {
            Self::Unset(_) => Code::ConfigEnvVarMissing,
            Self::Open | Self::Name(_) => Code::ConfigParseError,
            Self::TooMuch => Code::ConfigInvalid,
        }
    }

    /// Returns the variable that the error is about.
    pub(super) fn variable(&self) -> Option<&str> {
        match self {
            Self::Unset(name) | Self::Name(name) => Some(name),
            Self::Open | Self::TooMuch => None,
        }
    }
}

/// Returns the text with its variables expanded, or `None` if it has none. The value of a variable is not
/// expanded again. `left` counts the remaining expansions of the file.
pub(super) fn expand_variables(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    left: &mut usize,
) -> Result<Option<String>, ExpandError> {
    if !text.contains("${") {
        return Ok(None);
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let before = &rest[..at];
        let after = &rest[at + 2..];
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let (name, after) = after.split_once('}').ok_or(ExpandError::Open)?;
        out.push_str(&look_up_variable(name, variable, left)?);
        if out.len() > TEXT_BYTES_MAX {
            return Err(ExpandError::TooMuch);
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(Some(out))
}

fn look_up_variable(
    name: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    left: &mut usize,
) -> Result<String, ExpandError> {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !name.starts_with(first) || !name.chars().all(|c| first(c) || c.is_ascii_digit()) {
        return Err(ExpandError::Name(name.to_owned()));
    }
    *left = left.checked_sub(1).ok_or(ExpandError::TooMuch)?;
    variable(name).ok_or_else(|| ExpandError::Unset(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_in(text: &str) -> Result<Option<String>, ExpandError> {
        let known = |name: &str| match name {
            "A" => Some("one".to_owned()),
            "B" => Some("${A}".to_owned()),
            "LONG" => Some("x".repeat(40_000)),
            _ => None,
        };
        expand_variables(text, &known, &mut 3)
    }

    // T4.23
    #[test]
    fn variables_are_put_in_once_and_everything_wrong_has_its_code() {
        let is = |text: &str| put_in(text).unwrap().unwrap_or_else(|| text.to_owned());
        assert_eq!(is("plain $A {A}"), "plain $A {A}");
        assert_eq!(is("<${A}-${A}>"), "<one-one>");
        assert_eq!(is("${B}"), "${A}", "what a variable holds is not looked at again");
        assert_eq!(is("$${A} and ${A}"), "${A} and one");
        let wrong = |text: &str| put_in(text).unwrap_err();
        assert_eq!(wrong("${NOT_SET}"), ExpandError::Unset("NOT_SET".to_owned()));
        assert_eq!(wrong("${NOT_SET}").code(), Code::ConfigEnvVarMissing);
        assert_eq!(wrong("${A"), ExpandError::Open);
        assert_eq!(wrong("${A B}"), ExpandError::Name("A B".to_owned()));
        assert_eq!(wrong("${}"), ExpandError::Name(String::new()));
        assert_eq!(wrong("${A}${A}${A}${A}"), ExpandError::TooMuch);
        assert_eq!(wrong("${LONG}${LONG}"), ExpandError::TooMuch);
    }
}
