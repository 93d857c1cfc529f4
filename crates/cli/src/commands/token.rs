//! `unstuck token`: manages the tokens of the server.

use std::io::{self, Write};

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use serde::Serialize;
use unstuck_core::time::{Span, Time};
use unstuck_server::auth::{
    AccessRole, AccessToken, AccessTokenStore, NewToken, ProjectVisibility, TokenEntry, TokenId,
};

use crate::args::parse_span;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project;
use crate::render::style::{CODE, DIM};
use crate::render::{self, Terminal, when, words};

/// Manage access tokens
#[derive(Debug, clap::Args)]
#[command(
    long_about = "People and programs sign in to `unstuck serve` with tokens. Each has a role and \
        a reach: its permissions, and the projects it is valid for. A running server applies every \
        change at once.\n\n\
        A token is shown once, when it is created; only what is needed to recognise it is stored.",
    after_long_help = TOKEN_EXAMPLES
)]
pub(crate) struct TokenArgs {
    /// What to do; without it, lists the tokens
    #[command(subcommand)]
    command: Option<TokenCommand>,

    /// Write JSON
    #[arg(long, global = true)]
    json: bool,
}

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Create a token and show it once
    Make(MakeTokenArgs),
    /// List the tokens without their secrets
    List,
    /// Replace a token; the old one stops working
    Rotate {
        /// The token, such as `3` or `k3`
        #[arg(value_name = "ID")]
        id: TokenId,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Revoke a token and end the sessions opened with it
    Revoke {
        /// The token, such as `3` or `k3`
        #[arg(value_name = "ID")]
        id: TokenId,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
}

/// A token that is wanted.
#[derive(Debug, clap::Args)]
struct MakeTokenArgs {
    /// The name of the user; answers record it
    #[arg(long)]
    name: String,

    /// The permissions of the token
    #[arg(long, default_value = "answerer")]
    role: TokenRoleArg,

    /// Limit the token to this project; may be given several times
    #[arg(long = "project", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    projects: Vec<String>,

    /// Let the token expire after this time: 12h, 30d
    #[arg(long, value_name = "TIME", value_parser = parse_lifetime)]
    expires: Option<Span>,
}

/// What a token lets do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TokenRoleArg {
    /// Read and answer questions, see the progress and the report
    Answerer,
    /// See everything, including technical details
    Viewer,
    /// Start, pause and cancel work, and create tokens
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
  unstuck token                      list all tokens
  unstuck token make --name phone    for answering questions
  unstuck token make --name ci --role operator --project shop --expires 30d
  unstuck token rotate k2            the old one stops working
  unstuck token revoke k2            it stops working, and its sessions end";

/// Maximum width of a name in columns; a longer one is cut.
const NAME_COLUMNS_MAX: usize = 24;

#[derive(Serialize)]
struct TokenRow<'a> {
    id: TokenId,
    name: &'a str,
    role: AccessRole,
    /// `None` for all projects.
    projects: Option<Vec<&'a str>>,
    created_at: Time,
    expires_at: Option<Time>,
    expired: bool,
    /// Set if the token is in the user's own folder, for the user's programs.
    here: bool,
    /// The token itself, only when it was just created.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
}

struct TokenContext<'a> {
    tokens: AccessTokenStore,
    terminal: &'a Terminal,
    json: bool,
    now: Time,
}

pub(crate) fn run(args: &TokenArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let tokens = AccessTokenStore::in_folder(project::user_state_folder().join("server"));
    let context = TokenContext { tokens, terminal, json: args.json, now: project::now() };
    match &args.command {
        None | Some(TokenCommand::List) => context.write_list(),
        Some(TokenCommand::Make(wish)) => context.make_token(wish),
        Some(TokenCommand::Rotate { id, yes }) => context.rotate_token(*id, *yes),
        Some(TokenCommand::Revoke { id, yes }) => context.revoke_token(*id, *yes),
    }?;
    Ok(Exit::Done)
}

