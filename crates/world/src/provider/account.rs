//! The credentials of an agent program for the account that it works on.

use std::fmt::Write as _;
use std::path::PathBuf;

use unstuck_core::fault::{Auth, Fault, Kind};

use super::credential::Credential;
use crate::agent::AgentEnd;
use crate::redact::Redactor;

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
            let secret = self.credential().map(Credential::expose);
            fault.message = Redactor::new(secret).redact_text(&fault.message).into_owned();
            if let Kind::AuthInvalid(auth) | Kind::AuthExpired(auth) | Kind::AuthMissing(auth) =
                &mut fault.kind
            {
                *auth = self.describe_auth(&auth.account);
            }
        }
        end
    }

    const fn credential(&self) -> Option<&Credential> {
        match self {
            Self::Key(key) => key.credential.as_ref(),
            Self::Login(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Code;

    use super::*;

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
