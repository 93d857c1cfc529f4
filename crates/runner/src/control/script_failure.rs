//! The fault that a script states for its failure.

use serde::{Deserialize, Serialize};
use unstuck_core::fault::{Category, Code, Fault, Kind, Origin};
use unstuck_core::time::Span;

/// The source of stated faults.
const SOURCE: &str = "script";
/// Maximum length in bytes of a stated message; its end is kept, where programs say what went
/// wrong.
const MESSAGE_BYTES_MAX: usize = 4 * 1_024;
/// Maximum length in bytes of an account's name.
const ACCOUNT_BYTES_MAX: usize = 200;

/// The failure that a script states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFailure {
    /// The error code.
    pub code: Code,
    /// The description of the failure.
    #[serde(default)]
    pub message: String,
    /// Seconds to wait, as the other side asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
    /// The service or account that the failure is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

/// Returns the stated fault. A script cannot state an internal fault of Unstuck.
pub(super) fn to_script_fault(stated: &ScriptFailure) -> Result<Fault, &'static str> {
    let ScriptFailure { code, message, retry_after_seconds, account } = stated;
    if code.row().category == Category::Internal {
        return Err("this code is about Unstuck itself");
    }
    let from = message.ceil_char_boundary(message.len().saturating_sub(MESSAGE_BYTES_MAX));
    let kind = with_account(Kind::bare(*code), account.as_deref());
    let fault = Fault::new(kind, SOURCE, &message[from..]).with_origin(Origin::Tool);
    Ok(match retry_after_seconds {
        Some(seconds) => fault.with_retry_after(Span::from_secs(*seconds)),
        None => fault,
    })
}

/// Adds the account to the contexts that have a field for it.
fn with_account(mut kind: Kind, account: Option<&str>) -> Kind {
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
        let said = |code, message: &str, wait| ScriptFailure {
            code,
            message: message.to_owned(),
            retry_after_seconds: wait,
            account: Some("the shop".to_owned()),
        };
        for code in Code::ALL {
            let stated = to_script_fault(&said(*code, "so it is", Some(9)));
            assert_eq!(stated.is_err(), code.row().category == Category::Internal, "{code}");
            let Ok(stated) = stated else { continue };
            assert_eq!((stated.code(), stated.retry_after), (*code, Some(Span::from_secs(9))));
        }
        let expired = to_script_fault(&said(Code::AuthExpired, "", None)).unwrap();
        assert!(matches!(expired.kind, Kind::AuthExpired(auth) if auth.account == "the shop"));
        let long = to_script_fault(&said(Code::LogicError, &"ü".repeat(10_000), None)).unwrap();
        assert!(long.message.len() <= MESSAGE_BYTES_MAX && long.message.ends_with('ü'));
    }
}
