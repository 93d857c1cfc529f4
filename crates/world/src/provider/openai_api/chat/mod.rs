//! The protocol Chat Completions, which nearly all services speak.

pub(super) mod parse;
pub(super) mod wire;
