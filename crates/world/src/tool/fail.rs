//! The faults of tools.
//!
//! An invalid call is `LOGIC_BAD_INPUT`. A valid call that the files cannot satisfy (no such file,
//! text that is not found) is `LOGIC_ERROR`: a step that did not work, like a failing test; its
//! signature is made from the exact request.

use std::io;

use unstuck_core::fault::{Code, Fault, Internal, Logic, Tool};
use unstuck_core::signature::Signature;

/// Maximum length of a message in bytes.
const MESSAGE_BYTES_MAX: usize = 500;

pub(crate) fn bad_input_fault(tool: &str, why: &str) -> Box<Fault> {
    let why = &why[..why.floor_char_boundary(MESSAGE_BYTES_MAX)];
    let context = Logic { step: Some(tool.to_owned()), exit: None };
    Box::new(Fault::logic_bad_input(format!("tool.{tool}"), format!("{tool}: {why}"), context))
}

/// Builds the fault of a valid request that the files do not satisfy. `asked` determines the
/// signature, by which a repetition is recognized as the same failure.
pub(super) fn mismatch_fault(tool: &str, message: String, asked: &[&str]) -> Box<Fault> {
    let source = format!("tool.{tool}");
    let signature = Signature::from_parts(Code::LogicError, &source, asked);
    let context = Logic { step: Some(tool.to_owned()), exit: None };
    let mut fault = Fault::logic_error(source, message, context);
    fault.signature = signature;
    Box::new(fault)
}

/// Builds the fault for an I/O error.
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
