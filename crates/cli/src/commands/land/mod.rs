//! `unstuck land`: brings the result of a build into the operator's branch.
//!
//! The result is computed first, without touching a file. The operator's tree then moves to one complete
//! commit, or stays unchanged.

mod bring;
mod coming;
mod page;
mod pull;
mod ready;
mod request;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{BuildId, TaskState};
use unstuck_core::plan::PullRequest;
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;
use unstuck_world::connector::Credentials;

use crate::args::Land;
use crate::error::{Error, LandError};
use crate::exit::Exit;
use crate::project::{self, Project, Seat, which};
use crate::render::stand::needed_no_change;
use crate::render::{self, Terminal};

use self::bring::How;
use self::coming::{Coming, Found, HEADS};

pub(crate) fn run(args: &Land, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let store = project.store()?;
    let coming = project::runtime()?.block_on(async {
        let build = which::any_build(store.as_ref(), project.name(), args.build).await?;
        let mut coming = Coming::find(project.root(), &build).await?;
        if coming.commits.is_empty() {
            let tasks = store.tasks(project.name(), build.id).await?;
            let is_done = |row: &TaskRow| row.moved.state == TaskState::Done;
            coming.has_work = tasks.iter().any(|row| is_done(row) && !needed_no_change(row));
        }
        let how = match (args.merge, args.rebase) {
            (true, _) => Some(How::Merge),
            (_, true) => Some(How::Rebase),
            _ => None,
        };
        if let Some(how) = how {
            bring::bring(&mut coming, how).await?;
        } else if !coming.commits.is_empty() {
            coming.hindrance = bring::hindrance(&coming).await?.map(|error| error.to_string());
        }
        if args.pr
            && let Some(asked) = send(&project, &store, &coming).await?
        {
            coming.pull_request = Some(pull::open(&project, &store, None, asked).await?);
        }
        Ok::<_, Error>(coming)
    })?;
    let mut out = terminal.styled();
    if args.json {
        render::json(&mut out, &coming)?;
    } else {
        page::write(&mut out, &coming, terminal.width())?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Returns the address of a build's pull request, if one was opened.
pub(crate) async fn opened_pull_request(
    project: &Project,
    store: &dyn Store,
    build: BuildId,
) -> Result<Option<String>, Error> {
    pull::opened_from(project, store, &format!("unstuck/{build}")).await
}

/// Opens the pull request of a build that has just ended; returns `None` if there is no commit.
pub(crate) async fn pull_request(
    project: &Project,
    store: &Arc<dyn Store>,
    seat: &Seat,
    build: BuildId,
) -> Result<Option<String>, Error> {
    let build = which::any_build(store.as_ref(), project.name(), Some(build)).await?;
    let coming = match Coming::find(project.root(), &build).await {
        // A build in place has its commits on the operator's branch already.
        Err(Error::Land(LandError::NoBranch { .. })) => return Ok(None),
        found => found?,
    };
    match send(project, store, &coming).await? {
        Some(asked) => {
            let opened = pull::open(project, store, Some(seat), asked).await?;
            Ok(Some(opened.url))
        }
        None => Ok(None),
    }
}

/// Checks the result and pushes its branch; returns the pull request to open.
async fn send(
    project: &Project,
    store: &Arc<dyn Store>,
    coming: &Coming,
) -> Result<Option<(PullRequest, Credentials)>, Error> {
    if coming.commits.is_empty() {
        return Ok(None);
    }
    let resolved = project.settings()?;
    let settings = &resolved.settings;
    let token = request::token(&settings.github)?;
    let wanted = request::wanted(project, store.as_ref(), settings, coming).await?;
    let Found { git, tip, .. } = &coming.found;
    let remote = &settings.run.remote;
    let branch = format!("{HEADS}{}", coming.branch);
    let is_sent = git.ls_remote(remote, &branch).await?.as_ref() == Some(tip);
    // An open pull request for this very commit was checked before it was opened.
    if !is_sent || !pull::is_open(project, store.as_ref(), &wanted).await? {
        ready::pass(project, settings, git, tip).await?;
    }
    if !is_sent {
        git.push_with_hook(remote, tip, &branch).await?;
    }
    Ok(Some((wanted, [(settings.github.token_env.clone(), token)].into())))
}
