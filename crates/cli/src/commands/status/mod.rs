//! `unstuck status`: where everything stands.

mod page;

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use unstuck_core::engine::QuestionId;
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::time::{Span, Time};
use unstuck_store::tables::{
    BuildRow, GateRow, QuestionRow, QuestionStatus, SignatureRow, TaskRow,
};
use unstuck_store::{Answer, Holder, Store, StoreError};

use crate::args::Status;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{self, Terminal};

/// Carries it out.
pub(crate) fn run(args: &Status, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let store = project.store()?;
    let now = project::now();
    let standing = project::runtime()?.block_on(async {
        let holder = project::current_holder(&project).await;
        Standing::read(store.as_ref(), project.name(), holder, now).await
    })?;
    let mut out = terminal.styled();
    if args.json {
        render::json(&mut out, &standing)?;
    } else {
        page::write(&mut out, &standing, now, terminal.width())?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Where a project stands, as `--json` writes it.
#[derive(Serialize)]
struct Standing {
    project: String,
    /// Who works on it; nobody without one.
    holder: Option<Holder>,
    /// Newest first.
    builds: Vec<BuildStanding>,
    /// The open ones, oldest first.
    questions: Vec<QuestionRow>,
    /// Answers to some of them that nobody has taken up yet.
    answers: Vec<Answer>,
    gates: Vec<GateRow>,
    /// The latest first.
    signatures: Vec<SignatureRow>,
    spent_today: Amount,
}

/// A build with its tasks.
#[derive(Serialize)]
struct BuildStanding {
    #[serde(flatten)]
    build: BuildRow,
    /// Its tasks or jobs; those of builds that have ended are left out, except of the newest.
    rows: Vec<TaskRow>,
}

impl Standing {
    async fn read(
        store: &dyn Store,
        project: &str,
        holder: Option<Holder>,
        now: Time,
    ) -> Result<Self, StoreError> {
        let mut builds = Vec::new();
        let mut newest = true;
        for build in store.builds(project).await? {
            let shown = build.standing || !build.state.has_ended() || newest;
            newest = newest && build.standing;
            let rows = if shown { store.tasks(project, build.id).await? } else { Vec::new() };
            builds.push(BuildStanding { build, rows });
        }
        Ok(Self {
            project: project.to_owned(),
            holder,
            builds,
            questions: store.questions(project, Some(QuestionStatus::Pending)).await?,
            answers: store.answers(project).await?,
            gates: store.gates(project).await?,
            signatures: store.signatures(project).await?,
            spent_today: spent_on(store, project, today(now)).await?,
        })
    }

    /// Whether a question was answered and the answer waits to be taken up.
    fn is_answered(&self, question: QuestionId) -> bool {
        self.answers.iter().any(|answer| answer.question == question)
    }
}

async fn spent_on(store: &dyn Store, project: &str, day: u64) -> Result<Amount, StoreError> {
    let costs = store.costs(project, day).await?;
    let of_day = costs.iter().filter(|cost| cost.day == day);
    Ok(of_day.fold(Amount::ZERO, |sum, cost| sum.plus(cost.spent)))
}

/// The number of the budget's day that `now` is in.
fn today(now: Time) -> u64 {
    let starts = Policy::default().budget.day_starts_ms;
    (now - starts).as_millis() / Span::from_hours(24).as_millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_when_the_budget_does() {
        let starts = Policy::default().budget.day_starts_ms;
        let day = |number: u64| Time::EPOCH + Span::from_hours(24).times(number) + starts;
        assert_eq!(today(day(10)), 10);
        assert_eq!(today(day(11) - Span::from_millis(1)), 10);
        assert_eq!(today(day(11)), 11);
    }
}
