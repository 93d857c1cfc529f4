//! Parsing of the budget of a task.

use super::front::TaskKeys;
use super::problem::PlanFileMistake;
use super::yaml::{YamlNode, YamlValue};
use crate::policy::Amount;
use crate::time::Span;

const BUDGET: &str = "write \"$2.50\", or `money`, `tokens` and `time` below it";
const MONEY: &str = "write an amount such as \"$2.50\" or 2.5";
const TOKENS: &str = "write a whole number such as 200_000";
const TIME: &str = "write a number with s, m, h or d, such as 90s or 2h";

/// Digits after the decimal point: millionths.
const MONEY_DIGITS: usize = 6;
/// Maximum amount; more money is a mistyped number.
const MONEY_MICROS_MAX: u64 = 1_000_000_000 * 1_000_000;

/// Parses the value of `budget`: an amount of money, or keys for money, tokens and time.
pub(super) fn parse_budget(node: &YamlNode, keys: &mut TaskKeys) -> Option<Amount> {
    let mut amount = Amount::ZERO;
    match &node.value {
        YamlValue::Nothing => return None,
        YamlValue::Text(text) => {
            set_amount(&mut amount.money_micros, parse_money(text), keys, node, MONEY);
        }
        YamlValue::List(_) => {
            keys.add_problem(node.line, PlanFileMistake::bad_value("budget", "a list", BUDGET));
        }
        YamlValue::Keys(parts) => {
            for (key, value) in parts {
                parse_part(&mut amount, key, value, keys);
            }
        }
    }
    Some(amount)
}

fn parse_part(amount: &mut Amount, key: &YamlNode, value: &YamlNode, keys: &mut TaskKeys) {
    let said = value.as_text().unwrap_or_default();
    match key.as_text() {
        Some("money") => {
            set_amount(&mut amount.money_micros, parse_money(said), keys, value, MONEY);
        }
        Some("tokens") => set_amount(&mut amount.tokens, parse_tokens(said), keys, value, TOKENS),
        Some("time") => set_amount(&mut amount.time_ms, parse_time(said), keys, value, TIME),
        other => {
            let found = other.unwrap_or("that").to_owned();
            keys.add_problem(key.line, PlanFileMistake::bad_value("budget", &found, BUDGET));
        }
    }
}

/// Sets an amount. Zero is a mistake like any other, because it would stop the task before it starts.
fn set_amount(
    to: &mut u64,
    read: Option<u64>,
    keys: &mut TaskKeys,
    node: &YamlNode,
    wanted: &'static str,
) {
    match read.filter(|amount| *amount > 0) {
        Some(amount) => *to = amount,
        None => keys
            .add_problem(node.line, PlanFileMistake::bad_value("budget", node.describe(), wanted)),
    }
}

fn parse_money(text: &str) -> Option<u64> {
    let text = text.trim().trim_start_matches('$').trim();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || part.len() > MONEY_DIGITS || !digits(whole) || !digits(part) {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(1_000_000)?;
    let part: u64 = format!("{part:0<MONEY_DIGITS$}").parse().ok()?;
    whole.checked_add(part).filter(|micros| *micros <= MONEY_MICROS_MAX)
}

fn parse_tokens(text: &str) -> Option<u64> {
    text.trim().replace('_', "").parse().ok()
}

fn parse_time(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number: u64 = text[..text.len() - unit.len()].parse().ok()?;
    let span = match unit.trim() {
        "ms" => Span::from_millis(number),
        "" | "s" => Span::from_secs(number),
        "m" | "min" => Span::from_mins(number),
        "h" => Span::from_hours(number),
        "d" => Span::from_hours(number.saturating_mul(24)),
        _ => return None,
    };
    Some(span.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        let money_table = [
            ("$2.50", Some(2_500_000)),
            ("2.5", Some(2_500_000)),
            ("$ 0.001", Some(1_000)),
            ("3", Some(3_000_000)),
            ("", None),
            ("$", None),
            ("-1", None),
            ("two", None),
            ("1e3", None),
            (".5", None),
            ("99999999999999999999", None),
        ];
        for (text, expected) in money_table {
            assert_eq!(parse_money(text), expected, "{text}");
        }
        for (text, expected) in [("200_000", Some(200_000)), ("5", Some(5)), ("5k", None)] {
            assert_eq!(parse_tokens(text), expected, "{text}");
        }
        let time_table = [
            ("90s", Some(90_000)),
            ("90", Some(90_000)),
            ("250ms", Some(250)),
            ("10 min", Some(600_000)),
            ("2h", Some(7_200_000)),
            ("1d", Some(86_400_000)),
            ("1.5h", None),
            ("soon", None),
        ];
        for (text, expected) in time_table {
            assert_eq!(parse_time(text), expected, "{text}");
        }
    }
}
