//! The page of `status` for people.

use std::io::{self, Write};

use unstuck_core::engine::{GateState, QuestionId, TaskState};
use unstuck_core::time::Time;
use unstuck_store::tables::{BuildRow, GateRow, SignatureRow, TaskChange, TaskRow};

use super::{BuildStanding, Standing};
use crate::commands::jobs::{self, Present};
use crate::render::stand::{self, Performer};
use crate::render::{style, when, words, wrapped};

/// Maximum number of tasks of a build that are shown.
const TASKS_MAX: usize = 20;
/// Maximum number of errors that are shown.
const PROBLEMS_MAX: usize = 8;
/// Maximum width of a name in columns; a longer one is cut.
const NAME_COLUMNS_MAX: usize = 36;

/// The parameters of the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    pub(super) now: Time,
    /// The width in columns.
    pub(super) width: usize,
    /// Show ids, codes and counters.
    pub(super) verbose: bool,
}

pub(super) fn write(out: &mut impl Write, standing: &Standing, how: How) -> io::Result<()> {
    let How { now, width, verbose } = how;
    let page = Page { standing, now, width, verbose };
    page.head(out)?;
    page.questions(out)?;
    page.builds(out)?;
    page.gates(out)?;
    page.problems(out)?;
    page.spent(out)
}

struct Page<'a> {
    standing: &'a Standing,
    now: Time,
    width: usize,
    verbose: bool,
}

