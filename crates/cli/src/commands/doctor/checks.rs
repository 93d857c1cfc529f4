//! Checks the settings, and the checks that they name.

use std::path::Path;

use super::finding::DoctorFinding;
pub(super) use crate::build::CHECKS;
use crate::build::inspect_project;
use crate::error::CliError;
use crate::render::words;
use crate::settings::{FILE, ResolvedSettings, Settings};

const SETTINGS: &str = "settings";

/// Returns whether the settings can be read, with all problems.
pub(super) fn check_settings(
    root: &Path,
    named: Option<&Path>,
    resolved: &Result<ResolvedSettings, CliError>,
) -> Vec<DoctorFinding> {
    match resolved {
        Err(error) => DoctorFinding::list_from_error(SETTINGS, error),
        Ok(_) => {
            let file = named.map_or_else(|| root.join(FILE), Path::to_owned);
            vec![if file.exists() {
                let name = file.strip_prefix(root).unwrap_or(&file);
                DoctorFinding::good(SETTINGS, format!("{} can be used", name.display()))
            } else {
                let says = format!("there is no {FILE}; everything has its default");
                DoctorFinding::warning(SETTINGS, says, "`unstuck init` writes one")
            }]
        }
    }
}

/// Returns the checks with all concerns that a run reports before it begins. No check is run.
pub(super) async fn inspect_checks(root: &Path, settings: &Settings) -> Vec<DoctorFinding> {
    let validate = &settings.validate;
    let lists = [&validate.pre_commit, &validate.pre_push, &validate.pre_pr];
    let commands: Vec<String> = lists.into_iter().flatten().cloned().collect();
    let concerns = inspect_project(root, settings, &commands).await;
    let mut findings = Vec::new();
    if concerns.iter().all(|concern| concern.about != CHECKS) {
        let commands = words::plain_line(&validate.pre_commit.join(", "));
        findings.push(DoctorFinding::good(CHECKS, commands));
    }
    findings.extend(concerns.into_iter().map(DoctorFinding::from_concern));
    findings
}
