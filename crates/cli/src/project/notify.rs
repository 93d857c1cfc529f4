//! Opens the notification channels of a project, and makes the links in their messages.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use unstuck_core::engine::QuestionId;
use unstuck_core::question::QuestionOption;
use unstuck_core::tell::AnswerLink;
use unstuck_core::time::Span;
use unstuck_runner::SystemClock;
use unstuck_runner::notify::{AnswerLinkSource, NotificationSender, NotifySetup};
use unstuck_server::auth::{ServerSigningKey, SignedLink};
use unstuck_store::Store;
use unstuck_world::notify::{ChannelContext, NotifyChannel};

use super::folder::{LocalProject, now, project_redactor, user_state_folder};
use super::process::own_guard;
use crate::error::CliError;
use crate::settings::NotifySettings;

/// Maximum time the process stays to deliver the last notifications.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// Time for which a link is valid.
const LASTS: Span = Span::from_hours(24);

pub(crate) fn open_channels(project: &LocalProject) -> Result<Vec<NotifyChannel>, CliError> {
    let resolved = project.settings()?;
    if resolved.settings.notify.is_empty() {
        return Ok(Vec::new());
    }
    let means = ChannelContext {
        redactor: project_redactor(project),
        zone: TimeZone::system(),
        guard: own_guard()?,
        locks: project.runs_folder(),
        directory: project.root().to_owned(),
        path: env::var_os("PATH"),
    };
    let channel = |(name, settings): (&String, &NotifySettings)| {
        Ok(NotifyChannel::new(name, settings.channel().clone(), &means)?)
    };
    resolved.settings.notify.iter().map(channel).collect()
}

/// Starts the sender of notifications, if the project has channels.
pub(super) async fn start_sender(
    project: &LocalProject,
    store: &Arc<dyn Store>,
) -> Result<Option<NotificationSender>, CliError> {
    let channels = open_channels(project)?;
    if channels.is_empty() {
        return Ok(None);
    }
    let store = Arc::clone(store);
    let name = Arc::clone(project.name());
    let links = ServerLinks::from_settings(project)?.map(|links| Arc::new(links) as _);
    let outgoing =
        NotifySetup { store, project: name, clock: Arc::new(SystemClock), channels, links };
    Ok(Some(NotificationSender::start(outgoing).await?))
}

/// Links to the server at its public address.
struct ServerLinks {
    base: String,
    key: ServerSigningKey,
    project: String,
}

impl ServerLinks {
    /// Creates the links of a project if its settings name a public address: an address that only this
    /// machine knows is useless elsewhere.
    fn from_settings(project: &LocalProject) -> Result<Option<Self>, CliError> {
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
