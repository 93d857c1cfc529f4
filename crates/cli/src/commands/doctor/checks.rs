//! The settings, and the checks that they name.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use unstuck_world::provider;

use super::finding::Finding;
use crate::error::Error;
use crate::render::words;
use crate::settings::{FILE, Resolved, Settings};

const SETTINGS: &str = "settings";
pub(super) const CHECKS: &str = "checks";

/// What a shell understands by itself, or what makes the first word something else than a program.
const SHELL: &[char] = &['=', '$', '(', '{', '"', '\'', '`', '/', '!', '[', '~'];
const BUILT_IN: [&str; 9] = ["cd", "set", "export", "test", "true", "exit", "if", "for", "."];

/// Whether the settings can be read, and everything that is wrong with them.
pub(super) fn settings(
    root: &Path,
    named: Option<&Path>,
    resolved: &Result<Resolved, Error>,
) -> Vec<Finding> {
    match resolved {
        Err(error) => Finding::all_of_error(SETTINGS, error),
        Ok(_) => {
            let file = named.map_or_else(|| root.join(FILE), Path::to_owned);
            vec![if file.exists() {
                let name = file.strip_prefix(root).unwrap_or(&file);
                Finding::good(SETTINGS, format!("{} can be used", name.display()))
            } else {
                let says = format!("there is no {FILE}; everything has its default");
                Finding::warning(SETTINGS, says, "`unstuck init` writes one")
            }]
        }
    }
}

/// What is checked before a commit. Nothing is run.
pub(super) fn checks(settings: &Settings) -> Finding {
    let commands = &settings.validate.pre_commit;
    if commands.is_empty() {
        let says = "nothing is checked before a commit: an agent's work lands as it is";
        return Finding::warning(CHECKS, says, format!("set validate.pre_commit in {FILE}"));
    }
    let setup = &settings.run.setup;
    let missing: Vec<&str> = setup.iter().chain(commands).filter_map(|c| missing(c)).collect();
    if missing.is_empty() {
        return Finding::good(CHECKS, words::plain_line(&commands.join(", ")));
    }
    let says = format!("{} is not on the path", words::plain_line(&missing.join(", ")));
    Finding::warning(CHECKS, says, "install it, or change validate.pre_commit and run.setup")
}

/// The program that a command begins with, where that can be told and it is not there.
fn missing(command: &str) -> Option<&str> {
    let first = command.split_whitespace().next()?;
    if first.contains(SHELL) || BUILT_IN.contains(&first) {
        return None;
    }
    let path = env::var_os("PATH");
    provider::find(OsStr::new(first), path.as_deref()).is_none().then_some(first)
}
