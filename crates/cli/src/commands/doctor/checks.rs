//! Checks the settings, and the checks that they name.

use std::path::Path;

use super::finding::Finding;
pub(super) use crate::build::CHECKS;
use crate::build::inspect;
use crate::error::Error;
use crate::render::words;
use crate::settings::{FILE, Resolved, Settings};

const SETTINGS: &str = "settings";

/// Returns whether the settings can be read, with all problems.
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

/// Returns the checks with all concerns that a run reports before it begins. No check is run.
pub(super) async fn checks(root: &Path, settings: &Settings) -> Vec<Finding> {
    let validate = &settings.validate;
    let lists = [&validate.pre_commit, &validate.pre_push, &validate.pre_pr];
    let commands: Vec<String> = lists.into_iter().flatten().cloned().collect();
    let concerns = inspect(root, settings, &commands).await;
    let mut findings = Vec::new();
    if concerns.iter().all(|concern| concern.about != CHECKS) {
        let commands = words::plain_line(&validate.pre_commit.join(", "));
        findings.push(Finding::good(CHECKS, commands));
    }
    findings.extend(concerns.into_iter().map(Finding::of_concern));
    findings
}
