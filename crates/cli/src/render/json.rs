//! Writes JSON for programs, and the schema of events in it.

use std::io::{self, Write};

use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;
use unstuck_core::engine::{EventEnvelope, RecordedEvent};

/// Writes a value as indented JSON.
pub(crate) fn write_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// Writes a value on one line with a single write, because other processes may write to the same place.
pub(crate) fn write_json_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    out.write_all(&line)
}

pub(crate) fn write_event_json(
    out: &mut impl Write,
    project: &str,
    recorded: &RecordedEvent,
) -> io::Result<()> {
    write_json_line(out, &recorded.to_envelope(project))
}

/// Returns the JSON schema of the line of an event.
pub(crate) fn event_schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<EventEnvelope<'_>>().to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content of each write.
    #[derive(Default)]
    struct Writes(Vec<Vec<u8>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_written_at_once() {
        let mut out = Writes::default();
        write_json_line(&mut out, &serde_json::json!({"seq": 1, "data": [1, 2]})).unwrap();
        assert_eq!(out.0, [b"{\"data\":[1,2],\"seq\":1}\n"]);
    }
}
