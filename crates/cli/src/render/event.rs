//! Events in the JSON form that programs read.

use std::io::{self, Write};

use schemars::generate::SchemaSettings;
use serde_json::Value;
use unstuck_core::engine::{EventEnvelope, RecordedEvent};

use super::json::write_json_line;

/// Writes an event as JSON on one line.
pub(crate) fn write_event_json(
    out: &mut impl Write,
    project: &str,
    recorded: &RecordedEvent,
) -> io::Result<()> {
    write_json_line(out, &recorded.to_envelope(project))
}

/// Returns the JSON schema of such a line.
pub(crate) fn event_schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<EventEnvelope<'_>>().to_value()
}
