//! Opens the notification channels of a project.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use unstuck_runner::SystemClock;
use unstuck_runner::notify::{NotificationSender, NotifySetup};
use unstuck_store::Store;
use unstuck_world::notify::{ChannelContext, NotifyChannel};

use super::folder::LocalProject;
use super::links::ServerLinks;
use super::own_guard;
use crate::build::project_redactor;
use crate::error::CliError;

/// Maximum time the process stays to deliver the last notifications.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Returns the channels that the settings of a project define.
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
    let channel = |(name, settings): (&String, &crate::settings::NotifySettings)| {
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
