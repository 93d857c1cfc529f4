//! Front matter of other files than tasks: keys with their lines, for whoever knows what they mean.

use super::front::{FRONT_BYTES_MAX, split};
use super::problem::Wrong;
use super::yaml;

pub use super::yaml::{Node, Value};

/// A file with front matter.
#[derive(Debug)]
pub struct Matter<'t> {
    /// Its keys and their values, in the order they are written. Their lines are those of the front
    /// matter, which begins in the second line of the file.
    pub keys: Vec<(Node, Node)>,
    /// What stands below.
    pub text: &'t str,
}

/// Reads a file's front matter, or says what is wrong and in which line.
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
