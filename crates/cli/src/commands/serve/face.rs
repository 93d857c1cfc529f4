//! The pages and the API of several projects, with their authentication.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use unstuck_runner::SystemClock;
use unstuck_server::auth::{Door, Key, Names, Token, Tokens};
use unstuck_server::{Hosted, Site, app, serve};

use crate::error::{Error, ServeError};
use crate::project;
use crate::settings::Server;

/// The HTTP interface of several projects.
pub(in crate::commands) struct Face {
    pub(in crate::commands) site: Arc<Site>,
    door: Arc<Door>,
    stop: CancellationToken,
    /// The address it listens on.
    address: SocketAddr,
    /// The public base address.
    base: String,
    /// The folder of the tokens.
    folder: PathBuf,
}

/// Binds an address.
pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let bound = TcpListener::bind(address).await;
    Ok(bound.map_err(|source| ServeError::NotBound { address, source })?)
}

impl Face {
    pub(super) async fn open(
        listener: &TcpListener,
        settings: &Server,
        projects: Vec<Hosted>,
        stop: CancellationToken,
    ) -> Result<Self, Error> {
        let address = listener.local_addr()?;
        let folder = project::state_folder().join("server");
        let tokens = Tokens::at(&folder);
        let names = Names::new(address, settings.public.iter().map(String::as_str))
            .map_err(ServeError::from)?;
        let mut door = Door::new(tokens, Key::open(&folder)?, names, Arc::new(SystemClock));
        if settings.behind_proxy {
            door = door.behind_proxy();
        }
        let base = settings.public.first().map_or_else(
            || format!("http://{address}"),
            |public| public.trim_end_matches('/').to_owned(),
        );
        let site = Site::open(projects, Arc::new(SystemClock), stop.clone()).await?;
        Ok(Self { site, door: Arc::new(door), stop, address, base, folder })
    }

    /// Returns the address it listens on.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the public base address.
    pub(in crate::commands) fn base(&self) -> &str {
        &self.base
    }

    /// Creates the first token if there is none. It must be shown, because it is never shown again.
    pub(in crate::commands) fn first_token(&self) -> Result<Option<Token>, Error> {
        Ok(Tokens::at(&self.folder).begin(&project::whoever(), project::now())?)
    }

    /// Returns a link for one login within a short time.
    pub(in crate::commands) fn entry(&self) -> Result<Option<String>, Error> {
        Ok(self.door.entry_path()?.map(|path| format!("{}{path}", self.base)))
    }

    /// Serves until the stop token is cancelled.
    pub(super) fn serve(
        &self,
        listener: TcpListener,
    ) -> impl Future<Output = io::Result<()>> + 'static {
        serve(listener, app(Arc::clone(&self.site), &self.door), self.stop.clone())
    }
}
