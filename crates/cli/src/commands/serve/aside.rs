//! The server of a project during `unstuck run`.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use unstuck_server::Hosted;
use unstuck_store::Store;

use super::desk::ServedDesk;
use super::face::Face;
use crate::error::Error;
use crate::project::{Post, Project};
use crate::settings::Server;

/// A server beside a run. Dropping it ends it at once.
pub(in crate::commands) struct Aside {
    pub(in crate::commands) face: Face,
    desk: Arc<ServedDesk>,
    serving: JoinHandle<std::io::Result<()>>,
    stop: CancellationToken,
}

impl Aside {
    /// Serves a project.
    pub(in crate::commands) async fn begin(
        project: &Project,
        store: &Arc<dyn Store>,
        settings: &Server,
    ) -> Result<Self, Error> {
        let listener = anywhere_near(settings.bind).await?;
        let desk = Arc::new(ServedDesk::new(project.clone(), Arc::clone(store))?);
        let hosted = Hosted {
            name: Arc::clone(project.name()),
            store: Arc::clone(store),
            desk: Arc::clone(&desk) as _,
            audience: super::audience(project),
        };
        let stop = CancellationToken::new();
        let face = Face::open(&listener, settings, vec![hosted], stop.clone()).await?;
        let serving = tokio::spawn(face.serve(listener));
        Ok(Self { face, desk, serving, stop })
    }

    /// Sends requests to this decider from now on.
    pub(in crate::commands) async fn sit(&self, post: &Post) -> Result<(), Error> {
        self.desk.sit(post).await
    }

    /// Ends the server: streams are closed, and pending requests are answered.
    pub(in crate::commands) async fn end(mut self) {
        self.desk.stand_up();
        self.desk.performing().await.end();
        self.stop.cancel();
        // An error of the server does not matter, because the run is over.
        let _ = (&mut self.serving).await;
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.desk.stand_up();
        self.stop.cancel();
        self.serving.abort();
    }
}

/// Binds the configured address, or another port of it if the port is taken.
async fn anywhere_near(wished: SocketAddr) -> Result<TcpListener, Error> {
    match TcpListener::bind(wished).await {
        Ok(listener) => Ok(listener),
        Err(_) => super::face::listen((wished.ip(), 0).into()).await,
    }
}
