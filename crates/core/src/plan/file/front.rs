//! The keys of a task: the front matter before its text.

use super::matter::{self, YamlNode, YamlValue};
use super::name::is_name;
use super::problem::{KEYS, PlanFileMistake, shorten_input};
use crate::amount::Amount;
use crate::nearest::find_nearest;
use crate::plan::WorkPhase;
use crate::text::provider_display_name;
use crate::time::Span;

/// Common synonyms of the keys.
const CALLED: [(&str, &str); 5] = [
    ("dependencies", "depends_on"),
    ("needs", "depends_on"),
    ("name", "id"),
    ("checks", "validate"),
    ("exclusive", "serialize"),
];

const TEXT: &str = "write one line of text";
const TEXTS: &str = "write one line of text, or a list of them";
const NUMBER: &str = "write a whole number; the highest goes first";
const PHASE: &str = "write read, decide or act";
const PROVIDER: &str = "write claude-cli, codex-cli, anthropic-api, openai-api or script";
const YES_OR_NO: &str = "write true or false";

/// The parsed front matter with its problems.
#[derive(Debug, Default)]
pub(super) struct TaskKeys {
    pub(super) id: Option<String>,
    pub(super) title: Option<String>,
    /// Names of dependencies, with the line of each.
    pub(super) depends_on: Vec<(String, u32)>,
    pub(super) priority: i32,
    pub(super) serialize: bool,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) validate: Option<Vec<String>>,
    pub(super) budget: Option<Amount>,
    pub(super) phase: Option<WorkPhase>,
    pub(super) problems: Vec<(u32, PlanFileMistake)>,
}

/// Parses front matter that begins in the second line of its file.
pub(super) fn parse_task_keys(front: &str) -> TaskKeys {
    let mut keys = TaskKeys::default();
    match matter::parse_keys(front) {
        Err((line, wrong)) => keys.add_problem(line, wrong),
        Ok(entries) => {
            for (at, (key, value)) in entries.iter().enumerate() {
                let twice = entries[..at].iter().any(|(known, _)| known.as_text() == key.as_text());
                keys.take_key(key, value, twice);
            }
        }
    }
    keys
}

impl TaskKeys {
    fn add_problem(&mut self, line: u32, wrong: PlanFileMistake) {
        self.problems.push((line + 1, wrong));
    }

    fn take_key(&mut self, key: &YamlNode, value: &YamlNode, twice: bool) {
        let name = key.describe();
        if twice {
            return self.add_problem(key.line, PlanFileMistake::KeyTwice(shorten_input(name)));
        }
        match name {
            "id" => {
                self.id = self.parse_text("id", value).filter(|id| self.check_name(id, value.line));
            }
            "title" => self.title = self.parse_text("title", value),
            "provider" => {
                let known =
                    |name: &String| provider_display_name(name).is_some() || name == "script";
                let named = self.parse_text("provider", value);
                if let Some(name) = named.as_ref().filter(|name| !known(name)) {
                    let wrong = PlanFileMistake::bad_value("provider", name, PROVIDER);
                    self.add_problem(value.line, wrong);
                }
                self.provider = named.filter(known);
            }
            "model" => self.model = self.parse_text("model", value),
            "depends_on" => self.depends_on = self.parse_names(value),
            "validate" => {
                let commands = self.parse_texts("validate", value);
                self.validate = commands.map(|all| all.into_iter().map(|(one, _)| one).collect());
            }
            "priority" => self.priority = self.parse_value("priority", value, NUMBER).unwrap_or(0),
            "serialize" => {
                self.serialize = self.parse_value("serialize", value, YES_OR_NO).unwrap_or(false);
            }
            "phase" => self.phase = self.parse_value("phase", value, PHASE),
            "budget" => self.budget = parse_budget(value, self),
            _ => self.add_problem(key.line, unknown_key(name)),
        }
    }

    fn check_name(&mut self, id: &str, line: u32) -> bool {
        let fits = is_name(id);
        if !fits {
            self.add_problem(line, PlanFileMistake::BadName(shorten_input(id)));
        }
        fits
    }

    fn parse_text(&mut self, key: &'static str, node: &YamlNode) -> Option<String> {
        match &node.value {
            YamlValue::Nothing => None,
            YamlValue::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            YamlValue::Text(_) | YamlValue::List(_) | YamlValue::Keys(_) => {
                self.add_problem(node.line, PlanFileMistake::bad_value(key, node.describe(), TEXT));
                None
            }
        }
    }

    fn parse_texts(&mut self, key: &'static str, node: &YamlNode) -> Option<Vec<(String, u32)>> {
        match &node.value {
            YamlValue::Nothing => None,
            YamlValue::List(list) => {
                let texts =
                    list.iter().filter_map(|one| Some((self.parse_text(key, one)?, one.line)));
                Some(texts.collect())
            }
            YamlValue::Text(_) => self.parse_text(key, node).map(|text| vec![(text, node.line)]),
            YamlValue::Keys(_) => {
                self.add_problem(
                    node.line,
                    PlanFileMistake::bad_value(key, node.describe(), TEXTS),
                );
                None
            }
        }
    }

    /// Parses names; a line may contain several, separated by commas.
    fn parse_names(&mut self, node: &YamlNode) -> Vec<(String, u32)> {
        let lines = self.parse_texts("depends_on", node).unwrap_or_default();
        let names = lines.iter().flat_map(|(names, line)| {
            names.split(',').map(move |name| (name.trim().to_owned(), line + 1))
        });
        names.filter(|(name, _)| !name.is_empty()).collect()
    }

    fn parse_value<T: std::str::FromStr>(
        &mut self,
        key: &'static str,
        node: &YamlNode,
        wanted: &'static str,
    ) -> Option<T> {
        if let YamlValue::Nothing = node.value {
            return None;
        }
        let parsed = node.as_text().and_then(|text| text.trim().parse().ok());
        if parsed.is_none() {
            self.add_problem(node.line, PlanFileMistake::bad_value(key, node.describe(), wanted));
        }
        parsed
    }
}

fn unknown_key(key: &str) -> PlanFileMistake {
    let plain = key.to_lowercase().replace('-', "_");
    let called = CALLED.iter().find(|(theirs, _)| *theirs == plain).map(|(_, ours)| *ours);
    let near = || find_nearest(&plain, KEYS.into_iter()).first().copied();
    PlanFileMistake::UnknownKey { key: shorten_input(key), nearest: called.or_else(near) }
}

const BUDGET: &str = "write \"$2.50\", or `money`, `tokens` and `time` below it";
const MONEY: &str = "write an amount such as \"$2.50\" or 2.5";
const TOKENS: &str = "write a whole number such as 200_000";
const TIME: &str = "write a number with s, m, h or d, such as 90s or 2h";

/// Digits after the decimal point: millionths.
const MONEY_DIGITS: usize = 6;
/// Maximum amount; more money is a mistyped number.
const MONEY_MICROS_MAX: u64 = 1_000_000_000 * 1_000_000;

/// Parses the value of `budget`: an amount of money, or keys for money, tokens and time.
fn parse_budget(node: &YamlNode, keys: &mut TaskKeys) -> Option<Amount> {
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
