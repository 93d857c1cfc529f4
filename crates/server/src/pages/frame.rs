//! The common part of every page: its title, its viewer, and the number of open questions.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Response};
use unstuck_core::time::Time;

use super::assets;
use crate::api::Shared;
use crate::auth::{Caller, Csrf, Role};
use crate::problem::Problem;

/// The sections of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Here {
    Inbox,
    Work,
    Jobs,
    Problems,
    Settings,
}

/// The data that every page has.
pub(super) struct Frame {
    pub(super) title: String,
    pub(super) here: Here,
    /// Number of questions that wait for an answer.
    pub(super) waiting: u64,
    /// The position of the journals before the page was made. The script follows from there, and
    /// fetches the page again when an event arrives. A page without a position is left alone.
    pub(super) position: Option<String>,
    pub(super) name: Arc<str>,
    pub(super) role: Role,
    pub(super) csrf: String,
    pub(super) now: Time,
    /// `true` if there is more than one project to tell apart.
    pub(super) several: bool,
}

impl Frame {
    /// Makes the frame. It comes before any other read, so that no event is missed between reading
    /// and following.
    pub(super) async fn new(
        site: &Shared,
        caller: &Caller,
        csrf: &Csrf,
        here: Here,
        title: impl Into<String>,
    ) -> Result<Self, Problem> {
        let position = site.position(caller).text();
        let mut waiting = 0;
        let mut projects = 0;
        for room in site.seen_by(caller) {
            waiting += room.store.unanswered(&room.name).await?;
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

    pub(super) fn is(&self, here: &str) -> bool {
        matches!(
            (self.here, here),
            (Here::Inbox, "inbox")
                | (Here::Work, "work")
                | (Here::Jobs, "jobs")
                | (Here::Problems, "problems")
                | (Here::Settings, "settings")
        )
    }

    /// Returns whether the viewer may see technical details.
    pub(super) fn sees_detail(&self) -> bool {
        self.role >= Role::Viewer
    }

    /// Returns whether the viewer may start, hold and end work.
    pub(super) fn operates(&self) -> bool {
        self.role >= Role::Operator
    }

    #[expect(clippy::unused_self, reason = "templates reach everything through it")]
    pub(super) fn style(&self) -> &'static str {
        assets::style()
    }

    #[expect(clippy::unused_self, reason = "templates reach everything through it")]
    pub(super) fn script(&self) -> &'static str {
        assets::script()
    }
}

/// Renders a page.
pub(super) fn page(template: &impl Template) -> Response {
    page_with(StatusCode::OK, template)
}

/// Renders a page with another status.
pub(super) fn page_with(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            (StatusCode::INTERNAL_SERVER_ERROR, "This page could not be made.\n").into_response()
        }
    }
}
