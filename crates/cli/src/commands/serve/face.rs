//! The pages and the API of some projects, from the door to the end.

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

/// What people and programs see of some projects.
pub(in crate::commands) struct Face {
    pub(in crate::commands) site: Arc<Site>,
    door: Arc<Door>,
    stop: CancellationToken,
    /// Where it listens.
    address: SocketAddr,
    /// Where it is reached.
    base: String,
    /// Where its tokens are.
    folder: PathBuf,
}

/// Listens, or says who else does.
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

    /// Where it listens.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it is reached.
    pub(in crate::commands) fn base(&self) -> &str {
        &self.base
    }

    /// The first token, made because there was none. It has to be shown: nobody sees it again.
    pub(in crate::commands) fn first_token(&self) -> Result<Option<Token>, Error> {
        Ok(Tokens::at(&self.folder).begin(&project::whoever(), project::now())?)
    }

    /// A link that lets somebody in, once and soon.
    pub(in crate::commands) fn entry(&self) -> Result<Option<String>, Error> {
        Ok(self.door.entry_path()?.map(|path| format!("{}{path}", self.base)))
    }

    /// Serves until it is told to stop.
    pub(super) fn serve(
        &self,
        listener: TcpListener,
    ) -> impl Future<Output = io::Result<()>> + 'static {
        serve(listener, app(Arc::clone(&self.site), &self.door), self.stop.clone())
    }
}
