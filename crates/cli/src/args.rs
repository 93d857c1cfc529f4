//! Arguments and values that several verbs take.

use std::path::PathBuf;
use std::str::FromStr;

use jiff::civil::Time;
use unstuck_core::engine::{BuildId, QuestionId, RunId};
use unstuck_core::fault::Code;
use unstuck_core::time::Span;

use crate::settings::{Length, Money};

/// Which file holds the project's settings.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ConfigFileArgs {
    /// Read the project's settings from this file instead of unstuck.toml
    #[arg(long = "config", value_name = "FILE", env = "UNSTUCK_CONFIG", hide_env = true)]
    pub(crate) path: Option<PathBuf>,
}

/// A length of time: a number with `s`, `m`, `h` or `d`; without one, seconds.
pub(crate) fn parse_span(text: &str) -> Result<Span, String> {
    Length::parse(text).map(|length| length.0)
}

/// A time after which something is ended.
pub(crate) fn parse_time_limit(text: &str) -> Result<Span, String> {
    match parse_span(text)? {
        Span::ZERO => Err("0 would end it at once; leave the option out for no limit".to_owned()),
        limit => Ok(limit),
    }
}

/// A code of a fault; with the nearest ones where there is none like it.
pub(crate) fn parse_code(text: &str) -> Result<Code, String> {
    text.parse::<Code>().map_err(|unknown| {
        let near: Vec<&str> = unknown.nearest.iter().map(|code| code.as_str()).collect();
        match near.as_slice() {
            [] => "no such code; `unstuck explain` lists all".to_owned(),
            near => format!("no such code; did you mean {}?", near.join(" or ")),
        }
    })
}

/// A limit in money, which lets some work begin.
pub(crate) fn parse_cost_limit(text: &str) -> Result<Money, String> {
    match Money::parse(text)? {
        Money(0) => Err("nothing can be done for $0; leave the option out for no limit".to_owned()),
        limit => Ok(limit),
    }
}

/// A time of day: `7:00`, `07:00`.
pub(crate) fn parse_time_of_day(text: &str) -> Result<Time, String> {
    let wrong = || "write a time of day, such as 07:00".to_owned();
    let (hour, minute) = text.split_once(':').ok_or_else(wrong)?;
    let number = |part: &str| part.parse::<i8>().map_err(|_| wrong());
    Time::new(number(hour)?, number(minute)?, 0, 0).map_err(|_| wrong())
}

pub(crate) fn parse_build_id(text: &str) -> Result<BuildId, String> {
    parse_id(text, 'b').map(BuildId)
}

pub(crate) fn parse_question_id(text: &str) -> Result<QuestionId, String> {
    parse_id(text, 'q').map(QuestionId)
}

pub(crate) fn parse_run_id(text: &str) -> Result<RunId, String> {
    parse_id(text, 'r').map(RunId)
}

/// A number, with or without the letter that says of what.
fn parse_id<N: FromStr>(text: &str, letter: char) -> Result<N, String> {
    let digits = text.strip_prefix(letter).unwrap_or(text);
    digits.parse().map_err(|_| format!("write its number, such as 3 or {letter}3"))
}
