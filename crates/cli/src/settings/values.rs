//! Values of settings in the form that people write: durations, amounts, network access, and lists of globs
//! and commands. An entry of a list without effect is rejected with its position: a forbidden path that
//! never matches, or a check that checks nothing, would be noticed too late.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unstuck_core::policy::Amount;
use unstuck_core::time::Span;
use unstuck_world::egress::{EgressReach, ReachEntry};
use unstuck_world::scope::{PathScope, ScopeRules};

/// The hint for a duration.
const LENGTH: &str = "write a number with s, m, h or d, such as 90s or 2h";
/// The hint for an amount of money.
const MONEY: &str = "write an amount such as \"$2.50\" or 2.5";
/// Micros per unit of money.
const MICROS: f64 = 1_000_000.0;
/// Maximum amount of money; a larger one is a mistyped number.
const MONEY_MAX: f64 = 1_000_000_000.0;

/// The hint for network access.
const NETWORK: &str = "write \"off\", \"service\", \"registries\", \"open\", or a list of hosts such \
                       as [\"registries\", \"*.example.com\"]";

/// A duration: a number with `s`, `m`, `h` or `d`; without a unit, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Length(pub(crate) Span);

impl Length {
    pub(crate) const fn from_mins(mins: u64) -> Self {
        Self(Span::from_mins(mins))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let millis = match unit.trim() {
            "ms" => 1,
            "" | "s" => 1_000,
            "m" | "min" => 60 * 1_000,
            "h" => 60 * 60 * 1_000,
            "d" => 24 * 60 * 60 * 1_000,
            _ => return Err(LENGTH.to_owned()),
        };
        let number: u64 = text[..text.len() - unit.len()].parse().map_err(|_| LENGTH.to_owned())?;
        Ok(Self(Span::from_millis(number.saturating_mul(millis))))
    }

    /// Formats the duration in the largest unit of which it is a whole number.
    fn to_text(self) -> String {
        let millis = self.0.as_millis();
        let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
        let fits = units.into_iter().find(|(unit, _)| millis.is_multiple_of(*unit) && millis > 0);
        fits.map_or_else(|| "0s".to_owned(), |(unit, name)| format!("{}{name}", millis / unit))
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Text(text) => Self::parse(&text),
            NumberOrText::Whole(number) => Self::parse(&number.to_string()),
            NumberOrText::Number(_) => Err(LENGTH.to_owned()),
        };
        read.map_err(D::Error::custom)
    }
}

/// Money, in millionths of the account's currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Money(pub(crate) u64);

impl Money {
    /// Parses an amount, with or without a dollar sign.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let number = text.trim().trim_start_matches('$').trim();
        number.parse().map_err(|_| MONEY.to_owned()).and_then(Self::from_amount)
    }

    fn from_amount(amount: f64) -> Result<Self, String> {
        if !(0.0..=MONEY_MAX).contains(&amount) {
            return Err(MONEY.to_owned());
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was checked to be neither negative nor large"
        )]
        Ok(Self((amount * MICROS).round() as u64))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = self.0.div_ceil(10_000);
        write!(f, "${}.{:02}", cents / 100, cents % 100)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Text(text) => Self::parse(&text),
            NumberOrText::Number(number) => Self::from_amount(number),
            NumberOrText::Whole(number) => Self::parse(&number.to_string()),
        };
        read.map_err(D::Error::custom)
    }
}

/// A value as it appears in a file.
#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Whole(u64),
    Number(f64),
    Text(String),
}

/// Implements `JsonSchema` for a type that is written as text or as a plain number.
macro_rules! text_or_number {
    ($type:ty, $name:literal, $description:literal, $example:literal) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": ["string", "number"],
                    "description": $description,
                    "examples": [$example],
                })
            }
        }
    };
}

text_or_number!(Length, "Length", "A length of time: a number with s, m, h or d.", "90s");
text_or_number!(Money, "Money", "An amount of money.", "$2.50");

/// How much, in each of three units. What is not set has no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SpendingCap {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) money: Option<Money>,
    /// Input and output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<u64>,
    /// Working time of the agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<Length>,
}

impl SpendingCap {
    /// Returns the names of the parts that are zero.
    pub(super) fn find_zeros(&self) -> impl Iterator<Item = &'static str> {
        let parts = [
            ("money", self.money == Some(Money(0))),
            ("tokens", self.tokens == Some(0)),
            ("time", self.time == Some(Length::default())),
        ];
        parts.into_iter().filter(|(_, is_zero)| *is_zero).map(|(name, _)| name)
    }

    /// Converts a cap to an amount. An unset cap is no limit, which the engine represents as zero.
    pub(super) fn to_amount(self) -> Amount {
        Amount {
            money_micros: self.money.map_or(0, |money| money.0),
            tokens: self.tokens.unwrap_or(0),
            time_ms: self.time.map_or(0, |time| time.0.as_millis()),
        }
    }
}

/// The network access of programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NetworkReach(pub(crate) EgressReach);

impl NetworkReach {
    pub(crate) const REGISTRIES: Self = Self(EgressReach::Registries);

    pub(crate) fn is_open(&self) -> bool {
        self.0 == EgressReach::Open
    }
}

