//! The page of `status` for people.

use std::io::{self, Write};

use unstuck_core::engine::{BuildState, GateKey, GateState, QuestionId, TaskState};
use unstuck_core::fault::Code;
use unstuck_core::tell::brief;
use unstuck_core::text::{capitalize_first, provider_display_name};
use unstuck_core::time::Time;
use unstuck_store::tables::{BuildRow, GateRow, SignatureRow, TaskChange, TaskRow};

use super::{BuildStatusRow, ProjectStatus};
use crate::commands::jobs::{self, JobProcesses};
use crate::render::stand::{self, TaskPerformer};
use crate::render::style::{CODE, DIM, STRONG, TITLE};
use crate::render::{when, words, wrap_text};

/// Maximum number of tasks of a build that are shown.
const TASKS_MAX: usize = 20;
/// Maximum number of errors that are shown.
const PROBLEMS_MAX: usize = 8;
/// Maximum width of a name in columns; a longer one is cut.
const NAME_COLUMNS_MAX: usize = 36;

pub(super) struct StatusPage<'a> {
    pub(super) status: &'a ProjectStatus,
    pub(super) now: Time,
    /// The width in columns.
    pub(super) width: usize,
    /// Show ids, codes and counters.
    pub(super) verbose: bool,
}

impl StatusPage<'_> {
    pub(super) fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_head(out)?;
        self.write_questions(out)?;
        self.write_builds(out)?;
        self.write_gates(out)?;
        self.write_problems(out)?;
        self.write_spent(out)
    }

    fn write_head(&self, out: &mut impl Write) -> io::Result<()> {
        let who = match &self.status.holder {
            Some(holder) => {
                format!("{holder} is running, started {}", when::render_ago(holder.since, self.now))
            }
            None => "nothing is running".to_owned(),
        };
        let name = words::plain_line(&self.status.project);
        writeln!(out, "{TITLE}{name}{TITLE:#} {DIM}· {who}{DIM:#}")
    }

    fn write_questions(&self, out: &mut impl Write) -> io::Result<()> {
        let ids = self.status.questions.iter().map(|row| row.id);
        let (answered, open): (Vec<_>, Vec<_>) = ids.partition(|id| self.status.is_answered(*id));
        if !open.is_empty() {
            let number = words::render_count(open.len(), "question waits", "questions wait");
            let line = format!("{number} for you: {}. See `unstuck inbox`.", join_ids(&open));
            writeln!(out, "\n{STRONG}{}{STRONG:#}", wrap_text(&line, 0, self.width))?;
        }
        if !answered.is_empty() {
            let number = words::render_count(answered.len(), "answer waits", "answers wait");
            let line = format!("{number} for the next start: {}.", join_ids(&answered));
            writeln!(out, "\n{DIM}{}{DIM:#}", wrap_text(&line, 0, self.width))?;
        }
        Ok(())
    }

    fn write_builds(&self, out: &mut impl Write) -> io::Result<()> {
        let (shown, old): (Vec<_>, Vec<_>) =
            self.status.builds.iter().partition(|build| !build.rows.is_empty());
        for build in shown {
            self.write_build(out, build)?;
        }
        // The jobs are listed with builds, and are none.
        let old = old.iter().filter(|listed| !listed.build.standing).count();
        if old > 0 {
            let number = words::render_count(old, "earlier build", "earlier builds");
            writeln!(out, "\n{DIM}and {number} that ended{DIM:#}")?;
        }
        Ok(())
    }

    fn write_build(&self, out: &mut impl Write, standing: &BuildStatusRow) -> io::Result<()> {
        let row = &standing.build;
        writeln!(out)?;
        if row.standing {
            writeln!(out, "{TITLE}Jobs{TITLE:#}")?;
        } else {
            let stands = stand::render_build_state(row, standing.is_at_work, self.now);
            let counts = stand::render_counts(&row.tasks.to_string(), row, &standing.rows);
            let parked = match row.parked.saturating_sub(self.count_answered(standing)) {
                0 => String::new(),
                1 => " · 1 waits for you".to_owned(),
                many => format!(" · {many} wait for you"),
            };
            let began = when::render_ago(row.started_at, self.now);
            let rest = format!("· {stands} · {counts}{parked} · began {began}");
            let what = if row.session.is_some() { "Session" } else { "Build" };
            writeln!(out, "{TITLE}{what} {}{TITLE:#} {DIM}{rest}{DIM:#}", row.id)?;
        }
        self.write_tasks(out, standing)?;
        if let BuildState::Sleeping { .. } = row.state
            && let Some(spent) = stand::find_spent_day(standing.rows.iter())
        {
            let line = format!("{}.", capitalize_first(&spent));
            writeln!(out, "  {DIM}{}{DIM:#}", wrap_text(&line, 2, self.width))?;
        }
        if standing.needs_resume() {
            let line = if row.standing {
                "All jobs are paused; `unstuck resume` continues them."
            } else {
                "`unstuck resume` continues it."
            };
            writeln!(out, "  {DIM}{line}{DIM:#}")?;
        }
        Ok(())
    }

    /// Returns how many tasks of a build only wait for their answer to be taken up.
    fn count_answered(&self, build: &BuildStatusRow) -> u32 {
        let answered = build.rows.iter().filter(|row| self.is_answered(&row.moved.state)).count();
        u32::try_from(answered).unwrap_or(u32::MAX)
    }

    fn is_answered(&self, state: &TaskState) -> bool {
        matches!(state, TaskState::Parked { question, .. } if self.status.is_answered(*question))
    }

    fn render_state(&self, state: &TaskState, performer: TaskPerformer) -> String {
        if self.is_answered(state) {
            return stand::ANSWERED.to_owned();
        }
        stand::render_task_state(state, performer, self.now)
    }

    /// Describes the state of a task; a job of the settings in the terms that people use.
    fn render_task_state(&self, build: &BuildRow, row: &TaskRow) -> String {
        if stand::needed_no_change(row) {
            return brief::NO_CHANGE_NEEDED.to_owned();
        }
        let ProjectStatus { performers, questions, watcher, .. } = self.status;
        let jobs = performers.jobs.as_ref().filter(|_| row.spec.job.is_some());
        let job = jobs.and_then(|jobs| jobs.find(&row.spec.name).ok());
        let state = &row.moved.state;
        let performer = performers.performer_of(build, row);
        if row.spec.job.is_none() || self.is_answered(state) {
            return self.render_state(state, performer);
        }
        if job.is_none() {
            return jobs::render_needed_action(row, questions)
                .unwrap_or_else(|| self.render_state(state, performer));
        }
        let present = JobProcesses { performer, watched: watcher.is_some() };
        let standing = jobs::render_job_state(job, Some(row), present, questions, self.now);
        format!("{} · {}", standing.stand.as_str(), standing.detail)
    }

    fn write_tasks(&self, out: &mut impl Write, standing: &BuildStatusRow) -> io::Result<()> {
        let BuildStatusRow { build, rows, .. } = standing;
        let mut shown: Vec<&TaskRow> = rows.iter().collect();
        if shown.len() > TASKS_MAX {
            shown.sort_by_key(|row| (stand::state_rank(&row.moved.state), row.id));
            shown.truncate(TASKS_MAX);
        }
        let named: Vec<(&TaskRow, String)> = shown
            .iter()
            .map(|&row| {
                (row, words::cut_to_columns(&words::task_name(row.id, &row.spec), NAME_COLUMNS_MAX))
            })
            .collect();
        let widest = named.iter().map(|(_, name)| name.chars().count()).max().unwrap_or_default();
        let id_columns = rows.iter().map(|row| row.id.to_string().len()).max().unwrap_or_default();
        for (row, name) in named {
            let (mark, color) = stand::task_mark(row);
            let stands = render_needed_tasks(row, rows)
                .unwrap_or_else(|| self.render_task_state(build, row));
            let run = row.moved.last_run.map(|run| format!("  run {run}")).unwrap_or_default();
            let id = row.id.to_string();
            write!(out, "  {color}{mark}{color:#} {DIM}{id:id_columns$}{DIM:#}  ")?;
            writeln!(out, "{name:widest$}  {stands}{DIM}{run}{DIM:#}")?;
            if let Some(reason) = stand::render_wait_reason(&row.moved, self.now) {
                let line = wrap_text(&capitalize_first(&reason), 4, self.width);
                writeln!(out, "    {DIM}{line}.{DIM:#}")?;
            }
            if self.verbose {
                writeln!(
                    out,
                    "    {DIM}{}{DIM:#}",
                    wrap_text(&render_counters(row), 4, self.width)
                )?;
            }
        }
        let rest = rows.len().saturating_sub(TASKS_MAX);
        if rest > 0 {
            writeln!(out, "  {DIM}… and {rest} more{DIM:#}")?;
        }
        Ok(())
    }

    fn write_gates(&self, out: &mut impl Write) -> io::Result<()> {
        let closed = |row: &&GateRow| row.state != GateState::Passing;
        let mut gates = self.status.gates.iter().filter(closed).peekable();
        if gates.peek().is_none() {
            return Ok(());
        }
        writeln!(out, "\n{TITLE}Accounts that are limited{TITLE:#}")?;
        for row in gates {
            let stands = match row.state {
                GateState::Waiting { until } if until > self.now => {
                    format!("until {}", when::render_until(until, self.now))
                }
                GateState::Probing { task } => format!("task {task} tries it first"),
                GateState::Waiting { .. } | GateState::Passing => "about to be tried".to_owned(),
            };
            let waiters = words::render_count(row.waiters as usize, "task waits", "tasks wait");
            writeln!(out, "  {}  {stands} · {waiters}", self.account_name(row.key))?;
        }
        Ok(())
    }

    /// Returns the name of an account: that of the program or service whose tasks use it.
    fn account_name(&self, key: GateKey) -> String {
        let rows = self.status.builds.iter().flat_map(|build| &build.rows);
        let providers = rows.filter(|row| row.spec.gate == key);
        let mut named = providers.filter_map(|row| row.spec.provider.as_deref());
        named.find_map(provider_display_name).map_or_else(|| key.to_string(), str::to_owned)
    }

    fn write_problems(&self, out: &mut impl Write) -> io::Result<()> {
        // A question of an agent is no error.
        let known = self.status.signatures.iter();
        let known: Vec<_> =
            known.filter(|row| row.signature.code != Code::PreconditionInput).collect();
        if known.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{TITLE}Errors so far{TITLE:#}")?;
        let shown = &known[..known.len().min(PROBLEMS_MAX)];
        let widest = shown.iter().map(|row| row.signature.to_string().len()).max();
        let widest = widest.unwrap_or_default();
        for row in shown {
            let signature = row.signature.to_string();
            let facts = self.render_met(row);
            writeln!(out, "  {CODE}{signature:widest$}{CODE:#}  {DIM}{facts}{DIM:#}")?;
        }
        let rest = known.len() - shown.len();
        if rest > 0 {
            writeln!(out, "  {DIM}… and {rest} more; `unstuck status --json` has all{DIM:#}")?;
        }
        Ok(())
    }

    /// Formats how often an error was met, such as `met 3 times, 2 counted · 12 min ago`.
    fn render_met(&self, row: &SignatureRow) -> String {
        let total = usize::try_from(row.total).unwrap_or(usize::MAX);
        let times = words::render_count(total, "time", "times");
        let counted =
            if row.count == 0 { String::new() } else { format!(", {} counted", row.count) };
        format!("seen {times}{counted} · {}", when::render_ago(row.last_seen, self.now))
    }

    fn write_spent(&self, out: &mut impl Write) -> io::Result<()> {
        let spent = words::render_amount(self.status.spent_today);
        if spent.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{DIM}Spent today: {spent}{DIM:#}")
    }
}

/// Formats the engine's counters: `t3 · nightly-sync · firing 4 · 2 attempts · 1 repair · AUTH_EXPIRED …`.
fn render_counters(row: &TaskRow) -> String {
    let TaskChange { firing, attempts, counters, failure, .. } = &row.moved;
    let transient = counters.transient.iter().map(|one| one.count).max().unwrap_or_default();
    let counted = [
        (*attempts, "attempt", "attempts"),
        (counters.repairs, "repair", "repairs"),
        (transient, "repetition", "repetitions"),
        (counters.consecutive, "fault in a row", "faults in a row"),
        (counters.crashes, "crash in a row", "crashes in a row"),
        (counters.compactions, "time shortened", "times shortened"),
        (counters.git, "try with git", "tries with git"),
    ];
    let counted = counted.iter().filter(|(count, ..)| *count > 0);
    let counted = counted.map(|(count, one, many)| words::render_count(*count as usize, one, many));
    let mut facts = vec![row.id.to_string(), words::plain_line(&row.spec.name)];
    facts.extend((*firing > 0).then(|| format!("firing {firing}")));
    facts.extend(counted);
    facts.extend(failure.as_ref().map(|fault| format!("{} at {}", fault.signature, fault.source)));
    facts.join(" · ")
}

/// Formats which tasks a task waits for before it begins, if it does: `waits for t0`.
fn render_needed_tasks(row: &TaskRow, rows: &[TaskRow]) -> Option<String> {
    let waits = matches!(row.moved.state, TaskState::Pending { .. });
    let is_needed = |other: &&TaskRow| {
        row.spec.depends_on.contains(&other.spec.name) && other.moved.state != TaskState::Done
    };
    let needed: Vec<String> =
        rows.iter().filter(is_needed).map(|other| other.id.to_string()).collect();
    (waits && !needed.is_empty()).then(|| format!("waits for {}", needed.join(", ")))
}

fn join_ids(ids: &[QuestionId]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.join(", ")
}
