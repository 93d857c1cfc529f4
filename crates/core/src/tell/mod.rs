//! Texts for people and agents, built from the engine's state.
//!
//! The engine keeps facts; [`question`](crate::question) and [`text`](crate::text) hold the words. This
//! module combines them: [`narration`] for a person who watches, [`question_text`] for one who is asked,
//! [`Message`] for one who is elsewhere, [`context`] for an agent that tries again. Unstuck's own words to
//! people pass the linter, with foreign text in quotation marks; texts for agents are technical on purpose,
//! and bounded. Texts are made when they are needed, never stored in a decision.

pub mod brief;
mod context;
mod cut_off;
mod direction;
mod evidence;
mod instruct;
mod message;
mod narrate;
mod narration;
mod news;
mod nudge;
mod question;
mod replan;
mod telling;
mod waited;
mod wanted;

pub use context::{context, result};
pub use cut_off::cut_off;
pub use direction::{Decision, Direction, direction};
pub use evidence::evidence;
pub use instruct::advice;
pub use message::{AnswerLink, MESSAGE_BYTES_MAX, Message, Tally};
pub use narrate::{Narration, narrate};
pub use narration::narration;
pub use news::{Happened, Level, News, news};
pub use nudge::NUDGE;
pub use question::{operator_text, question_text};
pub use replan::{Guidance, REPLAN_BYTES_MAX, Replan, ReplanFailure, Tree, TriedApproach, replan};
pub use waited::{Waited, waited};
pub use wanted::wanted;

#[cfg(test)]
mod tests;
