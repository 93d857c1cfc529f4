//! `unstuck serve`: serves the inbox, the pages and the API of several projects.

mod frontend;
mod keeper;
mod project_host;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};
use tokio_util::sync::CancellationToken;
use unstuck_runner::CommandError;

pub(super) use self::frontend::{HttpFrontend, RunServer};
use self::keeper::ProjectSupervisor;
use self::project_host::ServedProjectHost;
use crate::context::CommandContext;
use crate::error::{CliError, ServeError};
use crate::exit::Exit;
use crate::project::{self, EndSignal, EndSignals, LocalProject};
use crate::render::Terminal;
use crate::render::style::{CODE, DIM};
use crate::settings::ServerSettings;

/// Serve the inbox, the pages and the API
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Serves the inbox, the pages and the HTTP API of one or more projects, and works \
        on their builds and jobs, until it is interrupted. Only this machine can reach it unless \
        --bind says otherwise; every request needs a token. The first token is created at the \
        first start, and a link to sign in is printed at every start.\n\n\
        To reach it from elsewhere, put a proxy with TLS in front of it and pass its address with \
        --public.",
    after_long_help = EXAMPLES
)]
pub(crate) struct ServeArgs {
    /// The project folders; default: the current project
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,

    /// The address to listen on; default: the setting `server.bind` (127.0.0.1:7424)
    #[arg(long, value_name = "ADDRESS:PORT")]
    bind: Option<SocketAddr>,

    /// The public address of the server, with `https://`
    #[arg(long, value_name = "URL")]
    public: Vec<String>,

    /// Trust the client addresses that the proxy in front of the server reports
    #[arg(long)]
    behind_proxy: bool,
}

const EXAMPLES: &str = "\
Examples:
  unstuck serve                                  this project, for this machine
  unstuck serve ~/shop ~/blog                    two projects in one inbox
  unstuck serve --public https://inbox.example.org --behind-proxy
                                                 behind a proxy with TLS
  unstuck token make --role answerer --name anna a token for a person who answers";

pub(crate) fn run(args: &ServeArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let projects = find_projects(args, context.dir)?;
    let settings = server_settings(args, &projects)?;
    let serving = async {
        let mut signals = EndSignals::new()?;
        let listener = frontend::bind_listener(settings.bind).await?;
        let served = ServeProcess::open(&settings, &listener, projects).await?;
        let signal = served.run_until_end(listener, &mut signals, context.terminal).await?;
        Ok(signal.to_exit())
    };
    project::create_runtime()?.block_on(LocalSet::new().run_until(serving))
}

/// Returns the server settings: those of the options, and otherwise those of the first project.
fn server_settings(
    args: &ServeArgs,
    projects: &[LocalProject],
) -> Result<ServerSettings, CliError> {
    let mut server = match projects.first() {
        Some(project) => project.settings()?.settings.server.clone(),
        None => ServerSettings::default(),
    };
    server.bind = args.bind.unwrap_or(server.bind);
    server.behind_proxy |= args.behind_proxy;
    if !args.public.is_empty() {
        server.public.clone_from(&args.public);
    }
    Ok(server)
}

/// Finds the named projects, whose names must be unique.
fn find_projects(args: &ServeArgs, dir: Option<&Path>) -> Result<Vec<LocalProject>, CliError> {
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
        let project = LocalProject::find(folder.as_deref())?;
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
        // Mistakes in the settings are reported before anything begins.
        project.settings()?;
        projects.push(project);
    }
    Ok(projects)
}

/// The running parts of the server.
struct ServeProcess {
    frontend: HttpFrontend,
    keepers: Vec<ProjectSupervisor>,
    stop: CancellationToken,
}

impl ServeProcess {
    async fn open(
        settings: &ServerSettings,
        listener: &TcpListener,
        projects: Vec<LocalProject>,
    ) -> Result<Self, CliError> {
        let stop = CancellationToken::new();
        let mut hosted = Vec::new();
        let mut keepers = Vec::new();
        for project in projects {
            let store = project.open_or_create_store()?;
            let host = ServedProjectHost::new(project.clone(), Arc::clone(&store))?.with_jobs();
            let host = Arc::new(host);
            hosted.push(host.to_registration());
            keepers.push((project, store, host));
        }
        let frontend = HttpFrontend::open(listener, settings, hosted, stop.clone()).await?;
        let keeper = |(project, store, host)| {
            let site = Arc::clone(&frontend.site);
            let stop = stop.clone();
            ProjectSupervisor { project, store, host, site, stop }
        };
        let keepers = keepers.into_iter().map(keeper).collect();
        Ok(Self { frontend, keepers, stop })
    }

    /// Prints the address, and the ways to log in.
    fn write_greeting(
        frontend: &HttpFrontend,
        names: &[Arc<str>],
        terminal: &Terminal,
    ) -> Result<(), CliError> {
        let mut out = terminal.styled();
        let base = &frontend.base;
        let here = frontend.address;
        write!(out, "Serving {} at {CODE}{base}/{CODE:#}", names.join(", "))?;
        // Behind a proxy both addresses are useful.
        if base.ends_with(&here.to_string()) {
            writeln!(out)?;
        } else {
            writeln!(out, ", listening at http://{here}/")?;
        }
        if let Some(token) = frontend.create_first_token()? {
            let token = token.as_str();
            writeln!(out, "Your first token, shown only now: {CODE}{token}{CODE:#}")?;
        }
        if let Some(entry) = frontend.entry_link()? {
            writeln!(out, "Sign in, once and within five minutes: {CODE}{entry}{CODE:#}")?;
        }
        writeln!(out, "{DIM}`unstuck token make` makes tokens for others. Ctrl-C ends it.{DIM:#}")?;
        Ok(out.flush()?)
    }

    async fn run_until_end(
        self,
        listener: TcpListener,
        signals: &mut EndSignals,
        terminal: &Terminal,
    ) -> Result<EndSignal, CliError> {
        let Self { frontend, keepers, stop } = self;
        let names: Vec<_> =
            keepers.iter().map(|keeper| Arc::clone(keeper.project.name())).collect();
        let mut kept = JoinSet::new();
        let mut begins = Vec::new();
        for keeper in keepers {
            let (begun, begins_now) = oneshot::channel();
            kept.spawn_local(keeper.run(begun));
            begins.push(begins_now);
        }
        let serving = frontend.serve(listener);
        tokio::pin!(serving);
        let all_begun = async {
            for begins in begins {
                // A keeper that does not begin reports the reason at its end.
                if begins.await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::pin!(all_begun);
        let mut greeted = false;
        let signal = loop {
            tokio::select! {
                biased;
                signal = signals.next() => break signal,
                served = &mut serving => {
                    served?;
                    break EndSignal::Terminated;
                }
                Some(ended) = kept.join_next() => {
                    stop.cancel();
                    ended.map_err(|_| CommandError::Ended)??;
                    break EndSignal::Terminated;
                }
                () = &mut all_begun, if !greeted => {
                    greeted = true;
                    Self::write_greeting(&frontend, &names, terminal)?;
                }
            }
        };
        stop.cancel();
        terminal.write_line("Stopping. Press Ctrl-C again to stop immediately.")?;
        let ended = async {
            serving.await?;
            while let Some(ended) = kept.join_next().await {
                ended.map_err(|_| CommandError::Ended)??;
            }
            Ok::<_, CliError>(())
        };
        tokio::select! {
            biased;
            at_once = signals.next() => return Ok(at_once),
            ended = ended => ended?,
        }
        Ok(signal)
    }
}
