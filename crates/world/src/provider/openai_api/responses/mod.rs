//! The protocol Responses, the vendor's own, with reasoning that can be sent back.

pub(super) mod parse;
pub(super) mod wire;
