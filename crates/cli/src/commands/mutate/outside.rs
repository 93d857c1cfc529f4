//! Actions outside any run: the action is a job of its own in the project.

use std::sync::Arc;

use unstuck_core::plan::{JobSpec, MutationSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_runner::{Prober, Results};

use super::action::CommandAction;
use super::inside::Came;
use crate::build::redactor;
use crate::error::Error;
use crate::project::{Project, once};

pub(super) async fn settle(
    project: &Project,
    spec: MutationSpec,
    action: &Arc<CommandAction>,
    patience: &once::Patience,
) -> Result<Came, Error> {
    let launch = action.launch();
    let prober = Prober {
        guard: launch.guard.clone(),
        runs: project.runs(),
        directory: launch.directory.clone(),
        results: Results::new(project.results()),
        redactor: redactor(project),
    };
    let job = TaskSpec {
        name: format!("mutate {}", spec.key),
        title: spec.key.clone(),
        goal: format!("Do {:?} once.", spec.key),
        job: Some(JobSpec { one_action: true, ..JobSpec::default() }),
        overrides: Overrides { repairs: Some(0), ..Overrides::default() },
        ..TaskSpec::default()
    };
    let wanted = once::Once { verb: "mutate", job, spec, action: Arc::clone(action) as _, prober };
    let came = once::perform(project, wanted, |task| action.belongs_to(task), patience).await?;
    Ok(came.map_or(Came::GivenUp, Came::Settled))
}
