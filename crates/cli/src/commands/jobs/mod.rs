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

pub(super) use defined::{Defined, find_rows};
pub(super) use say::{Present, needs, standing};
pub(super) use told::told;
pub(super) use watch::{Voice, Watch};
pub(super) use watcher::{current as current_watcher, gone as watcher_gone};

use crate::args::{Jobs, JobsCommand};
use crate::error::Error;
use crate::exit::Exit;
use crate::project::Project;
use crate::render::Terminal;

pub(crate) fn run(args: &Jobs, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    match &args.command {
        None if args.watch => watch::run(&project, args.json),
        None => list::run(&project, args.json, terminal),
        Some(JobsCommand::List { json }) => list::run(&project, *json, terminal),
        Some(JobsCommand::Add(job)) => add::run(&project, job, terminal),
        Some(JobsCommand::Run { name, max_wait, quiet, json }) => {
            let saying = run::saying(*json, *quiet);
            run::run(&project, name, *max_wait, saying)
        }
        Some(JobsCommand::Pause { name, json }) => hold::run(dir, name, true, *json, terminal),
        Some(JobsCommand::Resume { name, json }) => hold::run(dir, name, false, *json, terminal),
        Some(JobsCommand::History { name, json }) => history::run(&project, name, *json, terminal),
    }
}
