//! The report of a build.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use unstuck_core::engine::BuildId;
use unstuck_core::text::brief::{render_count, render_duration, render_money};
use unstuck_runner::report::{BuildReport, TaskLanding, headings};

use super::PageError;
use super::activity::RedCheckView;
use super::frame::{PageFrame, PageRequest, SiteSection, TimeLabel};
use crate::api::load_report;
use crate::html::render_page;

/// Number of characters of a commit hash that are shown.
const COMMIT_CHARS: usize = 9;

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage {
    frame: PageFrame,
    project: String,
    build: u32,
    report: BuildReport,
    began: TimeLabel,
    ended: Option<TimeLabel>,
    took: String,
    cost: Option<String>,
    shipped: Vec<ShippedRow>,
    red_base: Vec<RedCheckView>,
}

/// A task that is done.
struct ShippedRow {
    title: String,
    commits: Vec<String>,
    facts: Vec<String>,
    checked: String,
    actions: Vec<String>,
}

pub(super) async fn show_report(
    request: PageRequest,
    Path((project, build)): Path<(String, u32)>,
) -> Result<Response, PageError> {
    let hosted = request.find_project(&project)?;
    let title = format!("Report of {project}, build {build}");
    let frame = PageFrame::new(&request, SiteSection::Work, title).await?;
    let report = load_report(&request.site, &hosted, BuildId(build)).await?;
    let report = if frame.sees_detail() { report } else { report.into_public() };
    let shipped = report.shipped.iter().map(|done| {
        let commits = match &done.landed {
            TaskLanding::Commits { ids } => {
                ids.iter().map(|id| id.chars().take(COMMIT_CHARS).collect()).collect()
            }
            TaskLanding::Unchanged | TaskLanding::Unknown | TaskLanding::Elsewhere => Vec::new(),
        };
        let attempts = render_count(done.attempts as usize, "attempt", "attempts");
        let mut facts = vec![attempts, render_duration(done.took_ms)];
        facts.extend(render_money(done.spent));
        ShippedRow {
            title: done.title.clone(),
            commits,
            facts,
            checked: done.checked.said.clone(),
            actions: done.actions.said.clone(),
        }
    });
    let shipped = shipped.collect();
    let red_base = RedCheckView::list_checks("red", &report.red_base);
    let began = TimeLabel::new(report.started_at, frame.now);
    let ended = report.ended_at.map(|at| TimeLabel::new(at, frame.now));
    let took = render_duration(report.cost.took_ms);
    let cost = render_money(report.cost.total);
    Ok(render_page(&ReportPage {
        frame,
        project,
        build,
        report,
        began,
        ended,
        took,
        cost,
        shipped,
        red_base,
    }))
}
