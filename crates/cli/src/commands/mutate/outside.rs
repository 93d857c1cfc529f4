//! Actions outside any run: the action is a job of its own in the project.

use std::sync::Arc;

use unstuck_core::plan::{JobSpec, MutationSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_runner::{ActionProber, ResultFiles};

use super::action::CommandAction;
use super::inside::MutateOutcome;
use crate::build::project_redactor;
use crate::error::CliError;
use crate::project::{LocalProject, once};

pub(super) async fn settle_outside(
    project: &LocalProject,
    spec: MutationSpec,
    action: &Arc<CommandAction>,
    patience: &once::ActionWait,
) -> Result<MutateOutcome, CliError> {
    let launch = action.create_launch();
    let prober = ActionProber {
        guard: launch.guard.clone(),
        runs: project.runs_folder(),
        directory: launch.directory.clone(),
        results: ResultFiles::new(project.results_folder()),
        redactor: project_redactor(project),
    };
    let job = TaskSpec {
        name: format!("mutate {}", spec.key),
        title: spec.key.clone(),
        goal: format!("Do {:?} once.", spec.key),
        job: Some(JobSpec { one_action: true, ..JobSpec::default() }),
        overrides: Overrides { repairs: Some(0), ..Overrides::default() },
        ..TaskSpec::default()
    };
    let wanted =
        once::SingleAction { verb: "mutate", job, spec, action: Arc::clone(action) as _, prober };
    let came = once::perform_once(project, wanted, |task| action.set_task(task), patience).await?;
    Ok(came.map_or(MutateOutcome::GivenUp, MutateOutcome::Settled))
}
