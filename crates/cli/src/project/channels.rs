//! Opens the notification channels of a project.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use unstuck_runner::SystemClock;
use unstuck_runner::notify::{Outgoing, Sender};
use unstuck_store::Store;
use unstuck_world::notify::{Channel, Means};

use super::folder::Project;
use super::links::ServerLinks;
use super::own_guard;
use crate::build::redactor;
use crate::error::Error;

/// Maximum time the process stays to deliver the last notifications.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Returns the channels that the settings of a project define.
pub(crate) fn channels(project: &Project) -> Result<Vec<Channel>, Error> {
    let resolved = project.settings()?;
    if resolved.settings.notify.is_empty() {
        return Ok(Vec::new());
    }
    let means = Means {
        redactor: redactor(project),
        zone: TimeZone::system(),
        guard: own_guard()?,
        locks: project.runs(),
        directory: project.root().to_owned(),
        path: env::var_os("PATH"),
    };
    let channel = |(name, settings): (&String, &crate::settings::Notify)| {
        Ok(Channel::new(name, settings.channel().clone(), &means)?)
    };
    resolved.settings.notify.iter().map(channel).collect()
}

/// Starts the sender of notifications, if the project has channels.
pub(super) async fn sender(
    project: &Project,
    store: &Arc<dyn Store>,
) -> Result<Option<Sender>, Error> {
    let channels = channels(project)?;
    if channels.is_empty() {
        return Ok(None);
    }
    let store = Arc::clone(store);
    let name = Arc::clone(project.name());
    let links = ServerLinks::of(project)?.map(|links| Arc::new(links) as _);
    let outgoing = Outgoing { store, project: name, clock: Arc::new(SystemClock), channels, links };
    Ok(Some(Sender::start(outgoing).await?))
}
