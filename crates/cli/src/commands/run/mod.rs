//! `unstuck run`: performs tasks as a build, with commits as results and questions to a person.
//! `unstuck resume`: continues unfinished builds.

mod board;
mod ending;
mod follow;
mod live;
mod own_tree;
mod show;
mod work;

use std::io::{self, Write};
use std::sync::Arc;

use serde::Serialize;
use unstuck_core::engine::{BuildState, Command, PauseCause};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_core::time::Span;
use unstuck_store::Store;
use unstuck_store::tables::BuildRow;

use self::work::RunWork;
use super::builds::{BuildWorkers, find_tasks, leave_out_begun, load_open_builds, load_options};
use crate::args::{ConfigFileArgs, parse_cost_limit, parse_span, parse_time_of_day};
use crate::context::CommandContext;
use crate::error::{CliError, TasksError};
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::style::{DIM, TITLE};
use crate::render::{self, Terminal, words};
use crate::settings::{
    IN_PLACE, MAX_COST, Money, Provider, ResolvedSettings, load_with_options, stored_options,
};

/// Run tasks from files, a folder, a plan or a quoted goal
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Runs tasks with an agent, each in a worktree and on a branch of its own. Unstuck \
        checks what an agent did: the paths it changed, and your checks. Work that passes is \
        committed to the build's branch; your own tree is not touched. A failure gets a code: a \
        temporary one is waited out, any other is tried again with a different approach, and when \
        that does not help you are asked one question while everything else continues.\n\n\
        Tasks are Markdown files, a folder of them, one plan with `- [ ]` items, or a goal in \
        quotes. Without any, `tasks/` or `.ai/tasks/` of the project is used.\n\n\
        Every step is recorded on disk before it happens. After a crash or Ctrl-C, `unstuck \
        resume` continues.",
    after_long_help = RUN_EXAMPLES
)]
pub(crate) struct RunArgs {
    /// Task files, a folder, a plan, or a goal in quotes
    #[arg(value_name = "TASKS")]
    work: Vec<String>,

    /// Number of tasks worked on at the same time
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,

    /// The agent that works on the tasks
    #[arg(long, value_name = "NAME")]
    provider: Option<Provider>,

    /// The model to use
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// The maximum cost of the build, such as 5 or $5
    #[arg(long, value_name = "MONEY", value_parser = parse_cost_limit)]
    max_cost: Option<Money>,

    /// Work in your own working tree, which must be clean
    #[arg(long)]
    in_place: bool,

    /// Show what would be done without doing it
    #[arg(long = "dry-run")]
    dry: bool,

    /// Run in the background
    #[arg(long, conflicts_with = "dry")]
    detach: bool,

    #[command(flatten)]
    follow: FollowArgs,
}

/// Resume unfinished builds
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Resumes every unfinished build of the project: after a crash, a reboot, Ctrl-C \
        or `unstuck pause`. Answers that were given meanwhile count. Actions that were in flight \
        are checked first and not performed twice.",
    after_long_help = RESUME_EXAMPLES
)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    follow: FollowArgs,
}

/// How a build is followed.
#[derive(Debug, clap::Args)]
struct FollowArgs {
    /// Pause at this time of day, such as 07:00
    #[arg(long, value_name = "TIME", value_parser = parse_time_of_day)]
    until: Option<jiff::civil::Time>,

    /// Exit when all remaining work has waited for this long; 0 does not wait at all
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    max_wait: Option<Span>,

    /// Write each event as a line of JSON
    #[arg(long)]
    json: bool,

    /// Print only errors and questions
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,

    #[command(flatten)]
    config: ConfigFileArgs,
}

