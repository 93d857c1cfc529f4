//! The server of a project during `unstuck run`.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use unstuck_server::ProjectRegistration;
use unstuck_store::Store;

use super::desk::ServedProjectHost;
use super::face::HttpFrontend;
use crate::error::CliError;
use crate::project::{LocalProject, ProjectConnection};
use crate::settings::ServerSettings;

/// A server beside a run. Dropping it ends it at once.
pub(in crate::commands) struct RunServer {
    pub(in crate::commands) face: HttpFrontend,
    desk: Arc<ServedProjectHost>,
    serving: JoinHandle<std::io::Result<()>>,
    stop: CancellationToken,
}

impl RunServer {
    /// Serves a project.
    pub(in crate::commands) async fn start(
        project: &LocalProject,
        store: &Arc<dyn Store>,
        settings: &ServerSettings,
    ) -> Result<Self, CliError> {
        let listener = bind_near(settings.bind).await?;
        let desk = Arc::new(ServedProjectHost::new(project.clone(), Arc::clone(store))?);
        let hosted = ProjectRegistration {
            name: Arc::clone(project.name()),
            store: Arc::clone(store),
            host: Arc::clone(&desk) as _,
            audience: super::question_audience(project),
        };
        let stop = CancellationToken::new();
        let face = HttpFrontend::open(&listener, settings, vec![hosted], stop.clone()).await?;
        let serving = tokio::spawn(face.serve(listener));
        Ok(Self { face, desk, serving, stop })
    }

    /// Sends requests to this decider from now on.
    pub(in crate::commands) async fn connect(
        &self,
        post: &ProjectConnection,
    ) -> Result<(), CliError> {
        self.desk.connect(post).await
    }

    /// Ends the server: streams are closed, and pending requests are answered.
    pub(in crate::commands) async fn shut_down(mut self) {
        self.desk.disconnect();
        self.desk.lock_performing().await.end_all();
        self.stop.cancel();
        // An error of the server does not matter, because the run is over.
        let _ = (&mut self.serving).await;
    }
}

impl Drop for RunServer {
    fn drop(&mut self) {
        self.desk.disconnect();
        self.stop.cancel();
        self.serving.abort();
    }
}

/// Binds the configured address, or another port of it if the port is taken.
async fn bind_near(wished: SocketAddr) -> Result<TcpListener, CliError> {
    match TcpListener::bind(wished).await {
        Ok(listener) => Ok(listener),
        Err(_) => super::face::bind_listener((wished.ip(), 0).into()).await,
    }
}
