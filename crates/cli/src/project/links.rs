//! Links for notifications.

use unstuck_core::engine::QuestionId;
use unstuck_core::question::QuestionOption;
use unstuck_core::tell::AnswerLink;
use unstuck_core::time::Span;
use unstuck_runner::notify::AnswerLinkSource;
use unstuck_server::auth::{ServerSigningKey, SignedLink};

use super::folder::{LocalProject, now, user_state_folder};
use crate::error::CliError;

/// Time for which a link is valid.
const LASTS: Span = Span::from_hours(24);

/// Links to the server at its public address.
pub(super) struct ServerLinks {
    base: String,
    key: ServerSigningKey,
    project: String,
}

impl ServerLinks {
    /// Creates the links of a project if its settings name a public address: an address that only this
    /// machine knows is useless elsewhere.
    pub(super) fn from_settings(project: &LocalProject) -> Result<Option<Self>, CliError> {
        let resolved = project.settings()?;
        let Some(public) = resolved.settings.server.public.first() else { return Ok(None) };
        Ok(Some(Self {
            base: public.trim_end_matches('/').to_owned(),
            key: ServerSigningKey::open(&user_state_folder().join("server"))?,
            project: project.name().to_string(),
        }))
    }

    fn seal_link(&self, label: &str, link: &SignedLink) -> AnswerLink {
        let url = format!("{}/link/{}", self.base, link.seal(&self.key));
        AnswerLink { label: label.to_owned(), url }
    }
}

impl AnswerLinkSource for ServerLinks {
    fn make_links(
        &self,
        channel: &str,
        question: QuestionId,
        options: &[QuestionOption],
    ) -> Vec<AnswerLink> {
        let project = &self.project;
        let now = now();
        let inbox = SignedLink::for_answerer(channel, project, LASTS, now);
        let choice = |option: &QuestionOption| {
            let link = SignedLink::for_choice(channel, project, question, option.value, LASTS, now);
            self.seal_link(&option.label, &link)
        };
        let mut links = vec![self.seal_link("Open the inbox", &inbox)];
        // A choice that needs guidance is answered in the inbox.
        links.extend(options.iter().filter(|option| option.guidance.is_none()).map(choice));
        links
    }
}
