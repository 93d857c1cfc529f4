//! Credentials, which are never printed: of a service, and of an agent program for the account that
//! it works on.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, de};
use unstuck_core::fault::{Auth, Fault, Kind};
use unstuck_core::plan::GateKey;

use crate::agent::AgentEnd;
use crate::redact::Redactor;

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

/// The agent programs, each with its login command and the variable of a key that works instead.
const LOGINS: [(&str, &str, &str); 2] = [
    ("claude-cli", "claude login", "ANTHROPIC_API_KEY"),
    ("codex-cli", "codex login", "OPENAI_API_KEY"),
];

/// The way to authenticate at an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountAuth {
    /// A key or a long-lived token. The program gets a home of its own, and the operator's login is
    /// not touched.
    Key(AccountKey),
    /// The operator's own login, in the directory where the program keeps it (`~/.claude`,
    /// `~/.codex`).
    Login(PathBuf),
}

/// A key, and the variable from which the program reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountKey {
    /// The name of the variable.
    pub variable: String,
    /// The key itself; `None` if the variable is not set.
    pub credential: Option<Credential>,
}

impl AccountAuth {
    /// Checks that there is a credential: a key, or the file `login` in the directory of the login.
    pub(super) fn check_credential(&self, source: &str, login: &str) -> Result<(), Fault> {
        let auth = self.describe_auth(source);
        match self {
            Self::Key(AccountKey { credential: Some(_), .. }) => Ok(()),
            Self::Key(key) => {
                Err(Fault::auth_missing(source, format!("{} is not set", key.variable), auth))
            }
            Self::Login(directory) => {
                let file = directory.join(login);
                if file.exists() {
                    return Ok(());
                }
                let mut message = format!("there is no login at {}", file.display());
                // Without a login, a key in its usual variable works as well.
                let known = LOGINS.iter().find(|(name, ..)| *name == source);
                if let Some((_, login, variable)) = known {
                    let _ =
                        write!(message, ", and {variable} is not set: run `{login}`, or set it");
                }
                let variable = known.map(|(.., variable)| (*variable).to_owned());
                Err(Fault::auth_missing(source, message, Auth { variable, ..auth }))
            }
        }
    }

    /// Returns what the operator can do to authenticate: set the variable of the key, or log in.
    fn describe_auth(&self, source: &str) -> Auth {
        let account = source.to_owned();
        match self {
            Self::Key(key) => {
                Auth { account, variable: Some(key.variable.clone()), ..Auth::default() }
            }
            Self::Login(_) => {
                let known = LOGINS.iter().find(|(name, ..)| *name == source);
                let login = known.map(|(_, login, _)| (*login).to_owned());
                Auth { account, login, ..Auth::default() }
            }
        }
    }

    /// Removes the secret from the message of a failure, because a service may repeat the key that
    /// it rejects, and adds to an authentication failure what the operator can do about it.
    pub(super) fn redact_end(&self, mut end: AgentEnd) -> AgentEnd {
        if let AgentEnd::Failed(fault) = &mut end {
            let secret = self.exposed_key().map(|(_, secret)| secret);
            fault.message = Redactor::new(secret).redact_text(&fault.message).into_owned();
            if let Kind::AuthInvalid(auth) | Kind::AuthExpired(auth) | Kind::AuthMissing(auth) =
                &mut fault.kind
            {
                *auth = self.describe_auth(&auth.account);
            }
        }
        end
    }

    /// Returns the variable of the key and the secret itself, if there is a key.
    pub(super) fn exposed_key(&self) -> Option<(&str, &str)> {
        match self {
            Self::Key(key) => Some((&key.variable, key.credential.as_ref()?.expose())),
            Self::Login(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Code;

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

    fn key(value: &str) -> AccountAuth {
        AccountAuth::Key(AccountKey {
            variable: "SOME_KEY".to_owned(),
            credential: Credential::new(value),
        })
    }

    #[test]
    fn what_is_missing_is_named() {
        let auth = |account: &AccountAuth| {
            let fault = account.check_credential("claude-cli", "auth").unwrap_err();
            let Kind::AuthMissing(auth) = fault.kind else { panic!("{fault}") };
            (auth.variable, auth.login)
        };
        assert_eq!(auth(&key("")), (Some("SOME_KEY".to_owned()), None));
        let home = tempfile::tempdir().unwrap();
        let login = AccountAuth::Login(home.path().to_owned());
        let both = (Some("ANTHROPIC_API_KEY".to_owned()), Some("claude login".to_owned()));
        assert_eq!(auth(&login), both);
        let refused = Fault::auth_invalid("claude-cli", "no", Auth::default());
        let AgentEnd::Failed(fault) = login.redact_end(AgentEnd::Failed(Box::new(refused))) else {
            panic!()
        };
        let Kind::AuthInvalid(auth) = fault.kind else { panic!() };
        assert_eq!(auth.login, None, "the account is not known by name");
    }

    #[test]
    fn a_way_in_is_a_key_or_a_login() {
        let home = tempfile::tempdir().unwrap();
        let login = AccountAuth::Login(home.path().to_owned());
        let code = |account: &AccountAuth| {
            account.check_credential("x", "auth").err().map(|fault| fault.code())
        };
        assert_eq!(code(&key("")), Some(Code::AuthMissing));
        assert_eq!(code(&key("k")), None);
        assert_eq!(code(&login), Some(Code::AuthMissing));
        std::fs::write(home.path().join("auth"), "{}").unwrap();
        assert_eq!(code(&login), None);
    }

    #[test]
    fn a_key_is_never_written_down() {
        let account = key("canary-5a1e");
        assert!(!format!("{account:?}").contains("canary"), "{account:?}");
        let said = |account: &AccountAuth, text: &str| {
            let fault = Fault::auth_invalid("x", text, Auth::default());
            match account.redact_end(AgentEnd::Failed(Box::new(fault))) {
                AgentEnd::Failed(fault) => fault.message,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(said(&account, "key canary-5a1e is wrong"), "key [redacted] is wrong");
        assert_eq!(said(&key(""), "abc"), "abc");
    }
}
