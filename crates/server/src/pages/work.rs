//! The work page: all builds, the newest first.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::Fail;
use super::frame::{Frame, Here, page};
use super::glance::Glance;
use crate::api::Shared;
use crate::auth::{Caller, Csrf};

/// Maximum number of builds that are shown.
const BUILDS_MAX: usize = 100;

#[derive(Template)]
#[template(path = "work.html")]
struct Work {
    frame: Frame,
    open: Vec<Glance>,
    over: Vec<Glance>,
}

pub(super) async fn work(
    State(site): State<Shared>,
    caller: Caller,
    csrf: Csrf,
) -> Result<Response, Fail> {
    let frame = Frame::new(&site, &caller, &csrf, Here::Work, "Work").await?;
    let mut rows = Vec::new();
    for room in site.seen_by(&caller) {
        let builds = room.store.builds(&room.name).await?;
        rows.extend(builds.into_iter().filter(|row| !row.standing).map(|row| (room, row)));
    }
    rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.started_at));
    rows.truncate(BUILDS_MAX);
    let glances = rows.iter().map(|(room, row)| Glance::of(room, row, frame.now));
    let (over, open) = glances.partition(|glance| glance.over);
    Ok(page(&Work { frame, open, over }))
}
