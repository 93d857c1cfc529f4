//! The page of a build: its state, its tasks, its events and its cost.

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;
use unstuck_core::engine::{BuildId, Command, TaskId, TaskState};
use unstuck_core::tell::brief;
use unstuck_core::text::failure_phrase_with_facts;
use unstuck_core::time::Time;
use unstuck_runner::collect_kick_commands;
use unstuck_store::tables::TaskRow;

use super::activity::{self, ActivityFeed};
use super::chart::{self, BarChart};
use super::frame::{PageFrame, PageRequest, SiteSection, TimeLabel};
use super::work::BuildCard;
use super::{PageError, encode_segment};
use crate::api::load_build;
use crate::auth::AccessRole;
use crate::html::render_page;
use crate::problem::Problem;
use crate::project_host::ProjectHostError;

#[derive(Template)]
#[template(path = "build.html")]
struct BuildPage {
    frame: PageFrame,
    glance: BuildCard,
    columns: Vec<BoardColumn>,
    feed: ActivityFeed,
    /// `true` if newer events are on another page.
    is_earlier: bool,
    charts: Vec<BarChart>,
    can_kick: bool,
}

struct BoardColumn {
    title: &'static str,
    empty: &'static str,
    cards: Vec<TaskCard>,
}

pub(super) struct TaskCard {
    pub(super) id: TaskId,
    pub(super) name: String,
    pub(super) mood: &'static str,
    pub(super) says: String,
    pub(super) until: Option<TimeLabel>,
    /// The reason for the wait until then.
    pub(super) because: Option<String>,
    pub(super) attempts: u32,
    pub(super) question: Option<u32>,
}

impl TaskCard {
    pub(super) fn from_row(row: &TaskRow, now: Time) -> Self {
        let (mood, says) = match (&row.moved.state, &row.moved.unchanged) {
            (TaskState::Done, Some(_)) => ("plain", brief::NO_CHANGE_NEEDED.to_owned()),
            (state, _) => (state_mood(state), brief::describe_task_state(state, "").into_owned()),
        };
        let until = match row.moved.state {
            TaskState::BackingOff { until: Some(until), .. } if until > now => {
                Some(TimeLabel::new(until, now))
            }
            _ => None,
        };
        let failure = row.moved.failure.as_deref().filter(|_| until.is_some());
        let because = failure.map(failure_phrase_with_facts);
        let question = match row.moved.state {
            TaskState::Parked { question, .. } => Some(question.0),
            _ => None,
        };
        let name = brief::task_name(row.id, &row.spec);
        Self {
            id: row.id,
            name,
            mood,
            says,
            until,
            because,
            attempts: row.moved.attempts,
            question,
        }
    }
}

const fn state_mood(state: &TaskState) -> &'static str {
    match state {
        TaskState::Pending { .. } | TaskState::Skipped { .. } | TaskState::Cancelled => "plain",
        TaskState::Running { .. } | TaskState::Reconciling { .. } => "working",
        TaskState::BackingOff { .. } => "resting",
        TaskState::Parked { .. } => "asks",
        TaskState::Done => "good",
        TaskState::Failed { .. } => "bad",
    }
}

fn board_columns(tasks: &[TaskRow], now: Time) -> Vec<BoardColumn> {
    let of = |wanted: fn(&TaskState) -> bool| {
        tasks
            .iter()
            .filter(|row| wanted(&row.moved.state))
            .map(|row| TaskCard::from_row(row, now))
            .collect()
    };
    vec![
        BoardColumn {
            title: "Waiting for you",
            empty: "Nothing waits for you.",
            cards: of(|state| matches!(state, TaskState::Parked { .. })),
        },
        BoardColumn {
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
        BoardColumn {
            title: "To come",
            empty: "Nothing is left to begin.",
            cards: of(|state| matches!(state, TaskState::Pending { .. })),
        },
        BoardColumn {
            title: "Over",
            empty: "Nothing is done yet.",
            cards: of(TaskState::has_ended),
        },
    ]
}

/// The part of the events to show.
#[derive(Debug, Deserialize)]
pub(super) struct ActivityQuery {
    before: Option<u64>,
}

pub(super) async fn show_build(
    request: PageRequest,
    Path((project, build)): Path<(String, u32)>,
    Query(part): Query<ActivityQuery>,
) -> Result<Response, PageError> {
    let hosted = request.find_project(&project)?;
    let title = format!("{project}, build {build}");
    let frame = PageFrame::new(&request, SiteSection::Work, title).await?;
    let row = load_build(&hosted, BuildId(build)).await?;
    let tasks = hosted.store.load_build_tasks(&hosted.name, row.id).await?;
    let feed = activity::load_feed(&hosted, row.id, &tasks, part.before, frame.now).await?;
    let is_earlier = part.before.is_some();
    let charts =
        [chart::cost_chart(&tasks), chart::time_chart(&tasks)].into_iter().flatten().collect();
    let can_kick = !collect_kick_commands(&tasks).is_empty();
    let glance = BuildCard::from_row(&hosted, &row, frame.now);
    let columns = board_columns(&tasks, frame.now);
    Ok(render_page(&BuildPage { frame, glance, columns, feed, is_earlier, charts, can_kick }))
}

/// Carries out an operator's command about a build.
pub(super) async fn submit_build_command(
    request: PageRequest,
    Path((project, build, action)): Path<(String, u32, String)>,
) -> Result<Response, PageError> {
    request.caller.require_role(AccessRole::Operator)?;
    let hosted = request.find_project(&project)?;
    let build = load_build(&hosted, BuildId(build)).await?.id;
    let commands = match action.as_str() {
        "pause" => vec![Command::Pause { build }],
        "resume" => vec![Command::Resume { build }],
        "cancel" => vec![Command::Cancel { build }],
        "kick" => collect_kick_commands(&hosted.store.load_build_tasks(&hosted.name, build).await?),
        _ => return Err(Problem::new(StatusCode::NOT_FOUND, "there is no such command").into()),
    };
    for command in commands {
        match hosted.host.submit_command(request.caller.attribute_command(command)).await {
            // A wait that has ended meanwhile is no error.
            Err(ProjectHostError::NotNow(_)) if action == "kick" => {}
            decided => drop(decided?),
        }
    }
    Ok(Redirect::to(&format!("/work/{}/{}", encode_segment(&project), build.0)).into_response())
}
