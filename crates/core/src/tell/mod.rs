//! Texts for people and agents, built from the engine's state.
//!
//! The engine keeps facts; [`question`](crate::question) and [`text`](crate::text) hold the words. This
//! module combines them: [`describe_event`] is the sentence for each event, [`narrate_event`] selects those
//! for a person who watches, [`question_text`] is for one who is asked, [`Notification`] for one who is
//! elsewhere, [`replan_context`] for an agent that tries again. Unstuck's own words to people pass the
//! linter, with foreign text in quotation marks; texts for agents are technical on purpose, and bounded.
//! Texts are made when they are needed, never stored in a decision.

pub mod brief;
mod context;
mod direction;
mod event;
mod event_phrases;
mod evidence;
mod instruct;
mod message;
mod narration;
mod question;
mod red_check;
mod replan;
mod tally;

pub use brief::wanted_action;
pub use context::{failure_result, replan_context};
pub use direction::{SessionDecision, SessionDirection, session_direction};
pub use event::{BUILD_WAITS, EventFacts, describe_build_failure, describe_event};
pub use event_phrases::describe_run_status;
pub use evidence::{collect_evidence, describe_spent_day};
pub use instruct::{CommandWait, NUDGE, render_cut_off, render_wait_result, retry_advice};
pub use message::{
    AnswerLink, MESSAGE_BYTES_MAX, News, NewsKind, Notification, NotificationLevel, news_from_event,
};
pub use narration::narrate_event;
pub use question::{operator_text, question_text};
pub use red_check::RedCheckText;
pub use replan::{
    REPLAN_BYTES_MAX, ReplanFailure, ReplanGuidance, ReplanInput, ReplanTree, TriedApproach,
    render_replan,
};
pub use tally::BuildTally;
