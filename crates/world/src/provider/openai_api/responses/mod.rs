//! Responses: the vendor's own, with reasoning that can be handed back.

pub(super) mod parse;
pub(super) mod wire;
