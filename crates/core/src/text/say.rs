//! Numbers, spans and titles as people say them.

use std::borrow::Cow;

use super::known::is_key;
use super::plain::{VALUE_CHARS_MAX, sentence_or};
use crate::fault::Work;
use crate::time::Span;

/// A small number as a word, a larger one in digits.
pub fn said(number: u32) -> Cow<'static, str> {
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

/// `one file`, `three files`: the noun in the form the number needs.
pub fn count(number: u32, one: &str, many: &str) -> String {
    format!("{} {}", said(number), if number == 1 { one } else { many })
}

/// `1 task`, `3 tasks`: in digits, because a person compares them with a list.
pub fn tasks(number: u32, work: Work) -> String {
    format!("{number} {}{}", noun(work), if number == 1 { "" } else { "s" })
}

/// What the work is called in front of people.
pub(crate) const fn noun(work: Work) -> &'static str {
    match work {
        Work::Task => "task",
        Work::Job => "job",
    }
}

/// A title in quotes, or a neutral form when it is not fit for the public.
pub fn title(title: &str, work: Work) -> String {
    let neutral = match work {
        Work::Task => "this task",
        Work::Job => "this job",
    };
    match sentence_or(&unslugged(title), neutral) {
        same if same == neutral => neutral.to_owned(),
        plain => format!("“{plain}”"),
    }
}

/// Tasks are often named after their file: `payment_webhook` is read as `payment webhook`.
fn unslugged(title: &str) -> Cow<'_, str> {
    let slug = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || is_joint(byte);
    let fits = title.len() <= VALUE_CHARS_MAX && title.bytes().all(slug);
    // A key must not pass because it was taken apart.
    if fits && title.bytes().any(is_joint) && !is_key(title) {
        Cow::Owned(title.replace(['_', '-'], " "))
    } else {
        Cow::Borrowed(title)
    }
}

const fn is_joint(byte: u8) -> bool {
    matches!(byte, b'_' | b'-')
}

/// A span in words, rounded to what a person cares about.
pub fn span(span: Span) -> String {
    let seconds = span.as_millis().div_ceil(1_000);
    let minutes = seconds.div_ceil(60);
    let hours = minutes / 60;
    match (seconds, minutes, hours) {
        (0..=1, ..) => "a moment".to_owned(),
        (2..=89, ..) => format!("{seconds} seconds"),
        (_, 0..=89, _) => unit(minutes, "minute"),
        (_, _, 0..=47) if minutes.is_multiple_of(60) => unit(hours, "hour"),
        (_, _, 0..=47) => format!("{} {}", unit(hours, "hour"), unit(minutes % 60, "minute")),
        // Past the horizon of any plan the exact number of days says nothing.
        _ => unit((hours / 24).min(366), "day"),
    }
}

fn unit(number: u64, name: &str) -> String {
    format!("{number} {name}{}", if number == 1 { "" } else { "s" })
}

/// The text with its first letter in upper case.
pub(crate) fn capital(text: &str) -> String {
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
            assert_eq!(span(given), words);
        }
    }

    #[test]
    fn counts_take_the_right_form() {
        assert_eq!(count(1, "file", "files"), "one file");
        assert_eq!(count(3, "file", "files"), "three files");
        assert_eq!(count(40, "file", "files"), "40 files");
        assert_eq!(tasks(1, Work::Task), "1 task");
        assert_eq!(tasks(3, Work::Job), "3 jobs");
    }

    #[test]
    fn a_title_is_quoted_or_neutral() {
        assert_eq!(title("Make the login test pass", Work::Task), "“Make the login test pass”");
        assert_eq!(title("fix /src/login.py:42", Work::Task), "this task");
        assert_eq!(title("payment_webhook", Work::Task), "“payment webhook”");
        assert_eq!(title("003-deploy-preview", Work::Task), "“003 deploy preview”");
        assert_eq!(title("sk-ab12-cd34", Work::Task), "this task");
        assert_eq!(title("3f9ab12c-55", Work::Task), "this task");
        assert_eq!(title("", Work::Job), "this job");
        assert_eq!(title("Ship it. Then rest", Work::Task), "this task");
    }
}
