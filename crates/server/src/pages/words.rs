//! Points in time as a page shows them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use unstuck_core::text::brief::render_duration;
use unstuck_core::time::{Span, Time};

/// Maximum age that is shown as "just now".
const JUST_NOW_WITHIN: Span = Span::from_secs(10);

/// A point in time, for people and for the script that keeps it fresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TimeLabel {
    /// The machine-readable form: `2026-11-16T07:12:09Z`.
    pub(super) machine: String,
    /// Milliseconds since the Unix epoch.
    pub(super) millis: u64,
    /// The relative form: `12 min ago`, `in 4 min`.
    pub(super) from_now: String,
    /// The local time of the server: `16 Nov, 07:12`, or `07:12` if it is near.
    pub(super) clock: String,
}

impl TimeLabel {
    pub(super) fn new(at: Time, now: Time) -> Self {
        let from_now = if at > now {
            format!("in {}", render_duration(at.since(now)))
        } else if now.since(at) < JUST_NOW_WITHIN {
            "just now".to_owned()
        } else {
            format!("{} ago", render_duration(now.since(at)))
        };
        let stamp = i64::try_from(at.as_millis())
            .ok()
            .and_then(|millis| Timestamp::from_millisecond(millis).ok())
            .unwrap_or_default();
        let local = stamp.to_zoned(TimeZone::system());
        let near = if at > now { at.since(now) } else { now.since(at) } < Span::from_hours(12);
        let form = if near { "%H:%M" } else { "%-d %b, %H:%M" };
        Self {
            machine: stamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            millis: at.as_millis(),
            from_now,
            clock: local.strftime(form).to_string(),
        }
    }
}
