//! The jobs page: scripts that are kept alive.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use unstuck_core::engine::{Command, TaskState};

use super::frame::{Frame, Here, page};
use super::{Fail, room};
use crate::api::Shared;
use crate::auth::{Caller, Csrf, Role};
use crate::desk::{JobStanding, Stand};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "jobs.html")]
struct Jobs {
    frame: Frame,
    jobs: Vec<JobCard>,
}

struct JobCard {
    project: Arc<str>,
    job: JobStanding,
    mood: &'static str,
    /// The question whose answer it waits for.
    question: Option<u32>,
}

pub(super) async fn jobs(
    State(site): State<Shared>,
    caller: Caller,
    csrf: Csrf,
) -> Result<Response, Fail> {
    let frame = Frame::new(&site, &caller, &csrf, Here::Jobs, "Jobs").await?;
    let mut jobs = Vec::new();
    for room in site.seen_by(&caller) {
        for job in room.desk.jobs().await? {
            let mood = match job.standing {
                Stand::Running => "working",
                Stand::Idle => "plain",
                Stand::NeedsAttention => "asks",
                Stand::Stopped => "paused",
            };
            let question = job.row.as_ref().and_then(|row| match row.moved.state {
                TaskState::Parked { question, .. } => Some(question.0),
                _ => None,
            });
            jobs.push(JobCard { project: Arc::clone(&room.name), job, mood, question });
        }
    }
    Ok(page(&Jobs { frame, jobs }))
}

/// Carries out an operator's command about a job.
pub(super) async fn order(
    State(site): State<Shared>,
    caller: Caller,
    Path((project, job, order)): Path<(String, String, String)>,
) -> Result<Response, Fail> {
    caller.needs(Role::Operator)?;
    let room = room(&site, &caller, &project)?;
    let known = room.desk.jobs().await?;
    let task = known.iter().find(|known| known.name == job).and_then(JobStanding::task);
    let task = task.ok_or_else(|| Problem::unknown("job", &job))?;
    let command = match order.as_str() {
        "run" => Command::FireJob { task },
        "pause" => Command::HoldJob { task },
        "resume" => Command::ReleaseJob { task },
        _ => return Err(Problem::new(StatusCode::NOT_FOUND, "there is no such command").into()),
    };
    room.desk.command(caller.wants(command)).await?;
    Ok(Redirect::to("/jobs").into_response())
}
