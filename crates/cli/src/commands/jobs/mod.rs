//! `unstuck jobs`: manages and runs scheduled scripts.

mod add;
mod defined;
mod history;
mod run;
mod state;
mod watch;

use std::sync::Arc;

use clap::Subcommand;
use unstuck_core::engine::{Command, TaskId};
use unstuck_core::time::Span;

use self::defined::job_spec;
pub(super) use self::defined::{ConfiguredJobs, find_job_rows};
pub(super) use self::state::{
    JobProcesses, list_job_states, render_job_state, render_needed_action,
};
pub(super) use self::watch::{JobWatcher, find_watcher, wait_until_watcher_gone};
use super::control::ControlSession;
use super::exec::MessageFormat;
use crate::args::{parse_span, parse_time_limit};
use crate::context::CommandContext;
use crate::error::{CliError, JobsError};
use crate::exit::Exit;
use crate::project::project_redactor;

/// Run scripts on a schedule and keep them alive
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Jobs are scripts that run on a schedule and are kept alive as `unstuck exec` \
        does: a temporary failure is waited out, and one that needs a person becomes a question. \
        They are defined in unstuck.toml as `[[job]]`, or in files of their own in jobs/.\n\n\
        `unstuck jobs` lists them, `unstuck jobs --watch` runs them on schedule until it is \
        interrupted.",
    after_long_help = JOBS_EXAMPLES,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct JobsArgs {
    /// What to do; without it, lists the jobs
    #[command(subcommand)]
    command: Option<JobsCommand>,

    /// Run the jobs on schedule until interrupted
    #[arg(long)]
    watch: bool,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// What can be done with jobs.
#[derive(Debug, Subcommand)]
enum JobsCommand {
    /// List the jobs and their next run times
    List {
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a job to the settings
    Add(AddJobArgs),
    /// Run a job now
    Run {
        /// Its name
        name: String,
        /// Stop waiting for an answer or a limited service after this time; 0 does not wait at all
        #[arg(long, value_name = "TIME", value_parser = parse_span)]
        max_wait: Option<Span>,
        /// Print only errors and questions
        #[arg(short, long)]
        quiet: bool,
        /// Write events to standard error, one JSON object per line
        #[arg(long, conflicts_with = "quiet")]
        json: bool,
    },
    /// Pause a job: skip its scheduled runs
    Pause {
        /// Its name
        name: String,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Resume a paused job
    Resume {
        /// Its name
        name: String,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the past runs of a job with every attempt
    History {
        /// Its name
        name: String,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
}

/// A job to be added.
#[derive(Debug, clap::Args)]
struct AddJobArgs {
    /// The name of the job: letters, digits, `-`, `_` and `.`
    name: String,

    /// The schedule: "every 5 minutes", 2h, or a cron line; without it, the job runs only on request
    #[arg(long, value_name = "WHEN")]
    schedule: Option<String>,

    /// The time zone of the schedule, such as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,

    /// End the command after this time and try again: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_time_limit)]
    timeout: Option<Span>,

    /// A description of the job
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,

    /// Write the job to jobs/NAME.md instead of unstuck.toml
    #[arg(long)]
    file: bool,

    /// The command and its arguments; a single argument is a shell command line
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const JOBS_EXAMPLES: &str = "\
Examples:
  unstuck jobs add mail --schedule 'every 5 minutes' -- ./sync-mail.sh
  unstuck jobs                       list the jobs and their next run times
  unstuck jobs --watch               run them on schedule
  unstuck jobs run mail              run one now
  unstuck jobs pause mail            skip its scheduled runs until `unstuck jobs resume mail`
  unstuck jobs history mail          its past runs with every attempt

Exit codes of `jobs run`: as of `unstuck exec`.";

pub(crate) fn run(args: &JobsArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let terminal = context.terminal;
    match &args.command {
        None if args.watch => watch::run(&project, args.json),
        None => state::write_list(&project, args.json, terminal),
        Some(JobsCommand::List { json }) => state::write_list(&project, *json, terminal),
        Some(JobsCommand::Add(job)) => add::run(&project, job, terminal),
        Some(JobsCommand::Run { name, max_wait, quiet, json }) => {
            let saying = MessageFormat::new(*json, *quiet);
            run::run(&project, name, *max_wait, saying)
        }
        Some(JobsCommand::Pause { name, json }) => set_held(context, name, true, *json),
        Some(JobsCommand::Resume { name, json }) => set_held(context, name, false, *json),
        Some(JobsCommand::History { name, json }) => history::run(&project, name, *json, terminal),
    }
}

/// Suspends the schedule of a job, or resumes it.
fn set_held(
    context: CommandContext<'_>,
    name: &str,
    hold: bool,
    json: bool,
) -> Result<Exit, CliError> {
    // A job may be paused before anything was ever run.
    context.find_project()?.open_or_create_store()?;
    let verb = if hold { "pause" } else { "resume" };
    ControlSession::run(context, verb, json, async |control| {
        let task = find_or_define_task(control, name).await?;
        let command = if hold { Command::HoldJob { task } } else { Command::ReleaseJob { task } };
        let sent = control.submit_command(command, "").await?;
        let said = match (hold, sent.events.is_empty()) {
            (true, false) => format!("“{name}” is paused. `unstuck jobs resume {name}` ends that."),
            (true, true) => format!("“{name}” is paused already."),
            (false, false) => format!("“{name}” runs on its schedule again."),
            (false, true) => format!("“{name}” is not paused."),
        };
        control.write_result(&sent, &said)
    })
}

/// Returns the job of the settings, or one that only `exec` has defined.
async fn find_or_define_task(control: &ControlSession<'_>, name: &str) -> Result<TaskId, CliError> {
    let find = || find_job_rows(control.store.as_ref(), control.project.name());
    if let Some(row) = find().await?.get(name) {
        return Ok(row.id);
    }
    let defined = ConfiguredJobs::from_project(&control.project)?;
    let spec = Arc::new(job_spec(defined.find(name)?, &project_redactor(&control.project)));
    control.submit_command(Command::DefineJob { spec }, "").await?;
    let row = find().await?.remove(name);
    row.map(|row| row.id)
        .ok_or_else(|| JobsError::NoSuchJob { name: name.to_owned(), near: Vec::new() }.into())
}
