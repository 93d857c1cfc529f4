//! The page of a task, with its attempts as a chain that can be unfolded.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use unstuck_core::engine::{BuildId, Command, TaskId};
use unstuck_core::tell::brief;
use unstuck_core::text::brief::{render_amount, render_count, render_duration, render_money};
use unstuck_core::text::failure_phrase;
use unstuck_core::time::Span;
use unstuck_store::tables::{RunEnd, RunRow, RunStatus};

use super::build::TaskCard;
use super::frame::{PageFrame, PageRequest, SiteSection, TimeLabel};
use super::{PageError, encode_segment};
use crate::api::load_task;
use crate::auth::AccessRole;
use crate::html::render_page;
use crate::problem::Problem;
use crate::server_state::HostedProject;

#[derive(Template)]
#[template(path = "task.html")]
struct TaskPage {
    frame: PageFrame,
    project: String,
    build: u32,
    card: TaskCard,
    goal: String,
    over: bool,
    cost: Option<String>,
    worked: Option<String>,
    /// The attempts, the oldest first.
    links: Vec<RunCard>,
}

struct RunCard {
    id: u64,
    says: String,
    mood: &'static str,
    began: TimeLabel,
    took: Option<String>,
    spent: String,
    /// The run that it retries and the number of that attempt, if it is not the previous one.
    follows: Option<(u64, usize)>,
    /// The technical details.
    code: Option<String>,
    message: Option<String>,
    decisions: Vec<String>,
}

pub(super) async fn show_task(
    request: PageRequest,
    Path((project, build, task)): Path<(String, u32, u32)>,
) -> Result<Response, PageError> {
    let hosted = request.find_project(&project)?;
    let mut frame = PageFrame::new(&request, SiteSection::Work, "").await?;
    let row = load_task(&hosted, BuildId(build), TaskId(task)).await?;
    frame.title = brief::task_name(row.id, &row.spec);
    let runs = hosted.store.load_task_runs(&hosted.name, row.id).await?;
    let mut links = Vec::with_capacity(runs.len());
    for (at, run) in runs.iter().enumerate() {
        links.push(RunCard {
            follows: find_retried_run(&runs, at),
            ..load_run_card(&hosted, run, &frame).await?
        });
    }
    let cost = render_money(row.moved.spent);
    let worked = Some(row.moved.spent.time_ms).filter(|ms| *ms > 0);
    let worked = worked.map(|ms| render_duration(Span::from_millis(ms)));
    let card = TaskCard::from_row(&row, frame.now);
    let goal = row.spec.goal.clone();
    let over = row.moved.state.has_ended();
    Ok(render_page(&TaskPage { frame, project, build, card, goal, over, cost, worked, links }))
}

/// Returns the run that an attempt retries, if it is not the previous one.
fn find_retried_run(runs: &[RunRow], at: usize) -> Option<(u64, usize)> {
    let before = runs[at].retry_of?;
    let number = runs.iter().position(|run| run.id == before)? + 1;
    (number != at).then_some((before.0, number))
}

async fn load_run_card(
    hosted: &HostedProject,
    run: &RunRow,
    frame: &PageFrame,
) -> Result<RunCard, Problem> {
    let decisions = if frame.sees_detail() {
        let decided = hosted.store.load_run_decisions(&hosted.name, run.id).await?;
        decided.iter().filter_map(|recorded| recorded.why.as_ref()).map(explain_decision).collect()
    } else {
        Vec::new()
    };
    let (mood, says) = describe_run(run);
    let fault = run.fault.as_ref().filter(|_| frame.sees_detail());
    Ok(RunCard {
        id: run.id.0,
        says,
        mood,
        began: TimeLabel::new(run.started_at, frame.now),
        took: run.ended_at.map(|end| render_duration(end.since(run.started_at))),
        spent: render_amount(run.spent),
        follows: None,
        code: fault.map(|fault| fault.code().to_string()),
        message: fault.map(|fault| fault.message.clone()),
        decisions,
    })
}

fn explain_decision(why: &unstuck_core::engine::Why) -> String {
    let counts = brief::render_counts(why);
    if counts.is_empty() {
        brief::render_rule(why).to_owned()
    } else {
        format!("{} ({})", brief::render_rule(why), counts.join(", "))
    }
}

/// Returns the outcome of a run, in a sentence without technical details.
fn describe_run(run: &RunRow) -> (&'static str, String) {
    let because = run.fault.as_ref().map(|fault| failure_phrase(fault.code(), false));
    let because = because.map(|why| format!(", because {why}")).unwrap_or_default();
    match run.status {
        RunStatus::Over(RunEnd::Committed) => ("good", "This attempt succeeded.".to_owned()),
        RunStatus::Over(RunEnd::Crashed) => {
            ("plain", "This attempt was interrupted; the next one continued.".to_owned())
        }
        RunStatus::Over(RunEnd::Cancelled) => ("plain", "A person ended this attempt.".to_owned()),
        RunStatus::Standing(_) if run.ended_at.is_some() => {
            ("bad", format!("This attempt failed{because}."))
        }
        RunStatus::Standing(_) => {
            let rounds = render_count(run.iterations as usize, "round", "rounds");
            ("working", format!("This attempt is open, after {rounds}{because}."))
        }
    }
}

/// Carries out an operator's command about a task.
pub(super) async fn submit_task_command(
    request: PageRequest,
    Path((project, build, task, action)): Path<(String, u32, u32, String)>,
) -> Result<Response, PageError> {
    request.caller.require_role(AccessRole::Operator)?;
    let hosted = request.find_project(&project)?;
    let task = load_task(&hosted, BuildId(build), TaskId(task)).await?.id;
    let command = match action.as_str() {
        "retry" => Command::Retry { task },
        "skip" => Command::Skip { task },
        _ => return Err(Problem::new(StatusCode::NOT_FOUND, "there is no such command").into()),
    };
    hosted.host.submit_command(request.caller.attribute_command(command)).await?;
    let back = format!("/work/{}/{build}/tasks/{}", encode_segment(&project), task.0);
    Ok(Redirect::to(&back).into_response())
}
