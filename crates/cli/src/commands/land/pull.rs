//! Opens a pull request through the ledger: its intent is durable before anything is sent, it is looked up
//! if its response was lost, and the same one is never opened twice.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use unstuck_core::engine::Outcome;
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::plan::{Call, JobSpec, MutationSpec, PullRequest, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_runner::{Action, Prober, Results, Settled, Undecided};
use unstuck_store::Store;
use unstuck_store::tables::{MutationRow, MutationStatus};
use unstuck_world::connector::{Connector, Credentials};

use crate::build::redactor;
use crate::commands::jobs;
use crate::error::{Error, LandError};
use crate::project::once::{self, Once, Patience};
use crate::project::{self, Project, Seat};

/// The prefix of the idempotency key of every pull request.
const KEY: &str = "github.pr ";

/// An open pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Opened {
    /// The address; empty if a person only confirmed that it exists.
    pub(super) url: String,
    /// Set if Unstuck had opened it before.
    pub(super) before: bool,
}

/// Opens the pull request, or returns the existing one: from `seat` if given, or else from a seat of its
/// own.
pub(super) async fn open(
    project: &Project,
    store: &Arc<dyn Store>,
    seat: Option<&Seat>,
    (wanted, credentials): (PullRequest, Credentials),
) -> Result<Opened, Error> {
    let key = key(&wanted);
    let known = known(project, store.as_ref(), &key).await?;
    if let Some(opened) = known.as_ref().and_then(opened_before) {
        return Ok(opened);
    }
    let connector = Connector::new(credentials)?;
    let spec = match known {
        // The recorded request is repeated, whatever has been done since.
        Some(row) => MutationSpec::clone(&row.spec),
        None => {
            let spec = MutationSpec::calling(&*key, Call::PullRequest(wanted.clone()));
            MutationSpec { permanent: true, ..spec }
        }
    };
    let Some(Call::PullRequest(kept)) = spec.call.as_deref() else { return Err(unsettled()) };
    let action = Arc::new(Pull { connector, wanted: kept.clone() });
    let job = job(&key, &wanted);
    let once = Once { verb: "land", job, spec, action, prober: prober(project)? };
    let came = match seat {
        Some(seat) => once::perform_at(seat, project, once).await?,
        None => {
            let patience = Patience::default();
            once::perform(project, once, |_| {}, &patience).await?.ok_or_else(unsettled)?
        }
    };
    match &*came {
        Ok(Settled::Applied(url)) => Ok(Opened { url: url.to_string(), before: false }),
        Ok(Settled::Failed(fault)) => Err(Error::Fault(Box::new(Fault::clone(fault)))),
        Ok(Settled::Skipped) => Err(LandError::PullRequestLeftOut.into()),
        Ok(Settled::NeedsPerson) => Err(LandError::PullRequestUnknown.into()),
        // Another process has opened it meanwhile, with other arguments.
        Err(Undecided::KeyReused(_)) => {
            let known = self::known(project, store.as_ref(), &key).await?;
            known.as_ref().and_then(opened_before).ok_or_else(unsettled)
        }
        Err(Undecided::Store(fault)) => Err(Error::Fault(fault.clone())),
        Err(_) => Err(unsettled()),
    }
}

/// Returns whether Unstuck has opened the pull request before.
pub(super) async fn is_open(
    project: &Project,
    store: &dyn Store,
    wanted: &PullRequest,
) -> Result<bool, Error> {
    let known = known(project, store, &key(wanted)).await?;
    Ok(known.as_ref().and_then(opened_before).is_some())
}

/// Returns the address of the pull request that was opened from a branch; empty if a person only confirmed
/// that it exists.
pub(super) async fn opened_from(
    project: &Project,
    store: &dyn Store,
    branch: &str,
) -> Result<Option<String>, Error> {
    for (name, job) in jobs::find_rows(store, project.name()).await? {
        if name.split(' ').nth(2).is_none_or(|head| head != branch) || !name.starts_with(KEY) {
            continue;
        }
        let all = store.mutations(project.name(), job.id).await?;
        if let Some(opened) = all.iter().find_map(opened_before) {
            return Ok(Some(opened.url));
        }
    }
    Ok(None)
}

/// Returns the idempotency key: one pull request per repository, head and base.
fn key(wanted: &PullRequest) -> String {
    let head = wanted.head.as_deref().unwrap_or_default();
    format!("{KEY}{} {head} {}", wanted.repository, wanted.base)
}

/// Returns the job that opens the pull request, named after the action.
fn job(key: &str, wanted: &PullRequest) -> TaskSpec {
    let head = wanted.head.as_deref().unwrap_or_default();
    TaskSpec {
        name: key.to_owned(),
        title: "Open a pull request".to_owned(),
        goal: format!("Open a pull request from {head} to {}.", wanted.base),
        job: Some(JobSpec { one_action: true, ..JobSpec::default() }),
        overrides: Overrides { repairs: Some(0), ..Overrides::default() },
        ..TaskSpec::default()
    }
}

/// Returns the recorded action.
async fn known(
    project: &Project,
    store: &dyn Store,
    key: &str,
) -> Result<Option<MutationRow>, Error> {
    let Some(job) = jobs::find_rows(store, project.name()).await?.remove(key) else {
        return Ok(None);
    };
    let all = store.mutations(project.name(), job.id).await?;
    Ok(all.into_iter().find(|row| row.spec.key == key))
}

fn opened_before(row: &MutationRow) -> Option<Opened> {
    let is_open = row.status == MutationStatus::Applied;
    is_open.then(|| Opened { url: row.result.to_string(), before: true })
}

/// Returns the prober, which has no stored command to run: the caller of `open` does the lookup.
fn prober(project: &Project) -> Result<Prober, Error> {
    Ok(Prober {
        guard: project::own_guard()?,
        runs: project.runs(),
        directory: project.root().to_owned(),
        results: Results::new(project.results()),
        redactor: redactor(project),
    })
}

fn unsettled() -> Error {
    let context = Internal { component: "ledger".to_owned() };
    Fault::internal_error("land", "the pull request came to no end", context).into()
}

/// The action that opens a pull request and looks it up.
struct Pull {
    connector: Connector,
    wanted: PullRequest,
}

impl Pull {
    fn head(&self) -> &str {
        self.wanted.head.as_deref().unwrap_or_default()
    }
}

#[async_trait]
impl Action for Pull {
    async fn call(&self, _idempotency_key: &str) -> Outcome {
        self.connector.open_pull_request(&self.wanted, self.head()).await
    }

    async fn probe(&self, _idempotency_key: &str) -> Outcome {
        self.connector.look_up_pull_request(&self.wanted, self.head()).await
    }
}