impl TokenContext<'_> {
    fn write_list(&self) -> Result<(), CliError> {
        let entries = self.tokens.list_entries()?;
        let here = self.tokens.local_token_id(self.now)?;
        let rows: Vec<TokenRow> = entries.iter().map(|entry| self.token_row(entry, here)).collect();
        self.terminal.write_result(self.json, &rows, |out| {
            if entries.is_empty() {
                writeln!(out, "There are no tokens. `unstuck token make --name NAME` makes one.")
            } else {
                self.write_lines(out, &entries, here)
            }
        })
    }

    fn write_lines(
        &self,
        out: &mut impl Write,
        entries: &[TokenEntry],
        here: Option<TokenId>,
    ) -> io::Result<()> {
        let name = |entry: &TokenEntry| {
            words::cut_to_columns(&words::plain_line(&entry.name), NAME_COLUMNS_MAX)
        };
        let columns = entries.iter().map(|entry| name(entry).chars().count());
        let widest = columns.max().unwrap_or_default();
        for entry in entries {
            let TokenEntry { id, role, reach, created_at, .. } = entry;
            let id = format!("{id:<4}");
            let name = format!("{:<widest$}", name(entry));
            let role = format!("{role:<8}");
            let made = when::render_ago(*created_at, self.now);
            let end = self.render_expiry(entry);
            let here =
                if here == Some(entry.id) { "; kept here for your own programs" } else { "" };
            writeln!(
                out,
                "{CODE}{id}{CODE:#} {name}  {role}  {}{end}  {DIM}made {made}{here}{DIM:#}",
                render_reach(reach)
            )?;
        }
        Ok(())
    }

    fn make_token(&self, wish: &MakeTokenArgs) -> Result<(), CliError> {
        let MakeTokenArgs { name, role, projects, expires } = wish;
        let reach = if projects.is_empty() {
            ProjectVisibility::All
        } else {
            ProjectVisibility::Only(projects.iter().map(|name| name.as_str().into()).collect())
        };
        let expires_at = expires.map(|span| self.now + span);
        // A server that starts later then finds a token with all rights.
        self.tokens.ensure_first_token(&project::current_user(), self.now)?;
        let wish = NewToken { name: name.clone(), role: (*role).into(), reach, expires_at };
        let (entry, token) = self.tokens.create_token(wish, self.now)?;
        self.write_token(&entry, &token)
    }

    fn rotate_token(&self, id: TokenId, yes: bool) -> Result<(), CliError> {
        let entry = self.find_entry(id)?;
        let name = words::plain_line(&entry.name);
        let question = format!("Make token {id} ({name}) anew? The old one stops working then.");
        if !yes && !render::ask_confirmation(self.terminal, "token rotate", &question)? {
            return Ok(());
        }
        let (entry, token) = self.tokens.rotate_token(id, self.now)?;
        self.write_token(&entry, &token)
    }

    fn revoke_token(&self, id: TokenId, yes: bool) -> Result<(), CliError> {
        let entry = self.find_entry(id)?;
        let name = words::plain_line(&entry.name);
        let question = format!("Take token {id} ({name}) back for good?");
        if !yes && !render::ask_confirmation(self.terminal, "token revoke", &question)? {
            return Ok(());
        }
        let entry = self.tokens.revoke_token(id)?;
        self.terminal.write_result(self.json, &self.token_row(&entry, None), |out| {
            writeln!(out, "Token {id} ({name}) no longer works. Its sessions are over.")
        })
    }

    /// Writes the token to standard output and the notes to standard error, so that a script can take the
    /// token as it is.
    fn write_token(&self, entry: &TokenEntry, token: &AccessToken) -> Result<(), CliError> {
        let here = self.tokens.local_token_id(self.now)?;
        let mut out = self.terminal.plain();
        if self.json {
            let row = TokenRow { token: Some(token.as_str()), ..self.token_row(entry, here) };
            render::write_json(&mut out, &row)?;
        } else {
            let TokenEntry { id, name, role, reach, .. } = entry;
            let name = words::plain_line(name);
            let end = self.render_expiry(entry);
            render::write_note(&format!(
                "Token {id} for {name}: {role}, {}{end}.",
                render_reach(reach)
            ));
            writeln!(out, "{}", token.as_str())?;
            out.flush()?;
            render::write_note(
                "Keep it now: it is not shown again. People log in with it; programs send it as\n\
                 `Authorization: Bearer TOKEN`.",
            );
        }
        Ok(out.flush()?)
    }

    fn find_entry(&self, id: TokenId) -> Result<TokenEntry, CliError> {
        let found = self.tokens.list_entries()?.into_iter().find(|entry| entry.id == id);
        found.ok_or_else(|| CliError::unknown("token", id, "unstuck token list"))
    }

    fn token_row<'a>(&self, entry: &'a TokenEntry, here: Option<TokenId>) -> TokenRow<'a> {
        let projects = match &entry.reach {
            ProjectVisibility::All => None,
            ProjectVisibility::Only(names) => Some(names.iter().map(AsRef::as_ref).collect()),
        };
        TokenRow {
            id: entry.id,
            name: &entry.name,
            role: entry.role,
            projects,
            created_at: entry.created_at,
            expires_at: entry.expires_at,
            expired: !entry.is_valid(self.now),
            here: here == Some(entry.id),
            token: None,
        }
    }

    /// Formats the expiry, such as `, until 16 Dec 08:40`; empty for a token without one.
    fn render_expiry(&self, entry: &TokenEntry) -> String {
        match entry.expires_at {
            None => String::new(),
            Some(at) if entry.is_valid(self.now) => format!(", until {}", when::render_minute(at)),
            Some(at) => format!(", expired {}", when::render_ago(at, self.now)),
        }
    }
}

fn render_reach(reach: &ProjectVisibility) -> String {
    match reach {
        ProjectVisibility::All => "all projects".to_owned(),
        ProjectVisibility::Only(names) => {
            let names: Vec<String> = names.iter().map(|name| words::plain_line(name)).collect();
            format!("only {}", names.join(", "))
        }
    }
}

impl From<TokenRoleArg> for AccessRole {
    fn from(role: TokenRoleArg) -> Self {
        match role {
            TokenRoleArg::Answerer => Self::Answerer,
            TokenRoleArg::Viewer => Self::Viewer,
            TokenRoleArg::Operator => Self::Operator,
        }
    }
}
