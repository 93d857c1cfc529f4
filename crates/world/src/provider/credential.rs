//! Credentials that are never printed, and the key of the account they belong to.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use unstuck_core::plan::GateKey;

/// A key or token.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(String);

impl Credential {
    /// Creates a credential; returns `None` for an empty one, because an empty variable holds no
    /// key.
    pub fn new(secret: &str) -> Option<Self> {
        let secret = secret.trim();
        (!secret.is_empty()).then(|| Self(secret.to_owned()))
    }

    /// Returns the secret itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Deserializes a credential from settings; an empty one is rejected.
impl<'de> Deserialize<'de> for Credential {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let secret = String::deserialize(deserializer)?;
        Self::new(&secret).ok_or_else(|| de::Error::custom("it is empty"))
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(…)")
    }
}

/// Returns the key of the account behind an address and a credential: processes that share both
/// share its limits. The key is a hash, so that no secret can be read from it.
pub fn derive_gate_key(provider: &str, base_url: &str, credential: Option<&Credential>) -> GateKey {
    let mut hasher = blake3::Hasher::new_derive_key("unstuck: the account behind a provider");
    for part in
        [provider, base_url.trim_end_matches('/'), credential.map_or("", Credential::expose)]
    {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut key = [0; 8];
    hasher.finalize_xof().fill(&mut key);
    GateKey(u64::from_le_bytes(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_not_printed() {
        let credential = Credential::new(" sk-canary-1234\n").unwrap();
        assert_eq!(credential.expose(), "sk-canary-1234");
        assert!(!format!("{credential:?}").contains("canary"));
        assert_eq!(Credential::new(" \n"), None);
    }

    // B2: an account has one gate, for all of its users.
    #[test]
    fn the_same_account_has_the_same_gate_and_no_other_has() {
        let one = Credential::new("key-one");
        let two = Credential::new("key-two");
        let gates = [
            derive_gate_key("anthropic-api", "https://a", one.as_ref()),
            derive_gate_key("anthropic-api", "https://a", two.as_ref()),
            derive_gate_key("anthropic-api", "https://b", one.as_ref()),
            derive_gate_key("openai-api", "https://a", one.as_ref()),
            derive_gate_key("anthropic-api", "https://a", None),
            derive_gate_key("anthropic-apihttps://a", "", one.as_ref()),
        ];
        for (index, key) in gates.iter().enumerate() {
            assert!(!gates[..index].contains(key), "{index}");
        }
        assert_eq!(gates[0], derive_gate_key("anthropic-api", "https://a/", one.as_ref()));
    }
}
