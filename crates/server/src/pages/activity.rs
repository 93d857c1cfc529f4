//! The activity feed: events in plain sentences, with the technical details folded away.

use std::collections::HashMap;

use unstuck_core::engine::{
    BuildId, Event, RecordedEvent, RedCheck, Rule, SkipReason, Subject, TaskId,
};
use unstuck_core::tell::{EventFacts, RedCheckText, brief, describe_event};
use unstuck_core::time::Time;
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_store::{BuildLookup, EventPage, StoreError};

use super::frame::TimeLabel;
use crate::server_state::HostedProject;

/// Number of events that are read at a time.
const WINDOW: u64 = 500;
/// Maximum number of reads for one page: if this build is quiet and others are not, the rest is on
/// the page before.
const WINDOWS_MAX: usize = 20;
/// Maximum number of lines that are shown.
const LINES_MAX: usize = 60;
/// Maximum number of lines of a red check's output that are shown unfolded.
const UNFOLDED_LINES_MAX: usize = 8;

/// A line of the feed.
pub(super) struct ActivityLine {
    pub(super) at: TimeLabel,
    /// The style: `good`, `bad`, `asks`, `plain`.
    pub(super) mood: &'static str,
    pub(super) says: String,
    /// The task it is about, if the sentence does not name it.
    pub(super) about: Option<String>,
    /// The technical details.
    pub(super) kind: String,
    pub(super) why: Option<String>,
    pub(super) seq: u64,
    /// The checks that were red before any work, if the line is about them.
    pub(super) red: Vec<RedCheckView>,
}

/// A check that was red before any work, with the last lines of its output.
pub(super) struct RedCheckView {
    /// The id on its page.
    pub(super) id: String,
    pub(super) text: RedCheckText,
    /// `true` if the output is short and shown unfolded.
    pub(super) unfolded: bool,
}

impl RedCheckView {
    /// Returns the views of checks; `place` is the part of the page that they are in.
    pub(super) fn list_checks(place: &str, red: &[RedCheck]) -> Vec<Self> {
        let view = |(at, red): (usize, &RedCheck)| {
            let text = RedCheckText::from_check(red);
            let unfolded = text.output.lines().count() <= UNFOLDED_LINES_MAX;
            Self { id: format!("{place}-{at}"), text, unfolded }
        };
        red.iter().enumerate().map(view).collect()
    }
}

/// A part of the feed, the newest line first.
#[derive(Default)]
pub(super) struct ActivityFeed {
    pub(super) lines: Vec<ActivityLine>,
    /// The position before which there are earlier events.
    pub(super) earlier: Option<u64>,
}

/// Returns the events of a build before a position, or the latest.
pub(super) async fn load_feed(
    room: &HostedProject,
    build: BuildId,
    tasks: &[TaskRow],
    before: Option<u64>,
    now: Time,
) -> Result<ActivityFeed, StoreError> {
    let known: HashMap<TaskId, &TaskRow> = tasks.iter().map(|row| (row.id, row)).collect();
    let newest = room.store.load_newest_seq(&room.name).await?;
    let mut upto = before.map_or(newest, |before| newest.min(before.saturating_sub(1)));
    let mut places = BuildLookup::default();
    let mut feed = ActivityFeed::default();
    for _ in 0..WINDOWS_MAX {
        let events = load_window(room, upto).await?;
        // Journals have no gaps: a missing event was dropped, and so were all before it.
        if events.is_empty() {
            return Ok(feed);
        }
        for recorded in events.iter().rev() {
            upto = recorded.seq - 1;
            let about = places.resolve_subject(room.store.as_ref(), &room.name, recorded).await?;
            if about.build.is_some_and(|of| of != build) {
                continue;
            }
            let row = about.task.and_then(|task| known.get(&task).copied());
            if let Some(mood) = event_mood(recorded) {
                let says = describe_in_build(room, recorded, row, &known).await?;
                let name = row.map(|row| brief::task_name(row.id, &row.spec));
                let about = name.filter(|name| !says.contains(name.as_str()));
                feed.lines.push(ActivityLine { about, ..make_line(recorded, mood, says, now) });
            }
            if about.build.is_some() && matches!(recorded.event, Event::BuildStarted { .. }) {
                return Ok(feed);
            }
            if feed.lines.len() == LINES_MAX {
                feed.earlier = Some(recorded.seq);
                return Ok(feed);
            }
        }
    }
    feed.earlier = Some(upto + 1);
    Ok(feed)
}

