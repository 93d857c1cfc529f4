//! `unstuck serve` on the command line.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Serve the inbox, the pages and the API
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Serves the inbox, the pages and the HTTP API of one or more projects, and goes on with their \
        builds and jobs, until it is interrupted. Only this machine can reach it unless --bind says \
        otherwise; every request needs a token. The first one is made at the first start, and a link to \
        sign in is printed at every start.\n\n\
        To reach it from elsewhere, put a proxy with TLS in front and name its address with --public.",
    after_long_help = EXAMPLES
)]
pub(crate) struct ServeArgs {
    /// The folders of the projects; without any, the one here
    #[arg(value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,

    /// Listen here; without it `server.bind` of the settings, which is 127.0.0.1:7424
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) bind: Option<SocketAddr>,

    /// An address under which it is reached from elsewhere, with its `https://`
    #[arg(long, value_name = "URL")]
    pub(crate) public: Vec<String>,

    /// All requests come from a proxy that says whom it got them from
    #[arg(long)]
    pub(crate) behind_proxy: bool,
}

const EXAMPLES: &str = "\
Examples:
  unstuck serve                                  this project, for this machine
  unstuck serve ~/shop ~/blog                    two projects in one inbox
  unstuck serve --public https://inbox.example.org --behind-proxy
                                                 behind a proxy with TLS
  unstuck token make --role answerer --name anna a token for a person who answers";
