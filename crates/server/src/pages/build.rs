//! The page of a build: its state, its tasks, its events and its cost.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;
use unstuck_core::engine::{BuildId, Command, Left, TaskId, TaskState};
use unstuck_core::tell::brief;
use unstuck_core::time::Time;
use unstuck_runner::kicks;
use unstuck_store::tables::TaskRow;

use super::activity::{self, Feed};
use super::chart::{self, Chart};
use super::frame::{Frame, Here, page};
use super::glance::Glance;
use super::words::When;
use super::{Fail, encoded, room};
use crate::api::{Shared, build_of};
use crate::auth::{Caller, Csrf, Role};
use crate::desk::Refused;
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "build.html")]
struct Build {
    frame: Frame,
    glance: Glance,
    columns: Vec<Column>,
    feed: Feed,
    /// `true` if newer events are on another page.
    is_earlier: bool,
    charts: Vec<Chart>,
    can_kick: bool,
}

/// A column of the board.
struct Column {
    title: &'static str,
    empty: &'static str,
    cards: Vec<TaskCard>,
}

/// A task on the board.
pub(super) struct TaskCard {
    pub(super) id: TaskId,
    pub(super) name: String,
    pub(super) mood: &'static str,
    pub(super) says: String,
    pub(super) until: Option<When>,
    pub(super) attempts: u32,
    pub(super) question: Option<u32>,
}

impl TaskCard {
    pub(super) fn of(row: &TaskRow, now: Time) -> Self {
        let (mood, says) = match (&row.moved.state, &row.moved.unchanged) {
            (TaskState::Done, Some(_)) => ("good", "no change needed".to_owned()),
            (state, _) => stands(state),
        };
        let until = match row.moved.state {
            TaskState::BackingOff { until: Some(until), .. } if until > now => {
                Some(When::new(until, now))
            }
            _ => None,
        };
        let question = match row.moved.state {
            TaskState::Parked { question, .. } => Some(question.0),
            _ => None,
        };
        let name = brief::name(row.id, &row.spec);
        Self { id: row.id, name, mood, says, until, attempts: row.moved.attempts, question }
    }
}

fn stands(state: &TaskState) -> (&'static str, String) {
    match state {
        TaskState::Pending { .. } => ("plain", "to come".to_owned()),
        TaskState::Running { .. } => ("working", "at work".to_owned()),
        TaskState::BackingOff { gate: Some(_), .. } => {
            ("resting", "waits for its account".to_owned())
        }
        TaskState::BackingOff { .. } => ("resting", "waits and goes on by itself".to_owned()),
        TaskState::Parked { .. } => ("asks", "waits for you".to_owned()),
        TaskState::Reconciling { .. } => {
            ("working", "checks whether its last action went through".to_owned())
        }
        TaskState::Done => ("good", "done".to_owned()),
        TaskState::Skipped { left: Left::Decided } => ("plain", "left out, as chosen".to_owned()),
        TaskState::Skipped { left: Left::Denied } => ("plain", "left out: not allowed".to_owned()),
        TaskState::Skipped { left: Left::Needs { .. } } => {
            ("plain", "left out: it needs another task".to_owned())
        }
        TaskState::Failed { .. } => ("bad", "failed".to_owned()),
        TaskState::Cancelled => ("plain", "not finished".to_owned()),
    }
}

fn columns(tasks: &[TaskRow], now: Time) -> Vec<Column> {
    let of = |wanted: fn(&TaskState) -> bool| {
        tasks
            .iter()
            .filter(|row| wanted(&row.moved.state))
            .map(|row| TaskCard::of(row, now))
            .collect()
    };
    vec![
        Column {
            title: "Waiting for you",
            empty: "Nothing waits for you.",
            cards: of(|state| matches!(state, TaskState::Parked { .. })),
        },
        Column {
            title: "At work",
            empty: "Nothing is at work.",
            cards: of(|state| {
                matches!(
                    state,
                    TaskState::Running { .. }
                        | TaskState::Reconciling { .. }
                        | TaskState::BackingOff { .. }
                )
            }),
        },
        Column {
            title: "To come",
            empty: "Nothing is left to begin.",
            cards: of(|state| matches!(state, TaskState::Pending { .. })),
        },
        Column { title: "Over", empty: "Nothing is done yet.", cards: of(TaskState::has_ended) },
    ]
}

/// The part of the events to show.
#[derive(Debug, Deserialize)]
pub(super) struct Part {
    before: Option<u64>,
}

pub(super) async fn build(
    State(site): State<Shared>,
    caller: Caller,
    csrf: Csrf,
    Path((project, build)): Path<(String, u32)>,
    Query(part): Query<Part>,
) -> Result<Response, Fail> {
    let room = room(&site, &caller, &project)?;
    let title = format!("{project}, build {build}");
    let frame = Frame::new(&site, &caller, &csrf, Here::Work, title).await?;
    let row = build_of(&room, BuildId(build)).await?;
    let tasks = room.store.tasks(&room.name, row.id).await?;
    let feed = activity::feed(&room, row.id, &tasks, part.before, frame.now).await?;
    let is_earlier = part.before.is_some();
    let charts = [chart::costs(&tasks), chart::times(&tasks)].into_iter().flatten().collect();
    let can_kick = !kicks(&tasks).is_empty();
    let glance = Glance::of(&room, &row, frame.now);
    let columns = columns(&tasks, frame.now);
    Ok(page(&Build { frame, glance, columns, feed, is_earlier, charts, can_kick }))
}

/// Carries out an operator's command about a build.
pub(super) async fn order(
    State(site): State<Shared>,
    caller: Caller,
    Path((project, build, order)): Path<(String, u32, String)>,
) -> Result<Response, Fail> {
    caller.needs(Role::Operator)?;
    let room = room(&site, &caller, &project)?;
    let build = build_of(&room, BuildId(build)).await?.id;
    let commands = match order.as_str() {
        "pause" => vec![Command::Pause { build }],
        "resume" => vec![Command::Resume { build }],
        "cancel" => vec![Command::Cancel { build }],
        "kick" => kicks(&room.store.tasks(&room.name, build).await?),
        _ => return Err(Problem::new(StatusCode::NOT_FOUND, "there is no such command").into()),
    };
    for command in commands {
        match room.desk.command(caller.wants(command)).await {
            // A wait that has ended meanwhile is no error.
            Err(Refused::NotNow(_)) if order == "kick" => {}
            decided => drop(decided?),
        }
    }
    Ok(Redirect::to(&format!("/work/{}/{}", encoded(&project), build.0)).into_response())
}
