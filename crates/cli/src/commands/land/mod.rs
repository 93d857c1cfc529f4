//! `unstuck land`: brings the result of a build into the operator's branch.
//!
//! The result is computed first, without touching a file. The operator's tree then moves to one complete
//! commit, or stays unchanged.

mod bring;
mod marks;
mod plan;
mod request;

use std::sync::Arc;

use unstuck_core::engine::{BuildId, TaskState};
use unstuck_core::plan::PullRequest;
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;
use unstuck_world::connector::Credentials;

use self::bring::LandMethod;
use self::plan::{HEADS, LandingPlan, LandingSource};
use super::pull_request;
use crate::args::parse_build_id;
use crate::context::CommandContext;
use crate::error::{CliError, LandError};
use crate::exit::Exit;
use crate::project::{self, LocalProject, ProjectSession, which};
use crate::render::stand::needed_no_change;

/// Bring the work of a build into your branch
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Shows what a build would bring to your current branch: its commits, the files \
        they change, and whether they apply. With --merge or --rebase it brings them. Your branch, \
        its index and its files change only if everything applies and you have no uncommitted \
        changes other than check marks; otherwise nothing is changed at all. The build's own branch stays as it is.\n\n\
        With --pr nothing of yours is changed: the build's branch is checked with \
        `validate.pre_push` and `validate.pre_pr`, pushed to `run.remote`, and a pull request is \
        opened with the token in the variable that `github.token_env` names. If you run it again, \
        it pushes what is new and prints where the pull request is.",
    after_long_help = LAND_EXAMPLES
)]
#[expect(clippy::struct_excessive_bools, reason = "each of them is a flag of its own")]
pub(crate) struct LandArgs {
    /// The build, such as `7` or `b7`; default: the newest one
    #[arg(value_name = "BUILD", value_parser = parse_build_id)]
    build: Option<BuildId>,

    /// Fast-forward your branch, or create a merge commit
    #[arg(long)]
    merge: bool,

    /// Put the commits of the build on top of yours, one by one
    #[arg(long, conflicts_with = "merge")]
    rebase: bool,

    /// Push the build's branch and open a pull request against your branch, or update it
    #[arg(long, conflicts_with_all = ["merge", "rebase"])]
    pr: bool,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

const LAND_EXAMPLES: &str = "\
Examples:
  unstuck land                       what the newest build would bring
  unstuck land --merge               merge it
  unstuck land b7 --rebase           put its commits on top of yours
  unstuck land --pr                  open a pull request instead";

pub(crate) fn run(args: &LandArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let store = project.open_store()?;
    let coming = project::create_runtime()?.block_on(async {
        let build = which::find_build(store.as_ref(), project.name(), args.build).await?;
        let mut coming = LandingPlan::find(project.root(), &build).await?;
        if coming.commits.is_empty() {
            let tasks = store.load_build_tasks(project.name(), build.id).await?;
            let is_done = |row: &TaskRow| row.moved.state == TaskState::Done;
            coming.has_work = tasks.iter().any(|row| is_done(row) && !needed_no_change(row));
        }
        let how = match (args.merge, args.rebase) {
            (true, _) => Some(LandMethod::Merge),
            (_, true) => Some(LandMethod::Rebase),
            _ => None,
        };
        if let Some(how) = how {
            bring::land_build(&mut coming, how).await?;
        } else if !coming.commits.is_empty() {
            coming.hindrance = bring::find_hindrance(&coming).await?.map(|error| error.to_string());
        }
        if args.pr
            && let Some(asked) = push_result(&project, &store, &coming).await?
        {
            coming.pull_request =
                Some(pull_request::open_or_find(&project, &store, None, asked).await?);
        }
        Ok::<_, CliError>(coming)
    })?;
    let width = context.terminal.width();
    context
        .terminal
        .write_result(args.json, &coming, |out| plan::write_page(out, &coming, width))?;
    Ok(Exit::Done)
}

/// Opens the pull request of a build that has just ended; returns `None` if there is no commit.
pub(crate) async fn open_pull_request(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    session: &ProjectSession,
    build: BuildId,
) -> Result<Option<String>, CliError> {
    let build = which::find_build(store.as_ref(), project.name(), Some(build)).await?;
    let coming = match LandingPlan::find(project.root(), &build).await {
        // A build in place has its commits on the operator's branch already.
        Err(CliError::Land(LandError::NoBranch { .. } | LandError::BranchGone { .. })) => {
            return Ok(None);
        }
        found => found?,
    };
    match push_result(project, store, &coming).await? {
        Some(asked) => {
            let opened = pull_request::open_or_find(project, store, Some(session), asked).await?;
            Ok(Some(opened.url))
        }
        None => Ok(None),
    }
}

/// Checks the result and pushes its branch; returns the pull request to open.
async fn push_result(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    coming: &LandingPlan,
) -> Result<Option<(PullRequest, Credentials)>, CliError> {
    if coming.commits.is_empty() {
        return Ok(None);
    }
    let resolved = project.settings()?;
    let settings = &resolved.settings;
    let token = request::find_token(&settings.github)?;
    let wanted = request::compose_request(project, store.as_ref(), settings, coming).await?;
    let LandingSource { git, tip, .. } = &coming.found;
    let remote = &settings.run.remote;
    let branch = format!("{HEADS}{}", coming.branch);
    let is_sent = git.query_remote_ref(remote, &branch).await?.as_ref() == Some(tip);
    // An open pull request for this very commit was checked before it was opened.
    if !is_sent || !pull_request::is_open(project, store.as_ref(), &wanted).await? {
        request::require_green(project, settings, &coming.found).await?;
    }
    if !is_sent {
        git.push_with_hook(remote, tip, &branch).await?;
    }
    Ok(Some((wanted, [(settings.github.token_env.clone(), token)].into())))
}
