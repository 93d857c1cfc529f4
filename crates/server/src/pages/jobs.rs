//! The jobs page: scripts that are kept alive.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use unstuck_core::engine::{Command, TaskState};

use super::PageError;
use super::frame::{PageFrame, PageRequest, SiteSection};
use crate::auth::AccessRole;
use crate::html::render_page;
use crate::problem::Problem;
use crate::project_host::{JobOverview, Stand};

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobsPage {
    frame: PageFrame,
    jobs: Vec<JobCard>,
}

struct JobCard {
    project: Arc<str>,
    job: JobOverview,
    mood: &'static str,
    /// The question whose answer it waits for.
    question: Option<u32>,
}

pub(super) async fn show_jobs(request: PageRequest) -> Result<Response, PageError> {
    let frame = PageFrame::new(&request, SiteSection::Jobs, "Jobs").await?;
    let mut jobs = Vec::new();
    for hosted in request.projects() {
        for job in hosted.host.list_jobs().await? {
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
            jobs.push(JobCard { project: Arc::clone(&hosted.name), job, mood, question });
        }
    }
    Ok(render_page(&JobsPage { frame, jobs }))
}

/// Carries out an operator's command about a job.
pub(super) async fn submit_job_command(
    request: PageRequest,
    Path((project, job, action)): Path<(String, String, String)>,
) -> Result<Response, PageError> {
    request.caller.require_role(AccessRole::Operator)?;
    let hosted = request.find_project(&project)?;
    let known = hosted.host.list_jobs().await?;
    let task = known.iter().find(|known| known.name == job).and_then(JobOverview::task_id);
    let task = task.ok_or_else(|| Problem::not_found("job", &job))?;
    let command = match action.as_str() {
        "run" => Command::FireJob { task },
        "pause" => Command::HoldJob { task },
        "resume" => Command::ReleaseJob { task },
        _ => return Err(Problem::new(StatusCode::NOT_FOUND, "there is no such command").into()),
    };
    hosted.host.submit_command(request.caller.attribute_command(command)).await?;
    Ok(Redirect::to("/jobs").into_response())
}
