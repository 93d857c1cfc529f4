//! The report of a build.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use unstuck_core::engine::BuildId;
use unstuck_core::text::brief::{length, money, number};
use unstuck_runner::report::{Landed, Report};

use super::frame::{Frame, Here, page};
use super::words::When;
use super::{Fail, room};
use crate::api::{Shared, report_of};
use crate::auth::{Caller, Csrf};

/// Number of characters of a commit hash that are shown.
const COMMIT_CHARS: usize = 9;

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage {
    frame: Frame,
    project: String,
    build: u32,
    report: Report,
    began: When,
    ended: Option<When>,
    took: String,
    cost: Option<String>,
    shipped: Vec<ShippedRow>,
}

/// A task that is done.
struct ShippedRow {
    title: String,
    commits: Vec<String>,
    facts: Vec<String>,
    checked: String,
    actions: Vec<String>,
}

pub(super) async fn report(
    State(site): State<Shared>,
    caller: Caller,
    csrf: Csrf,
    Path((project, build)): Path<(String, u32)>,
) -> Result<Response, Fail> {
    let room = room(&site, &caller, &project)?;
    let title = format!("Report of {project}, build {build}");
    let frame = Frame::new(&site, &caller, &csrf, Here::Work, title).await?;
    let report = report_of(&site, &room, BuildId(build)).await?;
    let report = if frame.sees_detail() { report } else { report.public() };
    let shipped = report.shipped.iter().map(|done| {
        let commits = match &done.landed {
            Landed::Commits { ids } => {
                ids.iter().map(|id| id.chars().take(COMMIT_CHARS).collect()).collect()
            }
            Landed::Unchanged | Landed::Unknown | Landed::Elsewhere => Vec::new(),
        };
        let attempts = number(done.attempts as usize, "attempt", "attempts");
        let mut facts = vec![attempts, length(done.took_ms)];
        facts.extend(money(done.spent));
        ShippedRow {
            title: done.title.clone(),
            commits,
            facts,
            checked: done.checked.said.clone(),
            actions: done.actions.said.clone(),
        }
    });
    let shipped = shipped.collect();
    let began = When::new(report.started_at, frame.now);
    let ended = report.ended_at.map(|at| When::new(at, frame.now));
    let took = length(report.cost.took_ms);
    let cost = money(report.cost.total);
    Ok(page(&ReportPage { frame, project, build, report, began, ended, took, cost, shipped }))
}
