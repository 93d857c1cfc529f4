//! The work page: all builds, the newest first.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::PageError;
use super::frame::{PageFrame, SiteSection, render_page};
use super::glance::BuildCard;
use crate::api::SharedServerState;
use crate::auth::{Caller, CsrfToken};

/// Maximum number of builds that are shown.
const BUILDS_MAX: usize = 100;

#[derive(Template)]
#[template(path = "work.html")]
struct WorkPage {
    frame: PageFrame,
    open: Vec<BuildCard>,
    over: Vec<BuildCard>,
}

pub(super) async fn show_work(
    State(site): State<SharedServerState>,
    caller: Caller,
    csrf: CsrfToken,
) -> Result<Response, PageError> {
    let frame = PageFrame::new(&site, &caller, &csrf, SiteSection::Work, "Work").await?;
    let mut rows = Vec::new();
    for room in site.visible_projects(&caller) {
        let builds = room.store.load_builds(&room.name).await?;
        rows.extend(builds.into_iter().filter(|row| !row.standing).map(|row| (room, row)));
    }
    rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.started_at));
    rows.truncate(BUILDS_MAX);
    let glances = rows.iter().map(|(room, row)| BuildCard::from_row(room, row, frame.now));
    let (over, open) = glances.partition(|glance| glance.over);
    Ok(render_page(&WorkPage { frame, open, over }))
}
