//! `unstuck serve`: the inbox, the pages and the API of some projects.

mod desk;
mod keeper;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::{JoinSet, LocalSet};
use tokio_util::sync::CancellationToken;
use unstuck_runner::SystemClock;
use unstuck_server::auth::{Door, Key, Names, Tokens};
use unstuck_server::{Hosted, Site, app, serve};

use crate::args::Serve;
use crate::error::{Error, ServeError};
use crate::exit::Exit;
use crate::project::{self, Project, Signal, Signals};
use crate::render::{Terminal, style};

use desk::ServedDesk;
use keeper::Keeper;

/// Carries it out.
pub(crate) fn run(args: &Serve, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let projects = projects(args, dir)?;
    let serving = async {
        let mut signals = Signals::new()?;
        let listener = TcpListener::bind(args.bind)
            .await
            .map_err(|source| ServeError::NotBound { address: args.bind, source })?;
        let served = Served::open(args, &listener, projects, terminal).await?;
        let signal = served.until_it_ends(listener, &mut signals, terminal).await?;
        Ok(signal.exit())
    };
    project::runtime()?.block_on(LocalSet::new().run_until(serving))
}

/// The projects that are named, each by its own name.
fn projects(args: &Serve, dir: Option<&Path>) -> Result<Vec<Project>, Error> {
    let folders: Vec<Option<&Path>> = if args.folders.is_empty() {
        vec![dir]
    } else {
        args.folders.iter().map(|folder| Some(folder.as_path())).collect()
    };
    let mut named: BTreeMap<Arc<str>, PathBuf> = BTreeMap::new();
    let mut projects = Vec::new();
    for folder in folders {
        let folder = match (dir, folder) {
            (Some(dir), Some(folder)) if !args.folders.is_empty() => Some(dir.join(folder)),
            (_, folder) => folder.map(Path::to_path_buf),
        };
        let project = Project::find(folder.as_deref())?;
        match named.get(project.name()) {
            Some(root) if root == project.root() => continue,
            Some(root) => {
                return Err(ServeError::SameName {
                    name: project.name().to_string(),
                    roots: [root.clone(), project.root().to_owned()],
                }
                .into());
            }
            None => named.insert(Arc::clone(project.name()), project.root().to_owned()),
        };
        // Mistakes in settings are said before anything begins.
        project.settings()?;
        projects.push(project);
    }
    Ok(projects)
}

/// Everything that serves.
struct Served {
    site: Arc<Site>,
    door: Arc<Door>,
    keepers: Vec<Keeper>,
    stop: CancellationToken,
}

impl Served {
    async fn open(
        args: &Serve,
        listener: &TcpListener,
        projects: Vec<Project>,
        terminal: &Terminal,
    ) -> Result<Self, Error> {
        let address = listener.local_addr()?;
        let folder = project::state_folder().join("server");
        let tokens = Tokens::at(&folder);
        let first = tokens.begin(&project::whoever(), project::now())?;
        let names = Names::new(address, args.public.iter().map(String::as_str))
            .map_err(ServeError::from)?;
        let mut door = Door::new(tokens, Key::open(&folder)?, names, Arc::new(SystemClock));
        if args.behind_proxy {
            door = door.behind_proxy();
        }
        let stop = CancellationToken::new();
        let (mut hosted, mut keepers) = (Vec::new(), Vec::new());
        for project in projects {
            let store = project.make_store()?;
            let desk = Arc::new(ServedDesk::new(project.clone(), Arc::clone(&store))?);
            hosted.push(Hosted {
                name: Arc::clone(project.name()),
                store: Arc::clone(&store),
                desk: Arc::clone(&desk) as _,
            });
            keepers.push(Keeper { project, store, desk });
        }
        let site = Site::open(hosted, Arc::new(SystemClock), stop.clone()).await?;
        let served = Self { site, door: Arc::new(door), keepers, stop };
        served.greet(args, address, first.as_ref(), terminal)?;
        Ok(served)
    }

    /// Says where it is, and how to get in.
    fn greet(
        &self,
        args: &Serve,
        address: std::net::SocketAddr,
        first: Option<&unstuck_server::auth::Token>,
        terminal: &Terminal,
    ) -> Result<(), Error> {
        let (mut out, dim, code) = (terminal.styled(), style::DIM, style::CODE);
        let names: Vec<&str> = self.keepers.iter().map(|keeper| &**keeper.project.name()).collect();
        let base = args.public.first().map_or_else(
            || format!("http://{address}"),
            |public| public.trim_end_matches('/').to_owned(),
        );
        writeln!(out, "Serving {} at {code}{base}/{code:#}", names.join(", "))?;
        if let Some(token) = first {
            writeln!(out, "Your first token, shown only now: {code}{}{code:#}", token.as_str())?;
        }
        if let Some(path) = self.door.entry_path()? {
            writeln!(out, "Sign in, once and within five minutes: {code}{base}{path}{code:#}")?;
        }
        writeln!(out, "{dim}`unstuck token make` makes tokens for others. Ctrl-C ends it.{dim:#}")?;
        out.flush()?;
        Ok(())
    }

    async fn until_it_ends(
        self,
        listener: TcpListener,
        signals: &mut Signals,
        terminal: &Terminal,
    ) -> Result<Signal, Error> {
        let Self { site, door, keepers, stop } = self;
        let mut kept = JoinSet::new();
        for keeper in keepers {
            let (site, stop) = (Arc::clone(&site), stop.clone());
            kept.spawn_local(keeper.keep(site, stop));
        }
        let serving = serve(listener, app(site, &door), stop.clone());
        tokio::pin!(serving);
        let signal = tokio::select! {
            signal = signals.next() => signal,
            served = &mut serving => {
                served?;
                Signal::Terminated
            }
            Some(ended) = kept.join_next() => {
                // One project that cannot be kept is said, and ends all: nobody would notice else.
                stop.cancel();
                match ended {
                    Ok(Err(error)) => return Err(error),
                    Ok(Ok(())) | Err(_) => Signal::Terminated,
                }
            }
        };
        stop.cancel();
        let mut out = terminal.styled();
        writeln!(out, "Ending. Once more to end at once.")?;
        out.flush()?;
        let ended = async {
            serving.await?;
            while let Some(ended) = kept.join_next().await {
                ended.unwrap_or(Ok(()))?;
            }
            Ok::<_, Error>(())
        };
        tokio::select! {
            biased;
            at_once = signals.next() => return Ok(at_once),
            ended = ended => ended?,
        }
        Ok(signal)
    }
}
