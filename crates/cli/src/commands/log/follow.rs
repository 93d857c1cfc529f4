//! Follows the journal as events happen.

use std::io::Write;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use unstuck_runner::RunnerNotice;
use unstuck_runner::control::ControlClient;

use super::LogReader;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::LocalProject;

/// Interval between two attempts to find a holder.
const LOOK: Duration = Duration::from_secs(1);

/// Writes events until an interrupt, or until the reader of the output closes it.
pub(super) async fn run<W: Write>(
    project: &LocalProject,
    reader: &mut LogReader<W>,
) -> Result<Exit, CliError> {
    // Registered before the first line, so that a reader of that line can interrupt the process properly.
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = interrupt.recv() => Ok(Exit::Interrupted),
        () = wait_until_closed() => Ok(Exit::Done),
        error = follow_until_error(project, reader) => Err(error),
    }
}

async fn follow_until_error<W: Write>(
    project: &LocalProject,
    reader: &mut LogReader<W>,
) -> CliError {
    loop {
        if let Err(error) = follow_holder(project, reader).await {
            return error;
        }
        // There is no holder. Events may come all the same, from a process that held the project for a
        // moment.
        tokio::time::sleep(LOOK).await;
    }
}

/// Writes the events while there is a holder.
async fn follow_holder<W: Write>(
    project: &LocalProject,
    reader: &mut LogReader<W>,
) -> Result<(), CliError> {
    let holder = ControlClient::connect(&project.socket_path(), None).await.ok();
    // Subscribed before the read: an event in between is announced and read once more.
    let notices = match &holder {
        Some((client, _)) => client.subscribe_notices().await.ok(),
        None => None,
    };
    reader.write_new_events().await?;
    let (Some((client, _)), Some(mut notices)) = (holder, notices) else { return Ok(()) };
    loop {
        let more = tokio::select! {
            more = wait_for_notice(&mut notices) => more,
            () = client.wait_until_gone() => false,
        };
        reader.write_new_events().await?;
        if !more {
            return Ok(());
        }
    }
}

/// Waits until there may be events to read; `false` when no more notices will come. A gap in the notices is
/// a reason to read like any other.
async fn wait_for_notice(notices: &mut Receiver<RunnerNotice>) -> bool {
    let told = notices.recv().await;
    // A single read of the store covers all notices so far.
    while notices.try_recv().is_ok() {}
    !matches!(told, Err(RecvError::Closed))
}

/// Waits until the reader of the output has closed it. A file and a terminal never do.
async fn wait_until_closed() {
    let (tell, closed) = oneshot::channel();
    // The thread ends with the process; it needs no cleanup.
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
