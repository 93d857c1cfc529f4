//! Going on as things happen.

use std::io::Write;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use unstuck_runner::Notice;
use unstuck_runner::control::Client;

use super::Reader;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::Project;

/// How often it is looked whether somebody has taken the project up.
const LOOK: Duration = Duration::from_secs(1);

/// Writes events until it is interrupted or nobody reads them any more.
pub(super) async fn run<W: Write>(
    project: &Project,
    reader: &mut Reader<W>,
) -> Result<Exit, Error> {
    // Before the first line, so that whoever has seen one can end us properly.
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = interrupt.recv() => Ok(Exit::Interrupted),
        () = nobody_reads() => Ok(Exit::Done),
        error = go_on(project, reader) => Err(error),
    }
}

async fn go_on<W: Write>(project: &Project, reader: &mut Reader<W>) -> Error {
    loop {
        if let Err(error) = watch(project, reader).await {
            return error;
        }
        // Nobody is there. Events may come all the same: from somebody who was here for a moment.
        tokio::time::sleep(LOOK).await;
    }
}

/// Writes what happens while somebody holds the project.
async fn watch<W: Write>(project: &Project, reader: &mut Reader<W>) -> Result<(), Error> {
    let holder = Client::connect(&project.socket(), None).await.ok();
    // Watched before it is read: what comes in between is told and read once more.
    let notices = match &holder {
        Some((client, _)) => client.watch().await.ok(),
        None => None,
    };
    reader.read_on().await?;
    let (Some((client, _)), Some(mut notices)) = (holder, notices) else { return Ok(()) };
    loop {
        let more = tokio::select! {
            more = next(&mut notices) => more,
            () = client.gone() => false,
        };
        reader.read_on().await?;
        if !more {
            return Ok(());
        }
    }
}

/// Waits until there may be something to read; false when nobody will say so any more. A gap is a
/// reason to read like any other.
async fn next(notices: &mut Receiver<Notice>) -> bool {
    let told = notices.recv().await;
    // One look at the store answers all that have been told by now.
    while notices.try_recv().is_ok() {}
    !matches!(told, Err(RecvError::Closed))
}

/// Waits until whoever reads our output has closed it. A file and a terminal never do.
async fn nobody_reads() {
    let (tell, closed) = oneshot::channel();
    // It ends with the process; nothing has to be cleared up.
    std::thread::spawn(move || {
        let stdout = std::io::stdout();
        let mut wanted = [PollFd::new(&stdout, PollFlags::empty())];
        let found = poll(&mut wanted, None);
        if found.is_ok() && wanted[0].revents().intersects(PollFlags::ERR) {
            let _ = tell.send(());
        }
    });
    if closed.await.is_err() {
        std::future::pending::<()>().await;
    }
}
