//! Presentation: colors, widths, phrases, pages and errors.

mod error;
mod event;
mod frame;
mod json;
mod key;
mod markdown;
pub(crate) mod screen;
pub(crate) mod stand;
pub(crate) mod style;
mod terminal;
pub(crate) mod when;
pub(crate) mod words;

pub(crate) use error::{ErrorFormat, write_error, write_note};
pub(crate) use event::event_details;
pub(crate) use json::{event_schema, write_event_json, write_json, write_json_line};
pub(crate) use markdown::write_markdown;
pub(crate) use style::wrap_text;
pub(crate) use terminal::{Terminal, ask_confirmation};
