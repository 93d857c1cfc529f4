//! What a script says it fails of, as the fault it is.

use serde::{Deserialize, Serialize};
use unstuck_core::fault::{Category, Code, Fault, Kind, Origin};
use unstuck_core::time::Span;

/// Where such a failure is raised.
const SOURCE: &str = "script";
/// How much of a message a fault carries: its end, where programs say what went wrong.
const MESSAGE_BYTES_MAX: usize = 4 * 1_024;
/// The longest name of an account.
const ACCOUNT_BYTES_MAX: usize = 200;

/// What a script says it fails of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stated {
    /// The code.
    pub code: Code,
    /// What went wrong.
    #[serde(default)]
    pub message: String,
    /// How long the other side asked to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
    /// The service or account it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

/// The fault. That something is wrong inside Unstuck is not for a script to say.
pub(super) fn fault(stated: &Stated) -> Result<Fault, &'static str> {
    let Stated { code, message, retry_after_seconds, account } = stated;
    if code.row().category == Category::Internal {
        return Err("this code is about Unstuck itself");
    }
    let from = message.ceil_char_boundary(message.len().saturating_sub(MESSAGE_BYTES_MAX));
    let kind = about(Kind::bare(*code), account.as_deref());
    let fault = Fault::new(kind, SOURCE, &message[from..]).from_origin(Origin::Tool);
    Ok(match retry_after_seconds {
        Some(seconds) => fault.retry_after(Span::from_secs(*seconds)),
        None => fault,
    })
}

/// With the account, in the contexts that have a place for it.
fn about(mut kind: Kind, account: Option<&str>) -> Kind {
    let Some(account) = account else { return kind };
    let account = account[..account.floor_char_boundary(ACCOUNT_BYTES_MAX)].to_owned();
    match &mut kind {
        Kind::AuthInvalid(auth) | Kind::AuthExpired(auth) | Kind::AuthMissing(auth) => {
            auth.account = account;
        }
        Kind::ToolAccessDenied(tool) | Kind::ToolQuota(tool) | Kind::ToolRateLimit(tool) => {
            tool.host = Some(account);
        }
        _ => {}
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_but_our_own_can_be_stated() {
        let said = |code, message: &str, wait| Stated {
            code,
            message: message.to_owned(),
            retry_after_seconds: wait,
            account: Some("the shop".to_owned()),
        };
        for code in Code::ALL {
            let stated = fault(&said(*code, "so it is", Some(9)));
            assert_eq!(stated.is_err(), code.row().category == Category::Internal, "{code}");
            let Ok(stated) = stated else { continue };
            assert_eq!((stated.code(), stated.retry_after), (*code, Some(Span::from_secs(9))));
        }
        let expired = fault(&said(Code::AuthExpired, "", None)).unwrap();
        assert!(matches!(expired.kind, Kind::AuthExpired(auth) if auth.account == "the shop"));
        let long = fault(&said(Code::LogicError, &"ü".repeat(10_000), None)).unwrap();
        assert!(long.message.len() <= MESSAGE_BYTES_MAX && long.message.ends_with('ü'));
    }
}
