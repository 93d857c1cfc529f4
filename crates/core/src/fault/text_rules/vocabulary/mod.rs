//! The phrases, by theme. Each is a wording of tools in general, never one tool's sentence alone.

mod kinds;
mod login;
mod machine;
mod network;
mod together;
mod usage;

pub(super) use kinds::KINDS;
pub(in super::super) use machine::HELD_ELSEWHERE;
pub(super) use machine::INTERNAL;
pub(super) use network::VAGUE;
pub(super) use together::{
    DAMAGED, HELD, LINK_SETTING, LOCKED, LOGIN_FIRST, MISSING_TOOL, NOT_AS_ROOT, OF_CODE,
    PLAN_USED_UP, PORT_TAKEN, TOGETHER, Together, WRONG_SECRET,
};
pub(super) use usage::{ENDED, EXITED};

use crate::code::Code;

/// A rule: each of its phrases indicates the code.
pub(super) struct PhraseRule {
    pub(super) id: &'static str,
    pub(super) code: Code,
    /// `true` if the phrases are so narrow that no wider phrase beside them counts.
    pub(super) narrow: bool,
    /// Phrases in lower case, as words of prose: `~` matches a path or an address, `'` a quotation.
    pub(super) phrases: &'static [&'static str],
}

/// Returns all phrase rules.
pub(super) fn phrase_rules() -> impl Iterator<Item = &'static PhraseRule> {
    [login::RULES, network::RULES, machine::RULES, usage::RULES].into_iter().flatten()
}
