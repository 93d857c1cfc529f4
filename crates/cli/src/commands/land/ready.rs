//! Runs the checks before a push and before a pull request on the last commit of a build, in a worktree of
//! its own.

use std::env;
use std::path::PathBuf;

use unstuck_core::fault::{CheckStage, Fault, Kind};
use unstuck_world::commands::CommandEnvironment;
use unstuck_world::git::{Git, Oid};
use unstuck_world::validate::GateChecks;
use unstuck_world::workspace::{self, Shell};

use crate::build::wall_rules;
use crate::error::{CliError, LandError};
use crate::project::{LocalProject, own_guard};
use crate::settings::Settings;

/// The folder of the worktree, in the project's `.unstuck/`.
const FOLDER: &str = "landing";

/// Passes if every check is green. There is no comparison with a baseline here: the commit that is sent
/// must be green.
pub(super) async fn require_green(
    project: &LocalProject,
    settings: &Settings,
    git: &Git,
    tip: &Oid,
) -> Result<(), CliError> {
    let validate = &settings.validate;
    let gates = [(CheckStage::PrePush, &validate.pre_push), (CheckStage::PrePr, &validate.pre_pr)];
    if gates.iter().all(|(_, commands)| commands.is_empty()) {
        return Ok(());
    }
    let place = LandingWorktree { git, path: project.unstuck_folder().join(FOLDER) };
    place.remove().await?;
    git.add_worktree(&place.path, tip).await?;
    let checked = place.run_checks(project, settings, &gates).await;
    place.remove().await?;
    checked
}

/// The worktree for the checks.
struct LandingWorktree<'a> {
    git: &'a Git,
    path: PathBuf,
}

impl LandingWorktree<'_> {
    /// Removes the worktree, which an interrupted command may have left.
    async fn remove(&self) -> Result<(), CliError> {
        // A folder that is not a worktree of git was never completed.
        let known = self.path.exists() && self.git.remove_worktree(&self.path).await.is_ok();
        let left = (!known).then(|| self.path.clone());
        for folder in left.into_iter().chain([self.private_folder()]) {
            let place = folder.display().to_string();
            workspace::remove_folder(&folder)
                .map_err(|source| CliError::Folder { place, source })?;
        }
        Ok(())
    }

    /// Returns the folder that replaces the operator's private folders during checks.
    fn private_folder(&self) -> PathBuf {
        self.path.with_added_extension("private")
    }

    async fn run_checks(
        &self,
        project: &LocalProject,
        settings: &Settings,
        gates: &[(CheckStage, &Vec<String>)],
    ) -> Result<(), CliError> {
        workspace::share_into(project.root(), &self.path, &settings.run.share)?;
        let shell = self.create_shell(project, settings)?;
        for command in &settings.run.setup {
            let ended = shell.run(&self.path, command).await?;
            if let Some(fault) = unstuck_world::process::derive_fault(&ended, "setup", command) {
                return Err(fault.into());
            }
        }
        for (gate, commands) in gates {
            // No file is restored in a finished commit, so no protected path is needed.
            let Ok(checks) = GateChecks::new(*gate, commands, &[]) else { continue };
            checks.run_in_folder(&self.path, &shell).await.map_err(check_error)?;
        }
        Ok(())
    }

    /// Returns the shell for setup and checks, behind the same sandbox as in a build.
    fn create_shell(&self, project: &LocalProject, settings: &Settings) -> Result<Shell, CliError> {
        let environment = CommandEnvironment::filter_passed(env::vars_os(), &settings.commands.env);
        let root = project.root();
        let private = self.private_folder();
        let wall = workspace::build_wall_around(root, &self.path, &private, &environment);
        Ok(Shell {
            guard: own_guard()?,
            lock: project.runs_folder().join("landing.lock"),
            inherits_environment: false,
            environment: environment.into_iter().map(|(name, value)| (name, Some(value))).collect(),
            timeout: settings.validate.timeout.0.into(),
            wall: wall.with_rules(&wall_rules(&settings.wall, project.root())),
        })
    }
}

/// Converts a failed check to an error with its output.
fn check_error(fault: Fault) -> CliError {
    match &fault.kind {
        Kind::ValidationPrePush(check) | Kind::ValidationPrePr(check) => LandError::Red {
            code: fault.code(),
            command: check.command.clone(),
            output: check.output.clone(),
        }
        .into(),
        _ => fault.into(),
    }
}