impl Serialize for NetworkReach {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            EgressReach::Off => serializer.serialize_str("off"),
            EgressReach::Service => serializer.serialize_str("service"),
            EgressReach::Registries => serializer.serialize_str("registries"),
            EgressReach::Open => serializer.serialize_str("open"),
            EgressReach::Hosts(listed) => {
                serializer.collect_seq(listed.iter().map(ReachEntry::to_string))
            }
        }
    }
}

impl<'de> Deserialize<'de> for NetworkReach {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum NetworkReachInput {
            /// The boolean of earlier versions, before there were words.
            Switch(bool),
            Word(String),
            List(Vec<String>),
        }
        let written =
            NetworkReachInput::deserialize(deserializer).map_err(|_| D::Error::custom(NETWORK))?;
        Ok(Self(match written {
            NetworkReachInput::Switch(true) => EgressReach::Open,
            NetworkReachInput::Switch(false) => EgressReach::Off,
            NetworkReachInput::Word(word) => {
                EgressReach::parse_word(&word).ok_or_else(|| D::Error::custom(NETWORK))?
            }
            NetworkReachInput::List(list) => {
                let read = |entry: &String| {
                    ReachEntry::parse(entry)
                        .map_err(|error| D::Error::custom(format!("{entry:?}: {error}")))
                };
                EgressReach::Hosts(list.iter().map(read).collect::<Result<_, _>>()?)
            }
        }))
    }
}

impl JsonSchema for NetworkReach {
    fn schema_name() -> Cow<'static, str> {
        "NetworkReach".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                { "const": "off", "description": "Nothing." },
                { "const": "service", "description": "The model's service." },
                { "const": "registries", "description": "The package registries." },
                { "const": "open", "description": "Everything." },
                {
                    "type": "array",
                    "items": { "type": "string" },
                    "examples": [["registries", "*.example.com", "example.org:8443"]],
                },
                { "type": "boolean" },
            ],
        })
    }
}

/// Deserializes globs of paths.
pub(super) fn globs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let patterns = Vec::<String>::deserialize(deserializer)?;
    for pattern in &patterns {
        if pattern.trim().is_empty() {
            return Err(D::Error::custom("an empty text is no glob and matches no path"));
        }
        let rules = ScopeRules { forbidden: vec![pattern.clone()], ..ScopeRules::default() };
        PathScope::new(&rules).map_err(|bad| {
            D::Error::custom(format!("{:?} is no glob: {}", bad.pattern, bad.why))
        })?;
    }
    Ok(patterns)
}

/// Deserializes commands for a shell.
pub(super) fn commands<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    let commands = Vec::<String>::deserialize(deserializer)?;
    if commands.iter().any(|command| command.trim().is_empty()) {
        let why = "an empty text is no command and does nothing: write a command or take it out";
        return Err(D::Error::custom(why));
    }
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_read_as_it_is_written() {
        let cases = [
            ("90s", 90_000, "90s"),
            ("90", 90_000, "90s"),
            ("120s", 120_000, "2m"),
            ("10m", 600_000, "10m"),
            ("2h", 7_200_000, "2h"),
            ("250ms", 250, "250ms"),
            ("1d", 86_400_000, "1d"),
            ("0", 0, "0s"),
        ];
        for (text, millis, written) in cases {
            let length = Length::parse(text).unwrap();
            assert_eq!((length.0.as_millis(), length.to_text().as_str()), (millis, written));
        }
        for wrong in ["", "h", "1.5h", "-1s", "2 weeks", "99999999999999999999s"] {
            assert!(Length::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn money_is_read_with_and_without_its_sign() {
        assert_eq!(Money::parse("$2.50"), Ok(Money(2_500_000)));
        assert_eq!(Money::parse("2.5"), Ok(Money(2_500_000)));
        assert_eq!(Money::parse("$ 0.001"), Ok(Money(1_000)));
        assert_eq!(Money(2_500_000).to_string(), "$2.50");
        for wrong in ["", "$", "-1", "two", "NaN", "inf", "1e300"] {
            assert!(Money::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct File {
        network: NetworkReach,
    }

    fn read_network(value: &str) -> Result<File, toml::de::Error> {
        toml::from_str(&format!("network = {value}"))
    }

    #[test]
    fn words_switches_and_lists_are_read() {
        let cases = [
            ("false", "\"off\""),
            ("true", "\"open\""),
            ("\"off\"", "\"off\""),
            ("\"service\"", "\"service\""),
            ("\"registries\"", "\"registries\""),
            ("\"open\"", "\"open\""),
            (
                "[\"registries\", \"*.Example.com:8443\"]",
                "[\"registries\", \"*.example.com:8443\"]",
            ),
            ("[]", "[]"),
        ];
        for (written, shown) in cases {
            let shown_as = toml::to_string(&read_network(written).unwrap()).unwrap();
            assert_eq!(shown_as.trim(), format!("network = {shown}"));
        }
    }

    #[test]
    fn what_names_no_host_is_refused_with_what_to_write() {
        let said = |value| read_network(value).unwrap_err().message().to_owned();
        assert!(said("\"on\"").contains("write \"off\""));
        assert!(said("1").contains("write \"off\""));
        assert!(said("[\"https://example.com/x\"]").contains("without a scheme"));
        assert!(said("[\"*\"]").contains("*.example.com"));
    }
}
