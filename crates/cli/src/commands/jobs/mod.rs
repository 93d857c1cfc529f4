//! `unstuck jobs`: manages and runs scheduled scripts.

mod add;
mod defined;
mod history;
mod hold;
mod list;
mod run;
mod say;
mod told;
mod watch;
mod watcher;

use std::path::Path;

pub(super) use defined::{ConfiguredJobs, find_job_rows};
pub(super) use say::{JobProcesses, render_job_state, render_needed_action};
pub(super) use told::list_job_states;
pub(super) use watch::{JobWatcher, WatchOutputMode};
pub(super) use watcher::{find_watcher as current_watcher, wait_until_gone as watcher_gone};

use crate::args::{JobsArgs, JobsCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::LocalProject;
use crate::render::Terminal;

pub(crate) fn run(
    args: &JobsArgs,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let project = LocalProject::find(dir)?;
    match &args.command {
        None if args.watch => watch::run(&project, args.json),
        None => list::run(&project, args.json, terminal),
        Some(JobsCommand::List { json }) => list::run(&project, *json, terminal),
        Some(JobsCommand::Add(job)) => add::run(&project, job, terminal),
        Some(JobsCommand::Run { name, max_wait, quiet, json }) => {
            let saying = run::message_format(*json, *quiet);
            run::run(&project, name, *max_wait, saying)
        }
        Some(JobsCommand::Pause { name, json }) => hold::run(dir, name, true, *json, terminal),
        Some(JobsCommand::Resume { name, json }) => hold::run(dir, name, false, *json, terminal),
        Some(JobsCommand::History { name, json }) => history::run(&project, name, *json, terminal),
    }
}
