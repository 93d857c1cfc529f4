//! The network access of programs, written as a word or a list of hosts.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unstuck_world::egress::{EgressReach, ReachEntry};

/// The hint for the value.
const WRITTEN: &str = "write \"off\", \"service\", \"registries\", \"open\", or a list of hosts such \
                       as [\"registries\", \"*.example.com\"]";

/// The network access of programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NetworkReach(pub(crate) EgressReach);

impl NetworkReach {
    pub(crate) const REGISTRIES: Self = Self(EgressReach::Registries);

    /// Returns whether access is unrestricted.
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
            NetworkReachInput::deserialize(deserializer).map_err(|_| D::Error::custom(WRITTEN))?;
        Ok(Self(match written {
            NetworkReachInput::Switch(true) => EgressReach::Open,
            NetworkReachInput::Switch(false) => EgressReach::Off,
            NetworkReachInput::Word(word) => {
                EgressReach::parse_word(&word).ok_or_else(|| D::Error::custom(WRITTEN))?
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct File {
        network: NetworkReach,
    }

    fn read(value: &str) -> Result<File, toml::de::Error> {
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
            let shown_as = toml::to_string(&read(written).unwrap()).unwrap();
            assert_eq!(shown_as.trim(), format!("network = {shown}"));
        }
    }

    #[test]
    fn what_names_no_host_is_refused_with_what_to_write() {
        let said = |value| read(value).unwrap_err().message().to_owned();
        assert!(said("\"on\"").contains("write \"off\""));
        assert!(said("1").contains("write \"off\""));
        assert!(said("[\"https://example.com/x\"]").contains("without a scheme"));
        assert!(said("[\"*\"]").contains("*.example.com"));
    }
}
