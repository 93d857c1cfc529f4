//! Presentation: colors, widths, phrases, pages and errors.

mod agreed;
mod error;
mod event;
mod happened;
mod job;
mod json;
mod markdown;
pub(crate) mod screen;
pub(crate) mod stand;
pub(crate) mod style;
mod terminal;
pub(crate) mod when;
pub(crate) mod words;
mod wrap;

pub(crate) use agreed::ask_confirmation;
pub(crate) use error::{ErrorFormat, write_error, write_note};
pub(crate) use event::{event_schema, write_event_json};
pub(crate) use happened::{render_event, render_status};
pub(crate) use job::render_job_event;
pub(crate) use json::{write_json, write_json_line};
pub(crate) use markdown::write_markdown;
pub(crate) use terminal::Terminal;
pub(crate) use wrap::wrap_text;
