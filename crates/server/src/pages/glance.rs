//! The state card of a build.

use std::sync::Arc;

use unstuck_core::engine::{BuildId, BuildState, PauseCause};
use unstuck_core::text::brief::{money, number};
use unstuck_core::time::Time;
use unstuck_store::tables::BuildRow;

use super::words::When;
use crate::api::Shared;
use crate::auth::Caller;
use crate::problem::Problem;
use crate::site::Room;

/// The state of a build at a glance.
pub(super) struct Glance {
    pub(super) project: Arc<str>,
    /// The name, such as `shop, build 4`.
    pub(super) name: String,
    pub(super) build: BuildId,
    /// The style: `working`, `waiting`, `resting`, `paused`, `done`, `failed`, `ended`.
    pub(super) mood: &'static str,
    /// The title, such as `Working` or `Waiting for you`.
    pub(super) title: &'static str,
    pub(super) says: String,
    pub(super) until: Option<When>,
    pub(super) done: u32,
    pub(super) tasks: u32,
    /// The share of tasks that are done, in percent.
    pub(super) share: u32,
    pub(super) cost: Option<String>,
    pub(super) began: When,
    pub(super) ended: Option<When>,
    pub(super) over: bool,
    pub(super) held: bool,
}

impl Glance {
    pub(super) fn of(room: &Room, row: &BuildRow, now: Time) -> Self {
        let (mood, title, says) = stands(row);
        let (what, says) = match &row.session {
            Some(session) => ("session", format!("For another runtime: “{session}”. {says}")),
            None => ("build", says),
        };
        let until = match row.state {
            BuildState::Sleeping { until } => Some(When::new(until, now)),
            _ => None,
        };
        Self {
            project: Arc::clone(&room.name),
            name: format!("{}, {what} {}", room.name, row.id.0),
            build: row.id,
            mood,
            title,
            says,
            until,
            done: row.done,
            tasks: row.tasks,
            share: (row.done.saturating_mul(100)).checked_div(row.tasks).unwrap_or(0),
            cost: money(row.spent),
            began: When::new(row.started_at, now),
            ended: row.ended_at.map(|at| When::new(at, now)),
            over: row.state.has_ended(),
            held: matches!(row.state, BuildState::Paused { .. }),
        }
    }
}

fn stands(row: &BuildRow) -> (&'static str, &'static str, String) {
    let waits = row.parked as usize;
    let asks = match waits {
        0 => String::new(),
        _ => format!(" {} for you.", number(waits, "task waits", "tasks wait")),
    };
    match row.state {
        BuildState::Running => ("working", "Working", format!("It goes on by itself.{asks}")),
        BuildState::Waiting => {
            ("waiting", "Waiting for you", "All that is left needs an answer.".to_owned())
        }
        BuildState::Sleeping { .. } => (
            "resting",
            "Resting",
            "The budget for now is used up. It goes on by itself.".to_owned(),
        ),
        BuildState::Paused { cause } => {
            let says = match cause {
                PauseCause::Person => "A person paused it.",
                PauseCause::Questions => {
                    "Too many questions are open. Answering some lets it go on."
                }
                PauseCause::Budget => "Its budget is used up.",
            };
            ("paused", "Paused", says.to_owned())
        }
        BuildState::Completed if row.not_done > 0 => {
            let left = number(row.not_done as usize, "task was", "tasks were");
            ("done", "Done", format!("{left} not done."))
        }
        BuildState::Completed => ("done", "Done", "Everything is done.".to_owned()),
        BuildState::Failed => ("failed", "Could not go on", "The report says why.".to_owned()),
        BuildState::Cancelled => ("ended", "Ended", "A person ended it.".to_owned()),
    }
}

/// Returns the builds that are not over, and the newest of each project.
pub(super) async fn glances(
    site: &Shared,
    caller: &Caller,
    now: Time,
) -> Result<Vec<Glance>, Problem> {
    let mut glances = Vec::new();
    for room in site.seen_by(caller) {
        let rows = room.store.builds(&room.name).await?;
        let builds = rows.iter().filter(|row| !row.standing);
        let shown = builds.enumerate().filter(|(at, row)| *at == 0 || !row.state.has_ended());
        glances.extend(shown.map(|(_, row)| Glance::of(room, row, now)));
    }
    Ok(glances)
}