/// Reads the last events up to a position, oldest first.
async fn load_window(room: &HostedProject, upto: u64) -> Result<Vec<RecordedEvent>, StoreError> {
    let after = upto.saturating_sub(WINDOW);
    let limit = u32::try_from(upto - after).unwrap_or(u32::MAX);
    if limit == 0 {
        return Ok(Vec::new());
    }
    room.store.load_events(&room.name, EventPage { after, limit }).await
}

fn make_line(
    recorded: &RecordedEvent,
    mood: &'static str,
    says: String,
    now: Time,
) -> ActivityLine {
    let kind = serde_json::to_value(&recorded.event).ok();
    let kind = kind.as_ref().and_then(|event| event["type"].as_str()).unwrap_or("event").to_owned();
    let code = recorded.code().map(|code| format!(" · {code}")).unwrap_or_default();
    let why = recorded.why.as_ref().map(|why| {
        let counts = brief::render_counts(why);
        let counts =
            if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
        format!("{}{counts}", brief::render_rule(why))
    });
    let red = match &recorded.event {
        Event::BaseChecked { red, .. } => {
            RedCheckView::list_checks(&format!("red-{}", recorded.seq), red)
        }
        _ => Vec::new(),
    };
    ActivityLine {
        at: TimeLabel::new(recorded.at, now),
        mood,
        says,
        about: None,
        kind: format!("{kind}{code}"),
        why,
        seq: recorded.seq,
        red,
    }
}

/// Returns the style of an event's line, or `None` for an event that only matters to machines.
fn event_mood(recorded: &RecordedEvent) -> Option<&'static str> {
    Some(match &recorded.event {
        // The pause of a build is told by its own event.
        Event::QuestionAsked { question } if matches!(question.subject, Subject::Build(_)) => {
            return None;
        }
        Event::BuildWaiting { .. }
        | Event::BuildPaused { .. }
        | Event::QuestionJoined { .. }
        | Event::QuestionAsked { .. } => "asks",
        Event::BuildCompleted { .. }
        | Event::GatePassing { untried: false, .. }
        | Event::TaskDone { unchanged: None, .. } => "good",
        Event::BuildFailed { .. } | Event::TaskFailed { .. } => "bad",
        Event::BaseChecked { red, .. } if !red.is_empty() => "bad",
        Event::TaskReady { .. }
            if recorded.why.as_ref().is_some_and(|why| why.rule == Rule::RecoveredAfterCrash) =>
        {
            "plain"
        }
        Event::BuildStarted { .. }
        | Event::BuildResumed { .. }
        | Event::BuildCancelled { .. }
        | Event::Sleeping { .. }
        | Event::Waking { .. }
        | Event::RunStarted { retry_of: None, .. }
        | Event::Narrated { .. }
        | Event::Remarked { .. }
        | Event::Retrying { .. }
        | Event::GateWaiting { .. }
        | Event::TaskBackingOff { until: Some(_), .. }
        | Event::TaskUnparked { .. }
        | Event::TaskReconciling { .. }
        | Event::MutationReconciled { .. }
        | Event::Nudged { .. }
        | Event::TaskDone { .. }
        | Event::TaskSkipped { .. }
        | Event::TaskCancelled { .. } => "plain",
        _ => return None,
    })
}

/// Returns the sentence for an event; `known` are the tasks of the build.
async fn describe_in_build(
    room: &HostedProject,
    recorded: &RecordedEvent,
    row: Option<&TaskRow>,
    known: &HashMap<TaskId, &TaskRow>,
) -> Result<String, StoreError> {
    let needs = match &recorded.event {
        Event::TaskSkipped { left: SkipReason::Needs { task }, .. } => known.get(task),
        _ => None,
    };
    let action = match &recorded.event {
        Event::MutationReconciled { mutation, .. } => {
            room.store.load_mutation(&room.name, *mutation).await?
        }
        _ => None,
    };
    let tally = match &recorded.event {
        Event::BuildCompleted { build } => {
            let builds = room.store.load_builds(&room.name).await?;
            builds.iter().find(|row| row.id == *build).map(BuildRow::tally)
        }
        _ => None,
    };
    let facts = EventFacts {
        attempts: row.map_or(0, |row| row.moved.attempts),
        needs: needs.map_or("", |row| row.spec.display_name()),
        failure: row.and_then(|row| row.moved.failure.as_deref()),
        action: action.map(|action| action.spec.kind),
        tally,
        ..row.map_or_else(EventFacts::default, |row| EventFacts::from_spec(&row.spec))
    };
    Ok(describe_event(recorded, &facts))
}