impl RunArgs {
    fn setting_flags(&self) -> crate::settings::SettingFlags {
        let mut flags = Vec::new();
        if let Some(jobs) = self.jobs {
            flags.push(("run.jobs", jobs.to_string(), "--jobs"));
        }
        if let Some(provider) = self.provider {
            flags.push(("agent.provider", provider.name().to_owned(), "--provider"));
        }
        if let Some(model) = &self.model {
            flags.push(("agent.model", model.clone(), "--model"));
        }
        if let Some(money) = self.max_cost {
            flags.push((MAX_COST, money.to_string(), "--max-cost"));
        }
        if self.in_place {
            flags.push((IN_PLACE, true.to_string(), "--in-place"));
        }
        flags
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  unstuck run tasks/                          a folder of task files
  unstuck run \"make the login test pass\"      one goal
  unstuck run plan.md --jobs 3 --until 07:00  a plan, three at a time, until the morning
  unstuck run tasks/ --max-cost 5 --detach    in the background, for at most $5
  unstuck run tasks/ --dry-run                show what would be done

Exit codes: 0 everything is done; 1 some tasks were not; 3 waiting for a person and --max-wait has
passed; 4 paused; 75 limited and --max-wait has passed; 77 and 78 when it could not start.";

const RESUME_EXAMPLES: &str = "\
Examples:
  unstuck resume
  unstuck resume --max-wait 0        from cron: do what can be done now, then exit";

pub(crate) fn run(args: &RunArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let terminal = context.terminal;
    let resolved = ResolvedSettings::load(
        project.root(),
        args.follow.config.path.as_deref(),
        &args.setting_flags(),
    )?;
    let project = project.with_settings(resolved.clone());
    let options = stored_options(&args.setting_flags(), args.follow.config.path.as_deref());
    project::create_runtime()?.block_on(async {
        own_tree::tick_after_kill(&project).await?;
        let tasks = match find_tasks(&project, &args.work, context.dir).await {
            Err(done @ CliError::Tasks(TasksError::AllDone)) => {
                render::write_note(&format!("unstuck: {done}."));
                return Ok(Exit::Done);
            }
            tasks => tasks?,
        };
        let (mut tasks, left_out) = leave_out_begun(&project, tasks).await?;
        if let Some(left_out) = left_out {
            render::write_note(&format!("unstuck: {left_out}."));
        }
        for task in &mut tasks {
            task.options.clone_from(&options);
        }
        let workers = BuildWorkers::create(&project, resolved).await?.with_options(options);
        let plan = workers.complete_plan(tasks)?;
        let concerns = match workers.check_plan(&plan).await {
            Err(error) if args.dry => {
                render::write_note(&format!("unstuck: nothing would begin: {error}"));
                Vec::new()
            }
            checked => checked?,
        };
        for concern in concerns {
            render::write_note(&format!("unstuck: {}", concern.to_line()));
        }
        if args.dry {
            return show_plan(&workers, &plan, args.follow.json, terminal);
        }
        if let Some(line) = workers.missing_remote().await? {
            render::write_note(&format!("unstuck: {line}"));
        }
        for line in workers.repository_remarks(&plan).await? {
            render::write_note(&format!("unstuck: {line}"));
        }
        if args.detach {
            return work::start_in_background(&project, terminal);
        }
        let work = RunWork { project: &project, workers: &workers, follow: &args.follow, terminal };
        work.carry_out(Some(plan)).await
    })
}

pub(crate) fn resume(args: &ResumeArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let terminal = context.terminal;
    let config = args.follow.config.path.as_deref();
    // Without a store there is nothing to continue.
    let store = project.open_store()?;
    project::create_runtime()?.block_on(async {
        own_tree::tick_after_kill(&project).await?;
        let jobs_continue = resume_jobs(&project, &store).await?;
        if jobs_continue {
            terminal.write_line("The jobs are no longer paused.")?;
        }
        let open = load_open_builds(&project, &store).await?;
        if jobs_continue && open.is_empty() {
            return Ok(Exit::Done);
        }
        let options = load_options(&project, &store, &open).await?;
        let resolved = load_with_options(project.root(), &options, config)?;
        let project = project.with_settings(resolved.clone());
        let workers = BuildWorkers::create(&project, resolved).await?.with_options(options);
        let work = RunWork { project: &project, workers: &workers, follow: &args.follow, terminal };
        work.carry_out(None).await
    })
}

/// Ends a pause of all jobs; returns whether there was one.
async fn resume_jobs(project: &LocalProject, store: &Arc<dyn Store>) -> Result<bool, CliError> {
    let builds = store.load_builds(project.name()).await?;
    let is_paused = |row: &&BuildRow| {
        row.standing && matches!(row.state, BuildState::Paused { cause: PauseCause::Person })
    };
    let Some(build) = builds.iter().find(is_paused).map(|row| row.id) else { return Ok(false) };
    project::submit_command(project, store, "resume", Command::Resume { build }).await?;
    Ok(true)
}

#[derive(Serialize)]
struct DryRunRow<'a> {
    name: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    depends_on: &'a [String],
    priority: i32,
    provider: Option<&'a str>,
    model: Option<String>,
    allowed: &'a [String],
    forbidden: &'a [String],
    checks: &'a [String],
}

fn show_plan(
    workers: &BuildWorkers,
    plan: &Plan,
    json: bool,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let rows: Vec<DryRunRow<'_>> = plan.iter().map(|(spec, _)| task_row(workers, spec)).collect();
    let jobs = workers.settings().run.jobs;
    terminal.write_result(json, &rows, |out| write_plan(out, &rows, jobs))?;
    Ok(Exit::Done)
}

fn write_plan(out: &mut impl Write, rows: &[DryRunRow<'_>], jobs: u32) -> io::Result<()> {
    let tasks = words::render_count(rows.len(), "task", "tasks");
    writeln!(
        out,
        "{TITLE}{tasks}, {jobs} at a time{TITLE:#} {DIM}· dry run: nothing is started{DIM:#}"
    )?;
    for row in rows {
        let who = [row.provider, row.model.as_deref()].into_iter().flatten();
        let who = who.collect::<Vec<_>>().join(", ");
        let shown = words::plain_line(row.title);
        writeln!(out, "\n{TITLE}{}{TITLE:#}  {shown}  {DIM}{who}{DIM:#}", row.name)?;
        for (what, items) in
            [("needs", row.depends_on), ("may change", row.allowed), ("checks", row.checks)]
        {
            if !items.is_empty() {
                writeln!(out, "  {DIM}{what}{DIM:#} {}", words::plain_line(&items.join(", ")))?;
            }
        }
    }
    if rows.iter().any(|row| row.checks.is_empty()) {
        writeln!(
            out,
            "\n{DIM}Tasks without checks are not checked: set validate.pre_commit in unstuck.toml.{DIM:#}"
        )?;
    }
    Ok(())
}

fn task_row<'a>(workers: &'a BuildWorkers, spec: &'a TaskSpec) -> DryRunRow<'a> {
    let settings = workers.settings();
    DryRunRow {
        name: &spec.name,
        title: &spec.title,
        file: spec.file.as_deref(),
        depends_on: &spec.depends_on,
        priority: spec.priority,
        provider: spec.provider.as_deref(),
        model: workers.worker_factory().model_for(spec),
        allowed: &spec.scope.allowed,
        forbidden: &spec.scope.forbidden,
        checks: spec.validate.as_ref().unwrap_or(&settings.validate.pre_commit),
    }
}