impl Page<'_> {
    fn head(&self, out: &mut impl Write) -> io::Result<()> {
        let title = style::TITLE;
        let dim = style::DIM;
        let who = match &self.standing.holder {
            Some(holder) => {
                format!("{holder} is at work, started {}", when::ago(holder.since, self.now))
            }
            None => "nothing is running".to_owned(),
        };
        let name = words::plain_line(&self.standing.project);
        writeln!(out, "{title}{name}{title:#} {dim}· {who}{dim:#}")
    }

    fn questions(&self, out: &mut impl Write) -> io::Result<()> {
        let strong = style::STRONG;
        let dim = style::DIM;
        let ids = self.standing.questions.iter().map(|row| row.id);
        let (answered, open): (Vec<_>, Vec<_>) = ids.partition(|id| self.standing.is_answered(*id));
        if !open.is_empty() {
            let number = words::number(open.len(), "question waits", "questions wait");
            let line = format!("{number} for you: {}. See `unstuck inbox`.", listed(&open));
            writeln!(out, "\n{strong}{}{strong:#}", wrapped(&line, 0, self.width))?;
        }
        if !answered.is_empty() {
            let number = words::number(answered.len(), "answer waits", "answers wait");
            let line = format!("{number} for the next start: {}.", listed(&answered));
            writeln!(out, "\n{dim}{}{dim:#}", wrapped(&line, 0, self.width))?;
        }
        Ok(())
    }

    fn builds(&self, out: &mut impl Write) -> io::Result<()> {
        let dim = style::DIM;
        let (shown, old): (Vec<_>, Vec<_>) =
            self.standing.builds.iter().partition(|build| !build.rows.is_empty());
        for build in shown {
            self.build(out, build)?;
        }
        if !old.is_empty() {
            let number = words::number(old.len(), "earlier build", "earlier builds");
            writeln!(out, "\n{dim}and {number} that ended{dim:#}")?;
        }
        Ok(())
    }

    fn build(&self, out: &mut impl Write, standing: &BuildStanding) -> io::Result<()> {
        let title = style::TITLE;
        let dim = style::DIM;
        let row = &standing.build;
        writeln!(out)?;
        if row.standing {
            writeln!(out, "{title}Jobs{title:#}")?;
        } else {
            let stands = stand::build(row, standing.is_at_work, self.now);
            let counts = stand::counts(&row.tasks.to_string(), row, &standing.rows);
            let parked = match row.parked.saturating_sub(self.answered_of(standing)) {
                0 => String::new(),
                1 => " · 1 waits for you".to_owned(),
                many => format!(" · {many} wait for you"),
            };
            let began = when::ago(row.started_at, self.now);
            let rest = format!("· {stands} · {counts}{parked} · began {began}");
            let what = if row.session.is_some() { "Session" } else { "Build" };
            writeln!(out, "{title}{what} {}{title:#} {dim}{rest}{dim:#}", row.id)?;
        }
        self.tasks(out, standing)
    }

    /// Returns how many tasks of a build only wait for their answer to be taken up.
    fn answered_of(&self, build: &BuildStanding) -> u32 {
        let answered = build.rows.iter().filter(|row| self.is_answered(&row.moved.state)).count();
        u32::try_from(answered).unwrap_or(u32::MAX)
    }

    fn is_answered(&self, state: &TaskState) -> bool {
        matches!(state, TaskState::Parked { question, .. } if self.standing.is_answered(*question))
    }

    fn stands(&self, state: &TaskState, performer: Performer) -> String {
        if self.is_answered(state) {
            return "answered; taken up at the next start".to_owned();
        }
        stand::task(state, performer, self.now)
    }

    /// Describes the state of a task; a job of the settings in the terms that people use.
    fn stands_of(&self, build: &BuildRow, row: &TaskRow) -> String {
        if stand::needed_no_change(row) {
            return "no change needed".to_owned();
        }
        let Standing { performers, questions, watcher, .. } = self.standing;
        let jobs = performers.jobs.as_ref().filter(|_| row.spec.job.is_some());
        let job = jobs.and_then(|jobs| jobs.find(&row.spec.name).ok());
        let state = &row.moved.state;
        let performer = performers.of(build, row);
        if row.spec.job.is_none() || self.is_answered(state) {
            return self.stands(state, performer);
        }
        if job.is_none() {
            return jobs::needs(row, questions).unwrap_or_else(|| self.stands(state, performer));
        }
        let present = Present { performer, watched: watcher.is_some() };
        let standing = jobs::standing(job, Some(row), present, questions, self.now);
        format!("{} · {}", standing.stand.as_str(), standing.detail)
    }

    fn tasks(&self, out: &mut impl Write, standing: &BuildStanding) -> io::Result<()> {
        let (dim, BuildStanding { build, rows, .. }) = (style::DIM, standing);
        let mut shown: Vec<&TaskRow> = rows.iter().collect();
        if shown.len() > TASKS_MAX {
            shown.sort_by_key(|row| (stand::weight(&row.moved.state), row.id));
            shown.truncate(TASKS_MAX);
        }
        let named: Vec<(&TaskRow, String)> = shown
            .iter()
            .map(|&row| (row, words::cut(&words::name(row.id, &row.spec), NAME_COLUMNS_MAX)))
            .collect();
        let widest = named.iter().map(|(_, name)| name.chars().count()).max().unwrap_or_default();
        for (row, name) in named {
            let (mark, color) = stand::mark(&row.moved.state);
            let stands = self.stands_of(build, row);
            let run = row.moved.last_run.map(|run| format!("  {run}")).unwrap_or_default();
            writeln!(out, "  {color}{mark}{color:#} {name:widest$}  {stands}{dim}{run}{dim:#}")?;
            if self.verbose {
                writeln!(out, "    {dim}{}{dim:#}", wrapped(&inside(row), 4, self.width))?;
            }
        }
        let rest = rows.len().saturating_sub(TASKS_MAX);
        if rest > 0 {
            writeln!(out, "  {dim}… and {rest} more{dim:#}")?;
        }
        Ok(())
    }

    fn gates(&self, out: &mut impl Write) -> io::Result<()> {
        let closed = |row: &&GateRow| row.state != GateState::Passing;
        let mut gates = self.standing.gates.iter().filter(closed).peekable();
        if gates.peek().is_none() {
            return Ok(());
        }
        let title = style::TITLE;
        writeln!(out, "\n{title}Accounts that are limited{title:#}")?;
        for row in gates {
            let stands = match row.state {
                GateState::Waiting { until } if until > self.now => {
                    format!("closed until {}", when::until(until, self.now))
                }
                GateState::Probing { task } => format!("task {task} tries it first"),
                GateState::Waiting { .. } | GateState::Passing => "about to be tried".to_owned(),
            };
            let waiters = words::number(row.waiters as usize, "task waits", "tasks wait");
            writeln!(out, "  {}  {stands} · {waiters}", row.key)?;
        }
        Ok(())
    }

    fn problems(&self, out: &mut impl Write) -> io::Result<()> {
        let title = style::TITLE;
        let dim = style::DIM;
        let code = style::CODE;
        let known = &self.standing.signatures;
        if known.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{title}Errors so far{title:#}")?;
        let shown = &known[..known.len().min(PROBLEMS_MAX)];
        let widest = shown.iter().map(|row| row.signature.to_string().len()).max();
        let widest = widest.unwrap_or_default();
        for row in shown {
            let signature = row.signature.to_string();
            let facts = self.met(row);
            writeln!(out, "  {code}{signature:widest$}{code:#}  {dim}{facts}{dim:#}")?;
        }
        let rest = known.len() - shown.len();
        if rest > 0 {
            writeln!(out, "  {dim}… and {rest} more; `unstuck status --json` has all{dim:#}")?;
        }
        Ok(())
    }

    /// Formats how often an error was met, such as `met 3 times, 2 counted · 12 min ago`.
    fn met(&self, row: &SignatureRow) -> String {
        let total = usize::try_from(row.total).unwrap_or(usize::MAX);
        let times = words::number(total, "time", "times");
        let counted =
            if row.count == 0 { String::new() } else { format!(", {} counted", row.count) };
        format!("met {times}{counted} · {}", when::ago(row.last_seen, self.now))
    }

    fn spent(&self, out: &mut impl Write) -> io::Result<()> {
        let dim = style::DIM;
        let spent = words::amount(self.standing.spent_today);
        if spent.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{dim}Spent today: {spent}{dim:#}")
    }
}

/// Formats the engine's counters: `t3 · nightly-sync · firing 4 · 2 attempts · 1 repair · AUTH_EXPIRED …`.
fn inside(row: &TaskRow) -> String {
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
    let counted = counted.map(|(count, one, many)| words::number(*count as usize, one, many));
    let mut facts = vec![row.id.to_string(), words::plain_line(&row.spec.name)];
    facts.extend((*firing > 0).then(|| format!("firing {firing}")));
    facts.extend(counted);
    facts.extend(failure.as_ref().map(|fault| format!("{} at {}", fault.signature, fault.source)));
    facts.join(" · ")
}

fn listed(ids: &[QuestionId]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.join(", ")
}
