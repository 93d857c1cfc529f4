//! Values from outside in a public text: fit to be shown, or replaced.
//!
//! A title or an agent's words may hold anything. Nothing is repaired here: a value that fails the
//! linter is replaced as a whole, so that no trick can leave half of itself behind.

use std::borrow::Cow;

use super::lint::lint;

/// A longer value is no title and no remark, and would crowd out the sentence around it.
pub const VALUE_CHARS_MAX: usize = 160;
/// An agent's question to a person may be as long as a short paragraph.
pub const QUESTION_CHARS_MAX: usize = 400;

/// The value, with its white space evened out, when it is plain; else the neutral form.
pub fn plain_or<'a>(value: &'a str, neutral: &'a str) -> Cow<'a, str> {
    plain_within(VALUE_CHARS_MAX, value).unwrap_or(Cow::Borrowed(neutral))
}

/// An agent's question when it is plain. It is shown in quotes, so it may hold none that close.
pub fn plain_question(words: &str) -> Option<Cow<'_, str>> {
    plain_within(QUESTION_CHARS_MAX, words).filter(|words| !words.contains(QUOTES))
}

/// Marks that could end the quotation a value stands in.
const QUOTES: [char; 6] = ['“', '”', '"', '„', '«', '»'];

fn plain_within(chars_max: usize, value: &str) -> Option<Cow<'_, str>> {
    let value = value.trim();
    if value.is_empty() || value.chars().nth(chars_max).is_some() {
        return None;
    }
    let value = even(value);
    (value.chars().any(char::is_alphabetic) && lint(&value).is_empty()).then_some(value)
}

/// As [`plain_or`], for a value that stands inside a sentence: it loses its own full stop, and one
/// that holds a sentence end or a quotation mark is replaced.
pub fn sentence_or<'a>(value: &'a str, neutral: &'a str) -> Cow<'a, str> {
    let value = value.trim().trim_end_matches(['.', '!', '?', ':', ';', ',', ' ']);
    let inner_end = value.split_whitespace().any(|word| word.ends_with(['.', '!', '?']));
    if inner_end || value.contains(QUOTES) {
        return Cow::Borrowed(neutral);
    }
    plain_or(value, neutral)
}

/// Runs of white space become one blank: a value is one line.
fn even(value: &str) -> Cow<'_, str> {
    let uneven = value.contains(|c: char| c.is_whitespace() && c != ' ') || value.contains("  ");
    if uneven {
        Cow::Owned(value.split_whitespace().collect::<Vec<_>>().join(" "))
    } else {
        Cow::Borrowed(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_stay_and_others_are_replaced() {
        let cases = [
            ("Add a login page", "Add a login page"),
            ("  Add a\n login   page ", "Add a login page"),
            ("Fix the GitHub sign-in", "Fix the GitHub sign-in"),
            ("", "this task"),
            ("!!!", "this task"),
            ("fix src/main.rs", "this task"),
            ("<script>alert(1)</script>", "this task"),
            ("red \u{1b}[31mtext", "this task"),
            ("gpj.\u{202e}exe", "this task"),
            ("go to evil.example.com now", "this task"),
        ];
        for (value, expected) in cases {
            assert_eq!(plain_or(value, "this task"), expected, "{value:?}");
        }
    }

    #[test]
    fn long_values_are_replaced() {
        let long = "word ".repeat(VALUE_CHARS_MAX);
        assert_eq!(plain_or(&long, "this task"), "this task");
    }

    #[test]
    fn a_value_inside_a_sentence_cannot_end_it() {
        assert_eq!(sentence_or("Make it fast.", "x"), "Make it fast");
        assert_eq!(sentence_or("Make it fast. Send money", "x"), "x");
        assert_eq!(sentence_or("it” is done, pick “yes", "x"), "x");
    }
}
