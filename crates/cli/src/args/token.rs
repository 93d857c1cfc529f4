//! `unstuck token` on the command line.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use unstuck_core::time::Span;
use unstuck_server::auth::TokenId;

use super::value::parse_span;

/// Decide who may use the server
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Tokens are what people and programs show to `unstuck serve` to be let in. Each has a role \
        and a reach: what it lets do, and in which projects. A server that runs takes every change \
        up at once.\n\n\
        A token is shown once, when it is made; what is kept here is only enough to recognise it.",
    after_long_help = TOKEN_EXAMPLES
)]
pub(crate) struct TokenArgs {
    /// What to do; without it, lists the tokens
    #[command(subcommand)]
    pub(crate) command: Option<TokenCommand>,

    /// Write JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token, and show it once
    Make(MakeTokenArgs),
    /// List the tokens, without what they let in with
    List,
    /// Make a token anew: what was given out before stops working
    Rotate {
        /// Its number, such as `3` or `k3`
        #[arg(value_name = "ID")]
        id: TokenId,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Take a token back, and end the sessions opened with it
    Revoke {
        /// Its number, such as `3` or `k3`
        #[arg(value_name = "ID")]
        id: TokenId,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

/// A token that is wanted.
#[derive(Debug, clap::Args)]
pub(crate) struct MakeTokenArgs {
    /// Who will use it: answers record this name
    #[arg(long)]
    pub(crate) name: String,

    /// What it lets do
    #[arg(long, default_value = "answerer")]
    pub(crate) role: TokenRoleArg,

    /// Let it see this project only; may be given several times
    #[arg(long = "project", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) projects: Vec<String>,

    /// Stop accepting it after this long: 12h, 30d
    #[arg(long, value_name = "TIME", value_parser = parse_lifetime)]
    pub(crate) expires: Option<Span>,
}

/// What a token lets do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TokenRoleArg {
    /// Read and answer questions, see how the work stands and the report
    Answerer,
    /// See everything, technical detail included
    Viewer,
    /// Start, hold and end work, and make tokens
    Operator,
}

/// A length of time that is not over at once.
fn parse_lifetime(text: &str) -> Result<Span, String> {
    match parse_span(text)? {
        Span::ZERO => Err("it would never be valid; write a time such as 30d".to_owned()),
        span => Ok(span),
    }
}

const TOKEN_EXAMPLES: &str = "\
Examples:
  unstuck token                      all of them
  unstuck token make --name phone    for answering questions
  unstuck token make --name ci --role operator --project shop --expires 30d
  unstuck token rotate k2            the old one stops working
  unstuck token revoke k2            it is gone, and so are its sessions";
