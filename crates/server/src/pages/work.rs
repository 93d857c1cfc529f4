//! The work page: all builds, the newest first, and the card that shows the state of one.

use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use unstuck_core::engine::{BuildId, BuildState, PauseCause};
use unstuck_core::tell::BuildTally;
use unstuck_core::text::brief::{render_count, render_money};
use unstuck_core::time::Time;
use unstuck_store::tables::BuildRow;

use super::PageError;
use super::frame::{PageFrame, PageRequest, SiteSection, TimeLabel};
use crate::html::render_page;
use crate::problem::Problem;
use crate::server_state::HostedProject;

/// Maximum number of builds that are shown.
const BUILDS_MAX: usize = 100;

#[derive(Template)]
#[template(path = "work.html")]
struct WorkPage {
    frame: PageFrame,
    open: Vec<BuildCard>,
    over: Vec<BuildCard>,
}

pub(super) async fn show_work(request: PageRequest) -> Result<Response, PageError> {
    let frame = PageFrame::new(&request, SiteSection::Work, "Work").await?;
    let mut rows = Vec::new();
    for hosted in request.projects() {
        let builds = hosted.store.load_builds(&hosted.name).await?;
        rows.extend(builds.into_iter().filter(|row| !row.standing).map(|row| (hosted, row)));
    }
    rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.started_at));
    rows.truncate(BUILDS_MAX);
    let glances = rows.iter().map(|(hosted, row)| BuildCard::from_row(hosted, row, frame.now));
    let (over, open) = glances.partition(|glance| glance.over);
    Ok(render_page(&WorkPage { frame, open, over }))
}

/// The state of a build at a glance.
pub(super) struct BuildCard {
    pub(super) project: Arc<str>,
    /// The name, such as `shop, build 4`.
    pub(super) name: String,
    pub(super) build: BuildId,
    /// The style: `working`, `waiting`, `resting`, `paused`, `done`, `failed`, `ended`.
    pub(super) mood: &'static str,
    /// The title, such as `Working` or `Waiting for you`.
    pub(super) title: &'static str,
    pub(super) says: String,
    pub(super) until: Option<TimeLabel>,
    pub(super) tally: BuildTally,
    /// The number of tasks by their result, such as `1 of 3 done, 1 needed no change`.
    pub(super) progress: String,
    /// The share of tasks with nothing left to do, in percent.
    pub(super) share: u32,
    pub(super) cost: Option<String>,
    pub(super) began: TimeLabel,
    pub(super) ended: Option<TimeLabel>,
    pub(super) over: bool,
    pub(super) held: bool,
}

impl BuildCard {
    pub(super) fn from_row(hosted: &HostedProject, row: &BuildRow, now: Time) -> Self {
        let tally = row.tally();
        let (mood, title, says) = describe_build(row);
        let (what, says) = match &row.session {
            Some(session) => ("session", format!("For another runtime: “{session}”. {says}")),
            None => ("build", says),
        };
        let until = match row.state {
            BuildState::Sleeping { until } => Some(TimeLabel::new(until, now)),
            _ => None,
        };
        Self {
            project: Arc::clone(&hosted.name),
            name: format!("{}, {what} {}", hosted.name, row.id.0),
            build: row.id,
            mood,
            title,
            says,
            until,
            tally,
            progress: tally.render_progress(&tally.tasks.to_string()),
            share: (tally.settled().saturating_mul(100)).checked_div(tally.tasks).unwrap_or(0),
            cost: render_money(row.spent),
            began: TimeLabel::new(row.started_at, now),
            ended: row.ended_at.map(|at| TimeLabel::new(at, now)),
            over: row.state.has_ended(),
            held: matches!(row.state, BuildState::Paused { .. }),
        }
    }
}

fn describe_build(row: &BuildRow) -> (&'static str, &'static str, String) {
    let waits = row.parked as usize;
    let asks = match waits {
        0 => String::new(),
        _ => format!(" {} for you.", render_count(waits, "task waits", "tasks wait")),
    };
    match row.state {
        BuildState::Running => ("working", "Working", format!("It continues by itself.{asks}")),
        BuildState::Waiting => {
            ("waiting", "Waiting for you", "All remaining work waits for your answer.".to_owned())
        }
        BuildState::Sleeping { .. } => (
            "resting",
            "Resting",
            "The budget for now is used up. It continues by itself.".to_owned(),
        ),
        BuildState::Paused { cause } => {
            let says = match cause {
                PauseCause::Person => "A person paused it.",
                PauseCause::Questions => {
                    "Too many questions are open. Answering some lets it continue."
                }
                PauseCause::Budget => "Its budget is used up.",
            };
            ("paused", "Paused", says.to_owned())
        }
        BuildState::Completed => {
            let tally = row.tally();
            let title = if tally.done == tally.tasks { "Done" } else { "Finished" };
            ("done", title, tally.render_result())
        }
        BuildState::Failed => ("failed", "Failed", "The report says why.".to_owned()),
        BuildState::Cancelled => ("ended", "Ended", "A person ended it.".to_owned()),
    }
}

/// Returns the builds that are not over, and the newest of each project.
pub(super) async fn load_build_cards(
    request: &PageRequest,
    now: Time,
) -> Result<Vec<BuildCard>, Problem> {
    let mut glances = Vec::new();
    for hosted in request.projects() {
        let rows = hosted.store.load_builds(&hosted.name).await?;
        let builds = rows.iter().filter(|row| !row.standing);
        let shown = builds.enumerate().filter(|(at, row)| *at == 0 || !row.state.has_ended());
        glances.extend(shown.map(|(_, row)| BuildCard::from_row(hosted, row, now)));
    }
    Ok(glances)
}
