//! `unstuck status`: shows the state of a project.

mod page;

use serde::Serialize;
use unstuck_core::engine::{BuildState, PauseCause, QuestionId};
use unstuck_core::policy::{Amount, Policy};
use unstuck_runner::TaskLocks;
use unstuck_store::tables::{
    BuildRow, GateRow, QuestionRow, QuestionStatus, SignatureRow, TaskRow,
};
use unstuck_store::{Answer, Holder, Store, StoreError};

use self::page::StatusPage;
use super::{jobs, mcp};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::stand::TaskPerformer;

/// Show the state of builds, jobs and questions
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// Also show ids, codes and counters
    #[arg(short, long)]
    verbose: bool,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &StatusArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let store = project.open_store()?;
    let now = project::now();
    // The state is shown even if the settings are broken.
    let settings = project.settings().ok();
    let policy = settings.map_or_else(Policy::default, |settings| settings.policy.clone());
    let day = policy.budget.day_number(now);
    let standing = project::create_runtime()?.block_on(async {
        let holder = project::current_holder(&project).await;
        ProjectStatus::load(store.as_ref(), &project, holder, day).await
    })?;
    let page = StatusPage {
        status: &standing,
        now,
        width: context.terminal.width(),
        verbose: args.verbose,
    };
    context.terminal.write_result(args.json, &standing, |out| page.write_to(out))?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct ProjectStatus {
    project: String,
    holder: Option<Holder>,
    /// The process that runs the scheduled jobs, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    watcher: Option<Holder>,
    #[serde(skip)]
    performers: Performers,
    /// Builds, newest first.
    builds: Vec<BuildStatusRow>,
    /// Open questions, oldest first.
    questions: Vec<QuestionRow>,
    /// Answers to open questions that have not been taken up yet.
    answers: Vec<Answer>,
    gates: Vec<GateRow>,
    /// Signatures, latest first.
    signatures: Vec<SignatureRow>,
    spent_today: Amount,
}

#[derive(Serialize)]
struct BuildStatusRow {
    #[serde(flatten)]
    build: BuildRow,
    /// Set if a live process performs it.
    is_at_work: bool,
    /// Tasks or jobs of the build; empty for ended builds, except the newest.
    rows: Vec<TaskRow>,
}

impl BuildStatusRow {
    /// Returns whether `unstuck resume` continues the build: it is paused by the operator, or
    /// unfinished without a process.
    fn needs_resume(&self) -> bool {
        let Self { build, is_at_work, rows } = self;
        if is_reported_only(build, rows.first()) {
            return false;
        }
        match build.state {
            BuildState::Paused { cause } => cause == PauseCause::Person,
            _ if build.standing => false,
            BuildState::Running | BuildState::Sleeping { .. } => !is_at_work,
            _ => false,
        }
    }
}

impl ProjectStatus {
    async fn load(
        store: &dyn Store,
        project: &LocalProject,
        holder: Option<Holder>,
        day: u64,
    ) -> Result<Self, StoreError> {
        let performers = Performers::inspect(project, holder.is_some());
        let project = project.name();
        let mut builds = Vec::new();
        let mut newest = true;
        for build in store.load_builds(project).await? {
            let shown = build.standing || !build.state.has_ended() || newest;
            newest = newest && build.standing;
            let mut rows =
                if shown { store.load_build_tasks(project, build.id).await? } else { Vec::new() };
            rows.retain(|row| !is_past_action(row));
            let is_at_work = performers.is_performed(&build, &rows);
            builds.push(BuildStatusRow { build, is_at_work, rows });
        }
        Ok(Self {
            project: project.to_string(),
            holder,
            watcher: performers.watcher.clone(),
            performers,
            builds,
            questions: store.load_questions(project, Some(QuestionStatus::Pending)).await?,
            answers: store.load_pending_answers(project).await?,
            gates: store.load_gates(project).await?,
            signatures: store.load_signatures(project).await?,
            spent_today: load_spent(store, project, day).await?,
        })
    }

    /// Returns whether a question has an answer that has not been taken up yet.
    fn is_answered(&self, question: QuestionId) -> bool {
        self.answers.iter().any(|answer| answer.question == question)
    }
}

/// Returns whether a job was a single action that is over: these are history, and there may be thousands.
fn is_past_action(row: &TaskRow) -> bool {
    row.spec.job.is_some_and(|job| job.one_action) && row.moved.state.has_ended()
}

async fn load_spent(store: &dyn Store, project: &str, day: u64) -> Result<Amount, StoreError> {
    let costs = store.load_costs(project, day).await?;
    let of_day = costs.iter().filter(|cost| cost.day == day);
    Ok(of_day.fold(Amount::ZERO, |sum, cost| sum.saturating_add(cost.spent)))
}

pub(super) struct Performers {
    locks: TaskLocks,
    is_held: bool,
    /// The process that runs the scheduled jobs.
    pub(super) watcher: Option<Holder>,
    pub(super) jobs: Option<jobs::ConfiguredJobs>,
}

impl Performers {
    pub(super) fn inspect(project: &LocalProject, is_held: bool) -> Self {
        Self {
            locks: TaskLocks::new(project.runs_folder()),
            is_held,
            watcher: jobs::find_watcher(project),
            jobs: jobs::ConfiguredJobs::from_project(project).ok(),
        }
    }

    /// Returns whether a process performs a build.
    pub(super) fn is_performed(&self, build: &BuildRow, rows: &[TaskRow]) -> bool {
        self.is_held
            && (is_reported_only(build, rows.first()) || self.locks.is_build_locked(build.id))
    }

    pub(super) fn performer_of(&self, build: &BuildRow, row: &TaskRow) -> TaskPerformer {
        let at_work = if build.standing {
            self.runs_job(row) || self.locks.is_task_locked(row.id)
        } else {
            is_reported_only(build, Some(row)) || self.locks.is_build_locked(build.id)
        };
        match build.state {
            BuildState::Paused { .. } => TaskPerformer::Paused,
            _ if self.is_held && at_work => TaskPerformer::AtWork,
            _ if build.standing && !self.is_defined(row) => TaskPerformer::NextExec,
            _ => TaskPerformer::NextStart,
        }
    }

    /// Returns whether a process runs a job at its times.
    fn runs_job(&self, row: &TaskRow) -> bool {
        self.watcher.is_some() && self.is_defined(row)
    }

    fn is_defined(&self, row: &TaskRow) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.find(&row.spec.name).is_ok())
    }
}

/// Returns whether the work is done by another runtime and only reported here.
fn is_reported_only(build: &BuildRow, row: Option<&TaskRow>) -> bool {
    build.session.is_some() || row.is_some_and(|row| mcp::is_client_task(&row.spec))
}
