//! The page of a task, with its attempts as a chain that can be unfolded.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use unstuck_core::engine::{BuildId, Command, TaskId};
use unstuck_core::tell::brief;
use unstuck_core::text::brief::{amount, length, money, number};
use unstuck_core::text::failed;
use unstuck_core::time::Span;
use unstuck_store::tables::{RunEnd, RunRow, RunStatus, TaskRow};

use super::build::TaskCard;
use super::frame::{Frame, Here, page};
use super::words::When;
use super::{Fail, encoded, room};
use crate::api::Shared;
use crate::auth::{Caller, Csrf, Role};
use crate::problem::Problem;
use crate::site::Room;

#[derive(Template)]
#[template(path = "task.html")]
struct Task {
    frame: Frame,
    project: String,
    build: u32,
    card: TaskCard,
    goal: String,
    over: bool,
    cost: Option<String>,
    worked: Option<String>,
    /// The attempts, the oldest first.
    links: Vec<Link>,
}

/// A run of the chain.
struct Link {
    id: u64,
    says: String,
    mood: &'static str,
    began: When,
    took: Option<String>,
    spent: String,
    /// The run that it retries and the number of that attempt, if it is not the previous one.
    follows: Option<(u64, usize)>,
    /// The technical details.
    code: Option<String>,
    message: Option<String>,
    decisions: Vec<String>,
}

pub(super) async fn task(
    State(site): State<Shared>,
    caller: Caller,
    csrf: Csrf,
    Path((project, build, task)): Path<(String, u32, u32)>,
) -> Result<Response, Fail> {
    let room = room(&site, &caller, &project)?;
    let mut frame = Frame::new(&site, &caller, &csrf, Here::Work, "").await?;
    let row = found(&room, BuildId(build), TaskId(task)).await?;
    frame.title = brief::name(row.id, &row.spec);
    let runs = room.store.runs(&room.name, row.id).await?;
    let mut links = Vec::with_capacity(runs.len());
    for (at, run) in runs.iter().enumerate() {
        links.push(Link { follows: follows(&runs, at), ..link(&room, run, &frame).await? });
    }
    let cost = money(row.moved.spent);
    let worked = Some(row.moved.spent.time_ms).filter(|ms| *ms > 0);
    let worked = worked.map(|ms| length(Span::from_millis(ms)));
    let card = TaskCard::of(&row, frame.now);
    let goal = row.spec.goal.clone();
    let over = row.moved.state.has_ended();
    Ok(page(&Task { frame, project, build, card, goal, over, cost, worked, links }))
}

async fn found(room: &Room, build: BuildId, task: TaskId) -> Result<TaskRow, Problem> {
    let row = room.store.task(&room.name, task).await?.filter(|row| row.build == build);
    row.ok_or_else(|| Problem::unknown("task", task))
}

/// Returns the run that an attempt retries, if it is not the previous one.
fn follows(runs: &[RunRow], at: usize) -> Option<(u64, usize)> {
    let before = runs[at].retry_of?;
    let number = runs.iter().position(|run| run.id == before)? + 1;
    (number != at).then_some((before.0, number))
}

async fn link(room: &Room, run: &RunRow, frame: &Frame) -> Result<Link, Problem> {
    let decisions = if frame.sees_detail() {
        let decided = room.store.decisions(&room.name, run.id).await?;
        decided.iter().filter_map(|recorded| recorded.why.as_ref()).map(why).collect()
    } else {
        Vec::new()
    };
    let (mood, says) = stands(run);
    let fault = run.fault.as_ref().filter(|_| frame.sees_detail());
    Ok(Link {
        id: run.id.0,
        says,
        mood,
        began: When::new(run.started_at, frame.now),
        took: run.ended_at.map(|end| length(end.since(run.started_at))),
        spent: amount(run.spent),
        follows: None,
        code: fault.map(|fault| fault.code().to_string()),
        message: fault.map(|fault| fault.message.clone()),
        decisions,
    })
}

fn why(why: &unstuck_core::engine::Why) -> String {
    let counts = brief::counts(why);
    if counts.is_empty() {
        brief::rule(why).to_owned()
    } else {
        format!("{} ({})", brief::rule(why), counts.join(", "))
    }
}

/// Returns the outcome of a run, in a sentence without technical details.
fn stands(run: &RunRow) -> (&'static str, String) {
    let because = run.fault.as_ref().map(|fault| failed(fault.code(), false));
    let because = because.map(|why| format!(", because {why}")).unwrap_or_default();
    match run.status {
        RunStatus::Over(RunEnd::Committed) => ("good", "This attempt succeeded.".to_owned()),
        RunStatus::Over(RunEnd::Crashed) => {
            ("plain", "This attempt was cut off; the next one went on.".to_owned())
        }
        RunStatus::Over(RunEnd::Cancelled) => ("plain", "A person ended this attempt.".to_owned()),
        RunStatus::Standing(_) if run.ended_at.is_some() => {
            ("bad", format!("This attempt failed{because}."))
        }
        RunStatus::Standing(_) => {
            let rounds = number(run.iterations as usize, "round", "rounds");
            ("working", format!("This attempt is open, after {rounds}{because}."))
        }
    }
}

/// Carries out an operator's command about a task.
pub(super) async fn order(
    State(site): State<Shared>,
    caller: Caller,
    Path((project, build, task, order)): Path<(String, u32, u32, String)>,
) -> Result<Response, Fail> {
    caller.needs(Role::Operator)?;
    let room = room(&site, &caller, &project)?;
    let task = found(&room, BuildId(build), TaskId(task)).await?.id;
    let command = match order.as_str() {
        "retry" => Command::Retry { task },
        "skip" => Command::Skip { task },
        _ => return Err(Problem::new(StatusCode::NOT_FOUND, "there is no such command").into()),
    };
    room.desk.command(caller.wants(command)).await?;
    let back = format!("/work/{}/{build}/tasks/{}", encoded(&project), task.0);
    Ok(Redirect::to(&back).into_response())
}
