//! How things look: colours, widths, pages and errors.

mod error;
mod markdown;
pub(crate) mod style;
mod terminal;
mod wrap;

pub(crate) use error::{error, note};
pub(crate) use markdown::markdown;
pub(crate) use terminal::Terminal;
pub(crate) use wrap::wrapped;
