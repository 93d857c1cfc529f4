//! The result of a tool: an output, shortened where it is too long to be shown whole, or a fault.
//!
//! An invalid call is `LOGIC_BAD_INPUT`. A valid call that the files cannot satisfy (no such file,
//! text that is not found) is `LOGIC_ERROR`: a step that did not work, like a failing test; its
//! signature is made from the exact request.

use std::io;

use unstuck_core::attempt::ActionOutcome;
use unstuck_core::fault::{Code, Fault, Internal, Logic, Tool};
use unstuck_core::signature::Signature;

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// The output that the model reads.
    pub text: String,
    /// The outcome of the call.
    pub outcome: ActionOutcome,
    /// The fault of a command that failed, from how it ended and what it wrote. `None` if the
    /// command only answered "no".
    pub verdict: Option<Box<Fault>>,
    /// The action that Unstuck's own rules prevented. Since a refusal is no failure, there is no
    /// verdict besides it.
    pub kept_from: Option<PreventedAction>,
}

/// An action of a command that Unstuck's own rules prevented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreventedAction {
    /// The command ran, but some path, host or the network was denied to it: a sentence for people.
    Reaching(String),
    /// The command did not run.
    Running {
        /// The command.
        command: String,
        /// The reason of the refusal.
        why: String,
    },
}

impl ToolOutput {
    pub(super) fn with_success(text: String) -> Self {
        Self { text, outcome: ActionOutcome::Succeeded, verdict: None, kept_from: None }
    }

    pub(super) fn with_failure(text: String) -> Self {
        Self { outcome: ActionOutcome::Failed, ..Self::with_success(text) }
    }
}

const MESSAGE_BYTES_MAX: usize = 500;

pub(crate) fn bad_input_fault(tool: &str, why: &str) -> Box<Fault> {
    let why = &why[..why.floor_char_boundary(MESSAGE_BYTES_MAX)];
    let context = Logic { step: Some(tool.to_owned()), ..Logic::default() };
    Box::new(Fault::logic_bad_input(format!("tool.{tool}"), format!("{tool}: {why}"), context))
}

/// Builds the fault of a valid request that the files do not satisfy. `asked` determines the
/// signature, by which a repetition is recognized as the same failure.
pub(super) fn mismatch_fault(tool: &str, message: String, asked: &[&str]) -> Box<Fault> {
    let source = format!("tool.{tool}");
    let signature = Signature::from_parts(Code::LogicError, &source, asked);
    let context = Logic { step: Some(tool.to_owned()), ..Logic::default() };
    let mut fault = Fault::logic_error(source, message, context);
    fault.signature = signature;
    Box::new(fault)
}

pub(super) fn io_fault(tool: &str, path: &str, error: &io::Error) -> Box<Fault> {
    let source = format!("tool.{tool}");
    let message = format!("{path}: {error}");
    let context = Tool { command: Some(tool.to_owned()), ..Tool::default() };
    Box::new(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Fault::env_disk_full(source, message, context)
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Fault::tool_access_denied(source, message, context)
        }
        kind => return mismatch_fault(tool, message, &[path, &format!("{kind:?}")]),
    })
}

pub(super) fn internal_fault(tool: &str, what: impl std::fmt::Display) -> Box<Fault> {
    let context = Internal { component: "tool".to_owned() };
    Box::new(Fault::internal_error(format!("tool.{tool}"), what.to_string(), context))
}

/// Maximum size in bytes of a tool's output.
pub const SHOWN_BYTES_MAX: usize = 30 * 1_024;

/// Shortens a text to at most `bytes_max` bytes plus one line that says how much is left out of the
/// middle: the beginning says what the text is, the end how it came out.
pub fn shorten_text(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let half = bytes_max / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    // Cuts at whole lines, unless a line is longer than the part that is kept.
    let head = head.rfind('\n').map_or(head, |at| &head[..at]);
    let tail = tail.find('\n').map_or(tail, |at| &tail[at + 1..]);
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_middle_goes_and_is_counted() {
        assert_eq!(shorten_text("short", 10), "short");
        let lines: String = (0..100).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
        let shown = shorten_text(&lines, 40);
        assert!(shown.starts_with("line 0\nline 1\n[… "), "{shown}");
        assert!(shown.ends_with(" …]\nline 98\nline 99\n"), "{shown}");
    }

    proptest! {
        #[test]
        fn what_is_shown_fits(text in "(\\PC|\n){0,400}", max in 0_usize..200) {
            let shown = shorten_text(&text, max);
            prop_assert!(shown.len() <= max.max(text.len().min(max)) + 48, "{}", shown.len());
        }
    }
}
