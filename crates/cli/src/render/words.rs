//! Words for the engine's values.

use std::fmt::Display;

use unstuck_core::fault::Code;
use unstuck_core::question::{Decision, QuestionOption};
pub(crate) use unstuck_core::tell::brief::{describe_kind, render_counts, render_rule, task_name};
pub(crate) use unstuck_core::text::brief::{plain_line, render_amount, render_count};
use unstuck_core::text::strip_escapes;

/// Cuts a name to `columns_max` columns, with an ellipsis.
pub(crate) fn cut_to_columns(name: &str, columns_max: usize) -> String {
    if name.chars().count() <= columns_max {
        return name.to_owned();
    }
    let kept: String = name.chars().take(columns_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The word for `provide_credentials` where the person has fixed something other than a login.
pub(crate) const FIXED: &str = "fixed";

/// Returns the word for a choice of a question about this code.
pub(crate) const fn choice_word(decision: Decision, code: Option<Code>) -> &'static str {
    let about_login =
        matches!(code, Some(Code::AuthInvalid | Code::AuthExpired | Code::AuthMissing));
    match decision {
        Decision::ProvideCredentials if !about_login => FIXED,
        value => value.as_str(),
    }
}

/// Returns the command line that gives this answer to a question about this code.
pub(crate) fn answer_command(
    question: impl Display,
    option: &QuestionOption,
    code: Option<Code>,
) -> String {
    let guidance = match (&option.guidance, option.value) {
        (Some(words), _) => format!(" --guidance '{}'", plain_line(words).replace('\'', r"'\''")),
        (None, Decision::ProvideGuidance) => " --guidance '…'".to_owned(),
        (None, _) => String::new(),
    };
    format!("unstuck inbox answer {question} {}{guidance}", choice_word(option.value, code))
}

/// Returns a line of a program's output without escapes and control characters that would move the cursor.
pub(crate) fn printable_line(line: &str) -> String {
    let readable = |c: char| if c == '\t' || !c.is_control() { c } else { ' ' };
    strip_escapes(line).chars().map(readable).collect()
}
