//! Links for notifications.

use unstuck_core::engine::QuestionId;
use unstuck_core::question::QuestionOption;
use unstuck_core::tell::AnswerLink;
use unstuck_core::time::Span;
use unstuck_runner::notify::Links;
use unstuck_server::auth::{Key, Link};

use super::folder::{Project, now, state_folder};
use crate::error::Error;

/// Time for which a link is valid.
const LASTS: Span = Span::from_hours(24);

/// Links to the server at its public address.
pub(super) struct ServerLinks {
    base: String,
    key: Key,
    project: String,
}

impl ServerLinks {
    /// Creates the links of a project if its settings name a public address: an address that only this
    /// machine knows is useless elsewhere.
    pub(super) fn of(project: &Project) -> Result<Option<Self>, Error> {
        let resolved = project.settings()?;
        let Some(public) = resolved.settings.server.public.first() else { return Ok(None) };
        Ok(Some(Self {
            base: public.trim_end_matches('/').to_owned(),
            key: Key::open(&state_folder().join("server"))?,
            project: project.name().to_string(),
        }))
    }

    fn link(&self, label: &str, link: &Link) -> AnswerLink {
        let url = format!("{}/link/{}", self.base, link.seal(&self.key));
        AnswerLink { label: label.to_owned(), url }
    }
}

impl Links for ServerLinks {
    fn of(
        &self,
        channel: &str,
        question: QuestionId,
        options: &[QuestionOption],
    ) -> Vec<AnswerLink> {
        let project = &self.project;
        let now = now();
        let inbox = Link::answerer(channel, project, LASTS, now);
        let choice = |option: &QuestionOption| {
            let link = Link::choice(channel, project, question, option.value, LASTS, now);
            self.link(&option.label, &link)
        };
        let mut links = vec![self.link("Open the inbox", &inbox)];
        // A choice that needs guidance is answered in the inbox.
        links.extend(options.iter().filter(|option| option.guidance.is_none()).map(choice));
        links
    }
}
