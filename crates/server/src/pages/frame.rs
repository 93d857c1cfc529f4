//! The common part of every page: its title, its viewer, and the number of open questions.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Response};
use unstuck_core::time::Time;

use super::assets;
use crate::api::SharedServerState;
use crate::auth::{AccessRole, Caller, CsrfToken};
use crate::problem::Problem;

/// The sections of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SiteSection {
    Inbox,
    Work,
    Jobs,
    Problems,
    Settings,
}

/// The data that every page has.
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
        site: &SharedServerState,
        caller: &Caller,
        csrf: &CsrfToken,
        here: SiteSection,
        title: impl Into<String>,
    ) -> Result<Self, Problem> {
        let position = site.current_cursor(caller).to_opaque();
        let mut waiting = 0;
        let mut projects = 0;
        for room in site.visible_projects(caller) {
            waiting += room.store.count_unanswered(&room.name).await?;
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
        assets::style_name()
    }

    #[expect(clippy::unused_self, reason = "templates reach everything through it")]
    pub(super) fn script(&self) -> &'static str {
        assets::script_name()
    }
}

/// Renders a page.
pub(super) fn render_page(template: &impl Template) -> Response {
    render_page_with_status(StatusCode::OK, template)
}

/// Renders a page with another status.
pub(super) fn render_page_with_status(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            (StatusCode::INTERNAL_SERVER_ERROR, "This page could not be made.\n").into_response()
        }
    }
}
