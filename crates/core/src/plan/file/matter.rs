//! Front matter of files other than tasks: keys with their lines, for a caller that knows their meaning.

use super::front::{FRONT_BYTES_MAX, split};
use super::problem::Wrong;
use super::yaml;

pub use super::yaml::{Node, Value};

/// A file with front matter.
#[derive(Debug)]
pub struct Matter<'t> {
    /// The keys and their values in source order. Their lines are those of the front matter, which begins in
    /// the second line of the file.
    pub keys: Vec<(Node, Node)>,
    /// The text below the front matter.
    pub text: &'t str,
}

/// Parses a file's front matter, or returns the problem and its line.
pub fn matter(text: &str) -> Result<Matter<'_>, (u32, Wrong)> {
    let (front, at) = split(text).map_err(|wrong| (1, wrong))?;
    let keys = match front {
        None => Vec::new(),
        Some(front) if front.len() > FRONT_BYTES_MAX => {
            return Err((1, Wrong::FrontTooLarge(front.len())));
        }
        Some(front) => keys(front).map_err(|(line, wrong)| (line + 1, wrong))?,
    };
    Ok(Matter { keys, text: &text[at..] })
}

fn keys(front: &str) -> Result<Vec<(Node, Node)>, (u32, Wrong)> {
    let read = yaml::read(front)?;
    match read.value {
        Value::Nothing => Ok(Vec::new()),
        Value::Keys(keys) => Ok(keys),
        Value::Text(_) | Value::List(_) => Err((read.line, Wrong::NoKeys)),
    }
}
