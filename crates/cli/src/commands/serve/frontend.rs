//! The pages and the API of several projects, with their authentication, and the server of one project during
//! `unstuck run`.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use unstuck_runner::SystemClock;
use unstuck_server::auth::{
    AccessToken, AccessTokenStore, AllowedHosts, Authenticator, ServerSigningKey,
};
use unstuck_server::{ProjectRegistration, ServerState, build_app, serve_http};
use unstuck_store::Store;
use unstuck_world::egress::ServerAnnouncement;

use super::project_host::ServedProjectHost;
use crate::error::{CliError, ServeError};
use crate::project::{self, LocalProject, ProjectConnection};
use crate::settings::ServerSettings;

/// The HTTP interface of several projects.
pub(in crate::commands) struct HttpFrontend {
    pub(in crate::commands) site: Arc<ServerState>,
    authenticator: Arc<Authenticator>,
    stop: CancellationToken,
    /// The address that the server listens on.
    pub(super) address: SocketAddr,
    /// The public address.
    pub(in crate::commands) base: String,
    folder: PathBuf,
    /// Keeps agents of all processes away from the address.
    _announced: ServerAnnouncement,
}

pub(super) async fn bind_listener(address: SocketAddr) -> Result<TcpListener, CliError> {
    let bound = TcpListener::bind(address).await;
    Ok(bound.map_err(|source| ServeError::NotBound { address, source })?)
}

impl HttpFrontend {
    pub(super) async fn open(
        listener: &TcpListener,
        settings: &ServerSettings,
        projects: Vec<ProjectRegistration>,
        stop: CancellationToken,
    ) -> Result<Self, CliError> {
        let address = listener.local_addr()?;
        let folder = project::user_state_folder().join("server");
        let tokens = AccessTokenStore::in_folder(&folder);
        let names = AllowedHosts::new(address, settings.public.iter().map(String::as_str))
            .map_err(ServeError::from)?;
        let mut authenticator = Authenticator::new(
            tokens,
            ServerSigningKey::open(&folder)?,
            names,
            Arc::new(SystemClock),
        );
        if settings.behind_proxy {
            authenticator = authenticator.behind_proxy();
        }
        let base = settings.public.first().map_or_else(
            || format!("http://{address}"),
            |public| public.trim_end_matches('/').to_owned(),
        );
        let site = ServerState::open(projects, Arc::new(SystemClock), stop.clone()).await?;
        let announced = ServerAnnouncement::publish(&project::own_servers_folder(), address)?;
        let authenticator = Arc::new(authenticator);
        Ok(Self { site, authenticator, stop, address, base, folder, _announced: announced })
    }

    /// Creates the first token if there is none. It must be shown, because it is never shown again.
    pub(in crate::commands) fn create_first_token(&self) -> Result<Option<AccessToken>, CliError> {
        Ok(AccessTokenStore::in_folder(&self.folder)
            .ensure_first_token(&project::current_user(), project::now())?)
    }

    /// Returns a link for one login within a short time.
    pub(in crate::commands) fn entry_link(&self) -> Result<Option<String>, CliError> {
        Ok(self.authenticator.entry_path()?.map(|path| format!("{}{path}", self.base)))
    }

    /// Serves until the stop token is cancelled.
    pub(super) fn serve(
        &self,
        listener: TcpListener,
    ) -> impl Future<Output = io::Result<()>> + 'static {
        serve_http(
            listener,
            build_app(Arc::clone(&self.site), &self.authenticator),
            self.stop.clone(),
        )
    }
}

/// A server beside a run. Dropping it ends it at once.
pub(in crate::commands) struct RunServer {
    pub(in crate::commands) frontend: HttpFrontend,
    host: Arc<ServedProjectHost>,
    serving: JoinHandle<io::Result<()>>,
    stop: CancellationToken,
}

impl RunServer {
    pub(in crate::commands) async fn start(
        project: &LocalProject,
        store: &Arc<dyn Store>,
        settings: &ServerSettings,
    ) -> Result<Self, CliError> {
        let listener = bind_near(settings.bind).await?;
        let host = Arc::new(ServedProjectHost::new(project.clone(), Arc::clone(store))?);
        let stop = CancellationToken::new();
        let frontend =
            HttpFrontend::open(&listener, settings, vec![host.to_registration()], stop.clone())
                .await?;
        let serving = tokio::spawn(frontend.serve(listener));
        Ok(Self { frontend, host, serving, stop })
    }

    /// Sends requests to this decider from now on.
    pub(in crate::commands) async fn connect(
        &self,
        connection: &ProjectConnection,
    ) -> Result<(), CliError> {
        self.host.connect(connection).await
    }

    /// Ends the server: streams are closed, and pending requests are answered.
    pub(in crate::commands) async fn shut_down(mut self) {
        self.host.disconnect();
        self.host.lock_performing().await.end_all();
        self.stop.cancel();
        // An error of the server does not matter, because the run is over.
        let _ = (&mut self.serving).await;
    }
}

impl Drop for RunServer {
    fn drop(&mut self) {
        self.host.disconnect();
        self.stop.cancel();
        self.serving.abort();
    }
}

/// Binds the configured address, or another port of it if the port is taken.
async fn bind_near(wished: SocketAddr) -> Result<TcpListener, CliError> {
    match TcpListener::bind(wished).await {
        Ok(listener) => Ok(listener),
        Err(_) => bind_listener((wished.ip(), 0).into()).await,
    }
}
