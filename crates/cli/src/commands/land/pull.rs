//! Opening a pull request through the ledger: its intent is on disk before anything is sent, it is
//! looked up when its answer was lost, and the same one is never opened twice.

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

/// What the key of every pull request begins with.
const KEY: &str = "github.pr ";

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Opened {
    /// Where it is; empty where a person only said that it is there.
    pub(super) url: String,
    /// It was there already: we opened it before.
    pub(super) before: bool,
}

/// Opens it, or says where it is: from `seat` where somebody has taken one, or from one of our own.
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
        // What was written down is what is asked for, whatever has been done since.
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
        // Somebody else opened it meanwhile, in other words.
        Err(Undecided::KeyReused(_)) => {
            let known = self::known(project, store.as_ref(), &key).await?;
            known.as_ref().and_then(opened_before).ok_or_else(unsettled)
        }
        Err(Undecided::Store(fault)) => Err(Error::Fault(fault.clone())),
        Err(_) => Err(unsettled()),
    }
}

/// Whether we have opened it before.
pub(super) async fn is_open(
    project: &Project,
    store: &dyn Store,
    wanted: &PullRequest,
) -> Result<bool, Error> {
    let known = known(project, store, &key(wanted)).await?;
    Ok(known.as_ref().and_then(opened_before).is_some())
}

/// The pull request that was opened from a branch: where it is, which is empty where a person only
/// said that it is there.
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

/// One pull request from a branch to another at one place.
fn key(wanted: &PullRequest) -> String {
    let head = wanted.head.as_deref().unwrap_or_default();
    format!("{KEY}{} {head} {}", wanted.repository, wanted.base)
}

/// The job that opens it, which is called like its action.
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

/// What is written down about it.
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

/// Nothing is kept to look it up with: whoever asks for it does that.
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

/// How it is opened and looked up.
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
