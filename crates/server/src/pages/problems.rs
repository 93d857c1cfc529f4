//! The problems: every error that was met, got past or not.

use std::collections::HashSet;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use unstuck_core::text::failed;
use unstuck_store::tables::QuestionStatus;

use super::Fail;
use super::frame::{Frame, Here, page};
use super::words::When;
use crate::api::Shared;
use crate::auth::{Caller, Csrf, Role};
use crate::problem::sentence;

/// Problems that are shown.
const PROBLEMS_MAX: usize = 200;

#[derive(Template)]
#[template(path = "problems.html")]
struct Problems {
    frame: Frame,
    rows: Vec<Row>,
    open: usize,
    past: usize,
}

struct Row {
    project: Arc<str>,
    says: String,
    code: String,
    signature: String,
    total: u64,
    first: When,
    last: When,
    /// `open`, `trying` or `past`.
    stands: &'static str,
    mood: &'static str,
}

pub(super) async fn problems(
    State(site): State<Shared>,
    caller: Caller,
    csrf: Csrf,
) -> Result<Response, Fail> {
    caller.needs(Role::Viewer)?;
    let frame = Frame::new(&site, &caller, &csrf, Here::Problems, "Problems").await?;
    let mut rows = Vec::new();
    for room in site.seen_by(&caller) {
        let asked = room.store.questions(&room.name, Some(QuestionStatus::Pending)).await?;
        let asked: HashSet<String> = asked.into_iter().map(|row| row.signature).collect();
        for row in room.store.signatures(&room.name).await? {
            let signature = row.signature.to_string();
            let open = asked.iter().any(|known| known.ends_with(&signature));
            let (stands, mood) = match (open, row.count) {
                (true, _) => ("waits for you", "asks"),
                (false, 0) => ("got past", "good"),
                (false, _) => ("being worked on", "working"),
            };
            rows.push(Row {
                project: Arc::clone(&room.name),
                says: sentence(failed(row.signature.code, false)),
                code: row.signature.code.to_string(),
                signature,
                total: row.total,
                first: When::new(row.first_seen, frame.now),
                last: When::new(row.last_seen, frame.now),
                stands,
                mood,
            });
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.last.millis));
    rows.truncate(PROBLEMS_MAX);
    let past = rows.iter().filter(|row| row.stands == "got past").count();
    let open = rows.iter().filter(|row| row.stands == "waits for you").count();
    Ok(page(&Problems { frame, rows, open, past }))
}
