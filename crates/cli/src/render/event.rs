//! An event as every program reads it.

use std::io::{self, Write};

use serde::Serialize;
use unstuck_core::engine::{BuildId, Event, Recorded, RunId, TaskId, Why};
use unstuck_core::fault::{Category, Code};
use unstuck_core::time::Time;

use super::json::json_line;

/// An event with its surroundings, as every reader of events gets it.
#[derive(Serialize)]
struct Envelope<'a> {
    seq: u64,
    at: Time,
    project: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<BuildId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// The failure that it is about, so that nobody has to look for it in what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<Category>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a Why>,
    /// Its `type` and its `data`.
    #[serde(flatten)]
    event: &'a Event,
}

/// Writes an event on one line.
pub(crate) fn event_json(
    out: &mut impl Write,
    project: &str,
    recorded: &Recorded,
) -> io::Result<()> {
    let Recorded { seq, at, why, event } = recorded;
    let about = event.about();
    let (build, task, run) = (about.build, about.task, about.run);
    let (seq, at, why, code) = (*seq, *at, why.as_ref(), recorded.code());
    let category = code.map(|code| code.row().category);
    json_line(out, &Envelope { seq, at, project, build, task, run, code, category, why, event })
}
