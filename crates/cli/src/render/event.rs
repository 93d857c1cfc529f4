//! An event as every program reads it.

use std::io::{self, Write};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;
use unstuck_core::engine::{BuildId, Event, Recorded, RunId, TaskId, Why};
use unstuck_core::fault::{Category, Code};
use unstuck_core::time::Time;

use super::json::json_line;

/// An event with its surroundings, as every reader of events gets it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Event")]
struct Envelope<'a> {
    /// Its position in the project's journal, without gaps.
    seq: u64,
    /// When it happened, in milliseconds since the Unix epoch.
    at: Time,
    /// The project.
    project: &'a str,
    /// The build it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<BuildId>,
    /// The task it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskId>,
    /// The run it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// The failure that it is about, so that nobody has to look for it in what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    /// The category of that failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<Category>,
    /// Why it was decided, where it was a decision.
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

/// The JSON schema of such a line.
pub(crate) fn event_schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<Envelope<'_>>().to_value()
}
