//! Runs the checks before a push and before a pull request on the last commit of a build, in a worktree of
//! its own.

use std::env;
use std::path::PathBuf;

use unstuck_core::fault::{Fault, Gate, Kind};
use unstuck_world::commands::Environment;
use unstuck_world::git::{Git, Oid};
use unstuck_world::validate::Checks;
use unstuck_world::workspace::{self, Shell};

use crate::build::wall_rules;
use crate::error::{Error, LandError};
use crate::project::{Project, own_guard};
use crate::settings::Settings;

/// The folder of the worktree, in the project's `.unstuck/`.
const FOLDER: &str = "landing";

/// Passes if every check is green. There is no comparison with a baseline here: the commit that is sent
/// must be green.
pub(super) async fn pass(
    project: &Project,
    settings: &Settings,
    git: &Git,
    tip: &Oid,
) -> Result<(), Error> {
    let validate = &settings.validate;
    let gates = [(Gate::PrePush, &validate.pre_push), (Gate::PrePr, &validate.pre_pr)];
    if gates.iter().all(|(_, commands)| commands.is_empty()) {
        return Ok(());
    }
    let place = Place { git, path: project.folder().join(FOLDER) };
    place.clear().await?;
    git.add_worktree(&place.path, tip).await?;
    let checked = place.check(project, settings, &gates).await;
    place.clear().await?;
    checked
}

/// The worktree for the checks.
struct Place<'a> {
    git: &'a Git,
    path: PathBuf,
}

impl Place<'_> {
    /// Removes the worktree, which an interrupted command may have left.
    async fn clear(&self) -> Result<(), Error> {
        // A folder that is not a worktree of git was never completed.
        let known = self.path.exists() && self.git.remove_worktree(&self.path).await.is_ok();
        let left = (!known).then(|| self.path.clone());
        for folder in left.into_iter().chain([self.private()]) {
            let place = folder.display().to_string();
            workspace::remove_folder(&folder).map_err(|source| Error::Folder { place, source })?;
        }
        Ok(())
    }

    /// Returns the folder that replaces the operator's private folders during checks.
    fn private(&self) -> PathBuf {
        self.path.with_added_extension("private")
    }

    async fn check(
        &self,
        project: &Project,
        settings: &Settings,
        gates: &[(Gate, &Vec<String>)],
    ) -> Result<(), Error> {
        workspace::share(project.root(), &self.path, &settings.run.share)?;
        let shell = self.shell(project, settings)?;
        for command in &settings.run.setup {
            let ended = shell.run(&self.path, command).await?;
            if let Some(fault) = unstuck_world::process::verdict(&ended, "setup", command) {
                return Err(fault.into());
            }
        }
        for (gate, commands) in gates {
            // No file is restored in a finished commit, so no protected path is needed.
            let Ok(checks) = Checks::new(*gate, commands, &[]) else { continue };
            checks.run_at(&self.path, &shell).await.map_err(red)?;
        }
        Ok(())
    }

    /// Returns the shell for setup and checks, behind the same sandbox as in a build.
    fn shell(&self, project: &Project, settings: &Settings) -> Result<Shell, Error> {
        let environment = Environment::usual(env::vars_os(), &settings.commands.env);
        let root = project.root();
        let private = self.private();
        let wall = workspace::wall_around(root, &self.path, &private, &environment);
        Ok(Shell {
            guard: own_guard()?,
            lock: project.runs().join("landing.lock"),
            inherits_environment: false,
            environment: environment.into_iter().map(|(name, value)| (name, Some(value))).collect(),
            timeout: settings.validate.timeout.0.into(),
            wall: wall.with(&wall_rules(&settings.wall, project.root())),
        })
    }
}

/// Converts a failed check to an error with its output.
fn red(fault: Fault) -> Error {
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
