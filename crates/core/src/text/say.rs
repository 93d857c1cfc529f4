//! Numbers, spans and titles in words.

use std::borrow::Cow;

use super::verbatim::{VALUE_CHARS_MAX, quote_words};
use crate::fault::Work;
use crate::time::Span;

/// Returns a small number as a word, a larger one in digits.
pub fn number_word(number: u32) -> Cow<'static, str> {
    Cow::Borrowed(match number {
        0 => "no",
        1 => "one",
        2 => "two",
        3 => "three",
        4 => "four",
        5 => "five",
        6 => "six",
        7 => "seven",
        8 => "eight",
        9 => "nine",
        10 => "ten",
        11 => "eleven",
        12 => "twelve",
        _ => return Cow::Owned(number.to_string()),
    })
}

/// Formats `one file`, `three files`: the noun in the form the number needs.
pub fn count_noun(number: u32, one: &str, many: &str) -> String {
    format!("{} {}", number_word(number), if number == 1 { one } else { many })
}

/// Formats `1 task`, `3 tasks`: in digits, because a person compares them with a list.
pub fn count_tasks(number: u32, work: Work) -> String {
    format!("{number} {}{}", work_noun(work), if number == 1 { "" } else { "s" })
}

/// Returns the noun for a kind of work.
pub(crate) const fn work_noun(work: Work) -> &'static str {
    match work {
        Work::Task => "task",
        Work::Job => "job",
    }
}

/// Returns a title in quotation marks, verbatim; `this task` if there is none.
pub fn quote_title(title: &str, work: Work) -> String {
    quote_words(title, VALUE_CHARS_MAX).unwrap_or_else(|| format!("this {}", work_noun(work)))
}

/// Formats a span in words, rounded to a coarse unit.
pub fn span_words(span: Span) -> String {
    let seconds = span.as_millis().div_ceil(1_000);
    let minutes = seconds.div_ceil(60);
    let hours = minutes / 60;
    match (seconds, minutes, hours) {
        (0..=1, ..) => "a moment".to_owned(),
        (2..=89, ..) => format!("{seconds} seconds"),
        (_, 0..=89, _) => count_unit(minutes, "minute"),
        (_, _, 0..=47) if minutes.is_multiple_of(60) => count_unit(hours, "hour"),
        (_, _, 0..=47) => {
            format!("{} {}", count_unit(hours, "hour"), count_unit(minutes % 60, "minute"))
        }
        // Beyond a year the exact number of days does not matter.
        _ => count_unit((hours / 24).min(366), "day"),
    }
}

fn count_unit(number: u64, name: &str) -> String {
    format!("{number} {name}{}", if number == 1 { "" } else { "s" })
}

/// Joins parts as `a, b and c`.
pub fn join_parts(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// Capitalizes the first letter.
pub fn capitalize_first(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_said_in_words() {
        let cases = [
            (Span::ZERO, "a moment"),
            (Span::from_secs(1), "a moment"),
            (Span::from_secs(30), "30 seconds"),
            (Span::from_secs(89), "89 seconds"),
            (Span::from_secs(91), "2 minutes"),
            (Span::from_mins(60), "60 minutes"),
            (Span::from_mins(107), "1 hour 47 minutes"),
            (Span::from_hours(2), "2 hours"),
            (Span::from_hours(50), "2 days"),
            (Span::from_millis(u64::MAX), "366 days"),
        ];
        for (given, words) in cases {
            assert_eq!(span_words(given), words);
        }
    }

    #[test]
    fn counts_take_the_right_form() {
        assert_eq!(count_noun(1, "file", "files"), "one file");
        assert_eq!(count_noun(3, "file", "files"), "three files");
        assert_eq!(count_noun(40, "file", "files"), "40 files");
        assert_eq!(count_tasks(1, Work::Task), "1 task");
        assert_eq!(count_tasks(3, Work::Job), "3 jobs");
    }

    #[test]
    fn a_title_is_shown_as_it_is() {
        for given in ["Make the login test pass", "fix /src/login.py:42", "payment_webhook"] {
            assert_eq!(quote_title(given, Work::Task), format!("“{given}”"));
        }
        assert_eq!(quote_title(" ", Work::Job), "this job");
    }
}
