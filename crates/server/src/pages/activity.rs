//! The activity feed: events in plain sentences, with the technical details folded away.

use std::collections::HashMap;

use unstuck_core::engine::{
    BuildId, Event, PauseCause, Reconciled, RecordedEvent, SkipReason, TaskId,
};
use unstuck_core::fault::{BudgetSpan, Work};
use unstuck_core::tell::{Narration, brief, render_narration};
use unstuck_core::time::Time;
use unstuck_store::tables::TaskRow;
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
            if let Some((mood, says)) = describe_event(recorded, row, &known) {
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
    ActivityLine {
        at: TimeLabel::new(recorded.at, now),
        mood,
        says,
        about: None,
        kind: format!("{kind}{code}"),
        why,
        seq: recorded.seq,
    }
}

/// Returns the sentence for an event, or `None` for one that only matters to machines.
fn describe_event(
    recorded: &RecordedEvent,
    row: Option<&TaskRow>,
    known: &HashMap<TaskId, &TaskRow>,
) -> Option<(&'static str, String)> {
    use Narration as N;
    let named = |row: Option<&TaskRow>| {
        row.map_or(String::new(), |row| {
            let names = [&row.spec.title, &row.spec.name];
            names.into_iter().find(|name| !name.trim().is_empty()).cloned().unwrap_or_default()
        })
    };
    let work = match row {
        Some(row) if row.spec.job.is_some() => Work::Job,
        _ => Work::Task,
    };
    let title = named(row);
    let title = title.as_str();
    let tell = |narration: N<'_>| render_narration(&narration, work);
    let told = match &recorded.event {
        Event::BuildStarted { plan, .. } => {
            let tasks = unstuck_core::text::brief::render_count(plan.len(), "task", "tasks");
            ("plain", format!("Build started with {tasks}."))
        }
        Event::BuildWaiting { .. } => ("asks", "Everything left waits for your answer.".to_owned()),
        Event::BuildResumed { .. } => ("plain", "Work continues.".to_owned()),
        Event::BuildCompleted { .. } => ("good", "Build finished.".to_owned()),
        Event::BuildFailed { .. } => ("bad", "Build failed.".to_owned()),
        Event::BuildCancelled { .. } => ("plain", "Build cancelled.".to_owned()),
        Event::BuildPaused { cause, open_questions, .. } => (
            "asks",
            match cause {
                PauseCause::Person => tell(N::PausedByPerson),
                PauseCause::Questions => tell(N::BuildPaused { open: *open_questions }),
                PauseCause::Budget => tell(N::BudgetSpent { span: BudgetSpan::Build }),
            },
        ),
        Event::Sleeping { until, .. } => {
            ("plain", tell(N::Sleeping { wakes_in: until.since(recorded.at) }))
        }
        Event::Waking { .. } => ("plain", tell(N::Waking)),
        Event::RunStarted { retry_of: None, .. } => ("plain", tell(N::Started { title })),
        Event::Narrated { text, .. } => ("plain", tell(N::Remark { title, words: text })),
        Event::Remarked { text, .. } => ("plain", tell(N::Noted { words: text })),
        Event::Retrying { attempt, code, approach, of, .. } => {
            let (attempt, of) = match approach {
                0 => (attempt.saturating_add(1), 0),
                known => (*known, *of),
            };
            let narration = if work == Work::Job {
                N::Repairing { title, attempt, of, code: *code }
            } else {
                N::Retrying { title, attempt, of, code: *code }
            };
            ("plain", tell(narration))
        }
        Event::GateWaiting { until, code, .. } => {
            let resumes_in = Some(until.since(recorded.at));
            ("plain", tell(N::Waiting { code: *code, resumes_in }))
        }
        Event::GatePassing { untried: false, .. } => ("good", tell(N::GateOpen)),
        Event::TaskBackingOff { until: Some(until), .. } => {
            let code = recorded.code()?;
            let wait = until.since(recorded.at);
            ("plain", tell(N::BackingOff { title, code, wait, fault: None }))
        }
        Event::TaskParked { .. } => {
            ("asks", tell(N::Parked { title, code: recorded.code(), dependants: 0 }))
        }
        Event::QuestionJoined { .. } => ("asks", tell(N::Joined { title })),
        Event::TaskUnparked { .. } => ("plain", tell(N::Resumed { title })),
        Event::TaskReconciling { .. } => ("plain", tell(N::Reconciling { title })),
        Event::MutationReconciled { to, .. } => {
            let happened = matches!(to, Reconciled::Applied);
            ("plain", tell(N::Reconciled { title, happened }))
        }
        Event::BaseChecked { red, .. } => ("bad", tell(N::RedBase { red: red.first()? })),
        Event::Nudged { .. } => ("plain", tell(N::Nudged { title })),
        Event::TaskDone { unchanged: Some(_), .. } => ("good", tell(N::Unchanged { title })),
        Event::TaskDone { .. } => {
            let attempts = row.map_or(1, |row| row.moved.attempts.max(1));
            ("good", tell(N::Done { title, attempts }))
        }
        Event::TaskFailed { code, .. } => ("bad", tell(N::Failed { title, code: *code })),
        Event::TaskSkipped { left: SkipReason::Needs { task }, .. } => {
            let needs = named(known.get(task).copied());
            ("plain", tell(N::Skipped { title, needs: &needs }))
        }
        Event::TaskSkipped { .. } => ("plain", tell(N::LeftOut { title })),
        Event::TaskCancelled { .. } => ("plain", tell(N::Cancelled { title })),
        Event::RunCrashed { clean: false, .. } => ("plain", tell(N::CrashedAndResumed { title })),
        _ => return None,
    };
    Some(told)
}
