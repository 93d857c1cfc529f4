//! Chat Completions: spoken by nearly everybody.

pub(super) mod parse;
pub(super) mod wire;
