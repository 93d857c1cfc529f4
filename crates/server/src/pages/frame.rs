//! The common parts of every page: its title, its viewer, the number of open questions, and points in time.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unstuck_core::text::brief::render_duration;
use unstuck_core::time::{Span, Time};

use crate::auth::{AccessRole, Caller, CsrfToken};
use crate::html;
use crate::problem::Problem;
use crate::server_state::{HostedProject, SharedServerState};

/// Maximum age that is shown as "just now".
const JUST_NOW_WITHIN: Span = Span::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SiteSection {
    Inbox,
    Work,
    Jobs,
    Problems,
    Settings,
}

/// A request of an authenticated person.
pub(super) struct PageRequest {
    pub(super) site: SharedServerState,
    pub(super) caller: Caller,
    csrf: CsrfToken,
}

impl FromRequestParts<SharedServerState> for PageRequest {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        site: &SharedServerState,
    ) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, site).await?;
        let Ok(csrf) = CsrfToken::from_request_parts(parts, site).await;
        Ok(Self { site: Arc::clone(site), caller, csrf })
    }
}

impl PageRequest {
    /// Returns a project that the caller may see.
    pub(super) fn find_project(&self, name: &str) -> Result<Arc<HostedProject>, Problem> {
        super::find_project(&self.site, &self.caller, name)
    }

    /// Returns the projects that the caller may see, ordered by name.
    pub(super) fn projects(&self) -> impl Iterator<Item = &Arc<HostedProject>> {
        self.site.visible_projects(&self.caller)
    }
}

pub(super) struct PageFrame {
    pub(super) title: String,
    pub(super) here: SiteSection,
    /// Number of questions that wait for an answer.
    pub(super) waiting: u64,
    /// The position of the journals before the page was made. The script follows from there, and
    /// fetches the page again when an event arrives. A page without a position is left alone.
    pub(super) position: Option<String>,
    pub(super) name: Arc<str>,
    pub(super) role: AccessRole,
    pub(super) csrf: String,
    pub(super) now: Time,
    /// `true` if there is more than one project to tell apart.
    pub(super) several: bool,
}

impl PageFrame {
    /// Makes the frame. It comes before any other read, so that no event is missed between reading
    /// and following.
    pub(super) async fn new(
        request: &PageRequest,
        here: SiteSection,
        title: impl Into<String>,
    ) -> Result<Self, Problem> {
        let PageRequest { site, caller, csrf } = request;
        let position = site.current_cursor(caller).to_opaque();
        let mut waiting = 0;
        let mut projects = 0;
        for hosted in request.projects() {
            waiting += hosted.store.count_unanswered(&hosted.name).await?;
            projects += 1;
        }
        Ok(Self {
            title: title.into(),
            here,
            waiting,
            position: Some(position),
            name: Arc::clone(&caller.name),
            role: caller.role,
            csrf: csrf.as_str().to_owned(),
            now: site.clock.now(),
            several: projects > 1,
        })
    }

    /// Returns the frame of a page that responds to a form. Its URL cannot be fetched again, or
    /// would show another page, so the page stays as it is.
    pub(super) fn answering_form(self) -> Self {
        Self { position: None, ..self }
    }

    pub(super) fn is_section(&self, here: &str) -> bool {
        matches!(
            (self.here, here),
            (SiteSection::Inbox, "inbox")
                | (SiteSection::Work, "work")
                | (SiteSection::Jobs, "jobs")
                | (SiteSection::Problems, "problems")
                | (SiteSection::Settings, "settings")
        )
    }

    /// Returns whether the viewer may see technical details.
    pub(super) fn sees_detail(&self) -> bool {
        self.role >= AccessRole::Viewer
    }

    /// Returns whether the viewer may start, hold and end work.
    pub(super) fn can_operate(&self) -> bool {
        self.role >= AccessRole::Operator
    }

    #[expect(clippy::unused_self, reason = "templates reach everything through it")]
    pub(super) fn style(&self) -> &'static str {
        html::style_name()
    }

    #[expect(clippy::unused_self, reason = "templates reach everything through it")]
    pub(super) fn script(&self) -> &'static str {
        html::script_name()
    }
}

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
