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

pub(crate) use agreed::agreed;
pub(crate) use error::{Telling, error, note};
pub(crate) use event::{event_json, event_schema};
pub(crate) use happened::{happened, stands};
pub(crate) use job::happened_to_job;
pub(crate) use json::{json, json_line};
pub(crate) use markdown::markdown;
pub(crate) use terminal::Terminal;
pub(crate) use wrap::wrapped;
