//! Front matter of files other than tasks: keys with their lines, for a caller that knows their meaning.

use super::front::{FRONT_BYTES_MAX, split_front_matter};
use super::problem::PlanFileMistake;
use super::yaml;

pub use super::yaml::{YamlNode, YamlValue};

/// A file with front matter.
#[derive(Debug)]
pub struct FrontMatterFile<'t> {
    /// The keys and their values in source order. Their lines are those of the front matter, which begins in
    /// the second line of the file.
    pub keys: Vec<(YamlNode, YamlNode)>,
    /// The text below the front matter.
    pub text: &'t str,
}

/// Parses a file's front matter, or returns the problem and its line.
pub fn parse_front_matter(text: &str) -> Result<FrontMatterFile<'_>, (u32, PlanFileMistake)> {
    let (front, at) = split_front_matter(text).map_err(|wrong| (1, wrong))?;
    let keys = match front {
        None => Vec::new(),
        Some(front) if front.len() > FRONT_BYTES_MAX => {
            return Err((1, PlanFileMistake::FrontTooLarge(front.len())));
        }
        Some(front) => parse_keys(front).map_err(|(line, wrong)| (line + 1, wrong))?,
    };
    Ok(FrontMatterFile { keys, text: &text[at..] })
}

fn parse_keys(front: &str) -> Result<Vec<(YamlNode, YamlNode)>, (u32, PlanFileMistake)> {
    let read = yaml::parse_yaml(front)?;
    match read.value {
        YamlValue::Nothing => Ok(Vec::new()),
        YamlValue::Keys(keys) => Ok(keys),
        YamlValue::Text(_) | YamlValue::List(_) => Err((read.line, PlanFileMistake::NoKeys)),
    }
}
