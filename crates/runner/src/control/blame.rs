//! What a script says it fails of, as the fault it is.

use unstuck_core::fault::{Category, Code, Fault, Kind, Origin};
use unstuck_core::time::Span;

/// Where such a failure is raised.
const SOURCE: &str = "script";
/// How much of a message a fault carries: its end, where programs say what went wrong.
const MESSAGE_BYTES_MAX: usize = 4 * 1_024;

/// The fault. That something is wrong inside Unstuck is not for a script to say.
pub(super) fn fault(
    code: Code,
    message: &str,
    retry_after_seconds: Option<u64>,
) -> Result<Fault, &'static str> {
    if code.row().category == Category::Internal {
        return Err("this code is about Unstuck itself");
    }
    let from = message.ceil_char_boundary(message.len().saturating_sub(MESSAGE_BYTES_MAX));
    let fault = Fault::new(Kind::bare(code), SOURCE, &message[from..]).from_origin(Origin::Tool);
    Ok(match retry_after_seconds {
        Some(seconds) => fault.retry_after(Span::from_secs(seconds)),
        None => fault,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_but_our_own_can_be_stated() {
        for code in Code::ALL {
            let stated = fault(*code, "so it is", Some(9));
            assert_eq!(stated.is_err(), code.row().category == Category::Internal, "{code}");
            let Ok(stated) = stated else { continue };
            assert_eq!((stated.code(), stated.retry_after), (*code, Some(Span::from_secs(9))));
        }
        let long = fault(Code::LogicError, &"ü".repeat(10_000), None).unwrap();
        assert!(long.message.len() <= MESSAGE_BYTES_MAX && long.message.ends_with('ü'));
    }
}
