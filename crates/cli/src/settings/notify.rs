//! The `[notify.NAME]` section: notification channels.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::{Table, Value};
use unstuck_world::notify::ChannelSettings;

/// Keys whose values grant access to a service, or the right to write to it.
const SECRET: [&str; 5] = ["url", "secret", "token", "topic", "password"];
/// Minimum length of a random path in an address; a shorter path is a name.
const DRAWN_BYTES_MIN: usize = 16;
/// The text shown in place of a secret value.
const HIDDEN: &str = "(hidden)";

/// A channel, with its table as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NotifySettings {
    written: Table,
    channel: ChannelSettings,
}

impl NotifySettings {
    pub(crate) const fn channel(&self) -> &ChannelSettings {
        &self.channel
    }

    /// Returns the secret values of the channel, for redaction.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.written.iter().filter_map(|(name, value)| match (name.as_str(), value.as_str()?) {
            ("secret" | "token" | "password", value) => Some(value),
            // The host of an address is public; the random part is the path.
            ("url", address) => address.splitn(4, '/').nth(3).filter(|path| is_random(path)),
            _ => None,
        })
    }
}

/// Returns whether a path looks random, not like a name that a person chose.
fn is_random(path: &str) -> bool {
    path.len() >= DRAWN_BYTES_MIN && path.bytes().any(|byte| byte.is_ascii_digit())
}

impl<'de> Deserialize<'de> for NotifySettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Table::deserialize(deserializer)?;
        let channel = ChannelSettings::deserialize(written.clone());
        let channel = channel.map_err(|error| D::Error::custom(error.message()))?;
        Ok(Self { written, channel })
    }
}

impl Serialize for NotifySettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut shown = self.written.clone();
        for (name, value) in &mut shown {
            if SECRET.contains(&name.as_str()) {
                *value = Value::String(HIDDEN.to_owned());
            }
        }
        shown.serialize(serializer)
    }
}

impl JsonSchema for NotifySettings {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Notify".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "required": ["kind"],
            "properties": {
                "kind": {
                    "description": "How it is reached.",
                    "enum": ["desktop", "webhook", "slack", "command", "discord", "telegram", "ntfy", "email"],
                },
                "level": {
                    "description": "How much it wants to hear.",
                    "enum": ["questions", "failures", "all"],
                },
                "quiet_hours": {
                    "description": "When it wants to be left alone: what happens meanwhile is told afterwards.",
                    "type": "string",
                    "examples": ["22:00-07:00"],
                },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // TX16, B9
    #[test]
    fn secrets_of_a_channel_are_not_shown() {
        let text = "kind = \"webhook\"\nurl = \"https://canary.example\"\nsecret = \"canary\"\n";
        let notify: NotifySettings = toml::from_str(text).unwrap();
        let shown = toml::to_string(&notify).unwrap();
        assert!(!shown.contains("canary"), "{shown}");
        assert!(!format!("{notify:?}").contains("secret = \"canary"), "{notify:?}");
    }

    // TX16
    #[test]
    fn a_key_in_an_address_is_a_secret_and_a_plain_address_is_none() {
        let secrets = |text: &str| -> Vec<String> {
            let notify: NotifySettings = toml::from_str(text).unwrap();
            notify.secrets().map(str::to_owned).collect()
        };
        let drawn = "kind = \"slack\"\nurl = \"https://hooks.example/services/T01/B02/aX9\"\n";
        assert_eq!(secrets(drawn), ["services/T01/B02/aX9"]);
        let plain = "kind = \"webhook\"\nurl = \"http://localhost:8080/hook\"\nsecret = \"s3\"\n";
        assert_eq!(secrets(plain), ["s3"]);
    }

    #[test]
    fn an_unknown_key_of_a_channel_is_refused() {
        let read =
            |text: &str| toml::from_str::<NotifySettings>(text).map_err(|error| error.to_string());
        assert!(read("kind = \"slack\"\nurll = \"x\"\n").is_err());
        assert!(read("kind = \"pigeon\"\n").is_err());
        assert!(read("kind = \"desktop\"\nquiet_hours = \"22:00-07:00\"\n").is_ok());
    }
}
