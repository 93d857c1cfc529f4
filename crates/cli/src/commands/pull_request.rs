//! Opens a pull request through the ledger: its intent is durable before anything is sent, it is looked up
//! if its response was lost, and the same one is never opened twice.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use unstuck_core::engine::{BuildId, EffectOutcome};
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::plan::{Call, MutationSpec, PullRequest, TaskSpec};
use unstuck_runner::{ActionResult, DecideError, LedgerAction};
use unstuck_store::Store;
use unstuck_store::tables::{MutationRow, MutationStatus};
use unstuck_world::connector::{Connector, Credentials};

use super::jobs;
use crate::error::{CliError, LandError};
use crate::project::once::{self, ActionWait, SingleAction};
use crate::project::{self, LocalProject, ProjectSession};

/// The prefix of the idempotency key of every pull request.
const KEY: &str = "github.pr ";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct OpenPullRequest {
    /// The address; empty if a person only confirmed that it exists.
    pub(super) url: String,
    /// Set if Unstuck had opened it before.
    pub(super) before: bool,
}

/// Opens the pull request, or returns the existing one: in `session` if given, or else in a session of its
/// own.
pub(super) async fn open_or_find(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    session: Option<&ProjectSession>,
    (wanted, credentials): (PullRequest, Credentials),
) -> Result<OpenPullRequest, CliError> {
    let key = request_key(&wanted);
    let known = load_action(project, store.as_ref(), &key).await?;
    if let Some(opened) = known.as_ref().and_then(to_open_request) {
        return Ok(opened);
    }
    let connector = Connector::new(credentials)?;
    let spec = match known {
        // The recorded request is repeated, whatever has been done since.
        Some(row) => MutationSpec::clone(&row.spec),
        None => {
            let spec = MutationSpec::from_call(&*key, Call::PullRequest(wanted.clone()));
            MutationSpec { permanent: true, ..spec }
        }
    };
    let Some(Call::PullRequest(kept)) = spec.call.as_deref() else { return Err(unsettled_error()) };
    let action = Arc::new(PullRequestAction { connector, wanted: kept.clone() });
    let job = request_job(&key, &wanted);
    // The action does the lookup itself: there is no stored command.
    let prober = once::create_prober(project, project::own_guard()?, project.root().to_owned());
    let once = SingleAction { verb: "land", job, spec, action, prober };
    let came = match session {
        Some(session) => once::perform_in_session(session, project, once).await?,
        None => {
            let patience = ActionWait::default();
            once::perform_once(project, once, |_| {}, &patience)
                .await?
                .ok_or_else(unsettled_error)?
        }
    };
    match &*came {
        Ok(ActionResult::Applied(url)) => {
            Ok(OpenPullRequest { url: url.to_string(), before: false })
        }
        Ok(ActionResult::Failed(fault)) => Err(CliError::Fault(Box::new(Fault::clone(fault)))),
        Ok(ActionResult::Skipped) => Err(LandError::PullRequestLeftOut.into()),
        Ok(ActionResult::NeedsPerson) => Err(LandError::PullRequestUnknown.into()),
        // Another process has opened it meanwhile, with other arguments.
        Err(DecideError::KeyReused(_)) => {
            let known = load_action(project, store.as_ref(), &key).await?;
            known.as_ref().and_then(to_open_request).ok_or_else(unsettled_error)
        }
        Err(DecideError::Store(fault)) => Err(CliError::Fault(fault.clone())),
        Err(_) => Err(unsettled_error()),
    }
}

/// Returns whether Unstuck has opened the pull request before.
pub(super) async fn is_open(
    project: &LocalProject,
    store: &dyn Store,
    wanted: &PullRequest,
) -> Result<bool, CliError> {
    let known = load_action(project, store, &request_key(wanted)).await?;
    Ok(known.as_ref().and_then(to_open_request).is_some())
}

/// Returns the address of the pull request that was opened for a build; empty if a person only confirmed
/// that it exists.
pub(super) async fn find_for_build(
    project: &LocalProject,
    store: &dyn Store,
    build: BuildId,
) -> Result<Option<String>, CliError> {
    let branch = format!("unstuck/{build}");
    for (name, job) in jobs::find_job_rows(store, project.name()).await? {
        if name.split(' ').nth(2).is_none_or(|head| head != branch) || !name.starts_with(KEY) {
            continue;
        }
        let all = store.load_task_mutations(project.name(), job.id).await?;
        if let Some(opened) = all.iter().find_map(to_open_request) {
            return Ok(Some(opened.url));
        }
    }
    Ok(None)
}

/// Returns the idempotency key: one pull request per repository, head and base.
fn request_key(wanted: &PullRequest) -> String {
    let head = wanted.head.as_deref().unwrap_or_default();
    format!("{KEY}{} {head} {}", wanted.repository, wanted.base)
}

/// Returns the job that opens the pull request, named after the action.
fn request_job(key: &str, wanted: &PullRequest) -> TaskSpec {
    let head = wanted.head.as_deref().unwrap_or_default();
    let goal = format!("Open a pull request from {head} to {}.", wanted.base);
    once::action_job(key.to_owned(), "Open a pull request".to_owned(), goal)
}

async fn load_action(
    project: &LocalProject,
    store: &dyn Store,
    key: &str,
) -> Result<Option<MutationRow>, CliError> {
    let Some(job) = jobs::find_job_rows(store, project.name()).await?.remove(key) else {
        return Ok(None);
    };
    let all = store.load_task_mutations(project.name(), job.id).await?;
    // An earlier one of this key did not happen.
    Ok(all.into_iter().rfind(|row| row.spec.key == key))
}

fn to_open_request(row: &MutationRow) -> Option<OpenPullRequest> {
    let is_open = row.status == MutationStatus::Applied;
    is_open.then(|| OpenPullRequest { url: row.result.to_string(), before: true })
}

fn unsettled_error() -> CliError {
    let context = Internal { component: "ledger".to_owned() };
    Fault::internal_error("land", "the pull request came to no end", context).into()
}

struct PullRequestAction {
    connector: Connector,
    wanted: PullRequest,
}

impl PullRequestAction {
    fn head_branch(&self) -> &str {
        self.wanted.head.as_deref().unwrap_or_default()
    }
}

#[async_trait]
impl LedgerAction for PullRequestAction {
    async fn perform_call(&self, _idempotency_key: &str) -> EffectOutcome {
        self.connector.perform_pull_request(&self.wanted, self.head_branch()).await
    }

    async fn probe_outcome(&self, _idempotency_key: &str) -> EffectOutcome {
        self.connector.probe_pull_request(&self.wanted, self.head_branch()).await
    }
}
