//! The phrases, by theme. Each is a thing tools in general say, never one tool's sentence alone.

mod login;
mod machine;
mod network;
mod usage;

use super::phrases::Rule;
pub(super) use machine::HELD_ELSEWHERE;
pub(super) use network::VAGUE;

/// Every rule of phrases.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    [login::RULES, network::RULES, machine::RULES, usage::RULES].into_iter().flatten()
}
