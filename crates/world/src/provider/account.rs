//! How an agent program gets into the account it works on.

use std::path::PathBuf;

use unstuck_core::fault::{Auth, Fault};

use super::credential::Credential;
use crate::agent::End;
use crate::redact::Redactor;

/// The way into an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// A key or a long-lived token. The program gets a home of its own, and the person's login is
    /// not touched.
    Key(Key),
    /// The person's own login, in the directory where the program keeps it (`~/.claude`,
    /// `~/.codex`).
    Login(PathBuf),
}

/// A key, and the variable from which the program reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The variable's name.
    pub variable: String,
    /// The key itself, where there is one.
    pub credential: Option<Credential>,
}

impl Account {
    /// Whether there is something to get in with: a key, or the file `login`
    /// where the login is kept.
    pub(super) fn check(&self, source: &str, login: &str) -> Result<(), Fault> {
        let (there, variable, message) = match self {
            Self::Key(key) => (
                key.credential.is_some(),
                Some(key.variable.clone()),
                format!("{} is not set", key.variable),
            ),
            Self::Login(directory) => {
                let file = directory.join(login);
                (
                    file.exists(),
                    None,
                    format!("nobody is logged in: there is no {}", file.display()),
                )
            }
        };
        let auth = Auth { account: source.to_owned(), variable };
        if there { Ok(()) } else { Err(Fault::auth_missing(source, message, auth)) }
    }

    /// The same end without the secret: a service may well repeat the key that it refuses.
    pub(super) fn redacted(&self, mut end: End) -> End {
        if let End::Failed(fault) = &mut end {
            let secret = self.credential().map(Credential::expose);
            fault.message = Redactor::new(secret).text(&fault.message).into_owned();
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

    fn key(value: &str) -> Account {
        Account::Key(Key { variable: "SOME_KEY".to_owned(), credential: Credential::new(value) })
    }

    #[test]
    fn a_way_in_is_a_key_or_a_login() {
        let home = tempfile::tempdir().unwrap();
        let login = Account::Login(home.path().to_owned());
        let code = |account: &Account| account.check("x", "auth").err().map(|fault| fault.code());
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
        let said = |account: &Account, text: &str| {
            let fault = Fault::auth_invalid("x", text, Auth::default());
            match account.redacted(End::Failed(Box::new(fault))) {
                End::Failed(fault) => fault.message,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(said(&account, "key canary-5a1e is wrong"), "key [redacted] is wrong");
        assert_eq!(said(&key(""), "abc"), "abc");
    }
}
