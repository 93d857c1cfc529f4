//! The problems page: every error that occurred, resolved or not.

use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use unstuck_core::tell::brief;
use unstuck_core::text::failure_phrase;
use unstuck_core::time::Time;

use super::PageError;
use super::frame::{PageFrame, PageRequest, SiteSection, TimeLabel};
use crate::api::{Stands, load_problems};
use crate::auth::AccessRole;
use crate::html::render_page;
use crate::problem::to_sentence;

/// Maximum number of problems that are shown.
const PROBLEMS_MAX: usize = 200;
/// Maximum and minimum width of a problem's line, in units of the picture.
const WIDTH: u64 = 200;
const SHORTEST: u64 = 4;

const OPEN: &str = "waits for you";
const TRYING: &str = "being worked on";
const PAST: &str = "got past";

#[derive(Template)]
#[template(path = "problems.html")]
struct ProblemsPage {
    frame: PageFrame,
    rows: Vec<ProblemsPageRow>,
    open: usize,
    trying: usize,
    past: usize,
    /// Number of problems that are not shown.
    more: usize,
    /// The time at which the first of them occurred.
    since: TimeLabel,
}

struct ProblemsPageRow {
    project: Arc<str>,
    says: String,
    signature: String,
    total: u64,
    first: TimeLabel,
    last: TimeLabel,
    /// The ends of its line, in units of the picture.
    from: u64,
    to: u64,
    /// The standing in words.
    stands: &'static str,
    mood: &'static str,
}

pub(super) async fn show_problems(request: PageRequest) -> Result<Response, PageError> {
    request.caller.require_role(AccessRole::Viewer)?;
    let frame = PageFrame::new(&request, SiteSection::Problems, "Problems").await?;
    let mut rows = Vec::new();
    for hosted in request.projects() {
        for row in load_problems(hosted).await? {
            let (stands, mood) = match row.stands {
                Stands::Open => (OPEN, "asks"),
                Stands::Recovered => (PAST, "good"),
                Stands::Trying => (TRYING, "working"),
            };
            rows.push(ProblemsPageRow {
                project: Arc::clone(&hosted.name),
                says: match &row.flaky {
                    Some(command) => brief::describe_flaky_check(command),
                    None => to_sentence(failure_phrase(row.code, false)),
                },
                signature: row.signature.to_string(),
                total: row.total,
                first: TimeLabel::new(row.first_seen, frame.now),
                last: TimeLabel::new(row.last_seen, frame.now),
                from: 0,
                to: 0,
                stands,
                mood,
            });
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.last.millis));
    let stand = |stands: &str| rows.iter().filter(|row| row.stands == stands).count();
    let open = stand(OPEN);
    let trying = stand(TRYING);
    let past = stand(PAST);
    let more = rows.len().saturating_sub(PROBLEMS_MAX);
    rows.truncate(PROBLEMS_MAX);
    let since = rows.iter().map(|row| row.first.millis).min().map(Time::from_millis);
    let since = since.unwrap_or(frame.now);
    for row in &mut rows {
        (row.from, row.to) = timeline_span(row.first.millis, row.last.millis, since, frame.now);
    }
    let since = TimeLabel::new(since, frame.now);
    Ok(render_page(&ProblemsPage { frame, rows, open, trying, past, more, since }))
}

/// Returns the ends of an interval on a line from `since` to `now`. It is never too short to be
/// seen.
fn timeline_span(first: u64, last: u64, since: Time, now: Time) -> (u64, u64) {
    let all = now.as_millis().saturating_sub(since.as_millis()).max(1);
    let at = |millis: u64| {
        (millis.saturating_sub(since.as_millis()).saturating_mul(WIDTH) / all).min(WIDTH)
    };
    let from = at(first).min(WIDTH - SHORTEST);
    (from, at(last).max(from + SHORTEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_to_scale_and_never_invisible() {
        let line = |first, last| {
            timeline_span(first, last, Time::from_millis(1_000), Time::from_millis(2_000))
        };
        assert_eq!(line(1_000, 2_000), (0, 200));
        assert_eq!(line(1_500, 1_750), (100, 150));
        assert_eq!(line(1_500, 1_500), (100, 104));
        assert_eq!(line(2_000, 2_000), (196, 200));
        assert_eq!(line(500, 9_000), (0, 200));
    }
}
