//! `unstuck token`: manages the tokens of the server.

use std::io::Write;

use serde::Serialize;
use unstuck_core::time::Time;
use unstuck_server::auth::{NewToken, Reach, Role, Token, TokenEntry, TokenId, Tokens};

use crate::args::{self, MakeToken, TokenCommand, TokenRole};
use crate::error::Error;
use crate::exit::Exit;
use crate::project;
use crate::render::{self, Terminal, style, when, words};

/// Maximum width of a name in columns; a longer one is cut.
const NAME_COLUMNS_MAX: usize = 24;

/// A token in its JSON form.
#[derive(Serialize)]
struct Row<'a> {
    id: TokenId,
    name: &'a str,
    role: Role,
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

/// The context of the verb.
struct Desk<'a> {
    tokens: Tokens,
    terminal: &'a Terminal,
    json: bool,
    now: Time,
}

pub(crate) fn run(args: &args::Token, terminal: &Terminal) -> Result<Exit, Error> {
    let tokens = Tokens::at(project::state_folder().join("server"));
    let desk = Desk { tokens, terminal, json: args.json, now: project::now() };
    match &args.command {
        None | Some(TokenCommand::List) => desk.list(),
        Some(TokenCommand::Make(wish)) => desk.make(wish),
        Some(TokenCommand::Rotate { id, yes }) => desk.rotate(*id, *yes),
        Some(TokenCommand::Revoke { id, yes }) => desk.revoke(*id, *yes),
    }?;
    Ok(Exit::Done)
}

impl Desk<'_> {
    fn list(&self) -> Result<(), Error> {
        let entries = self.tokens.list()?;
        let here = self.tokens.here_id(self.now)?;
        let mut out = self.terminal.styled();
        if self.json {
            let rows: Vec<Row> = entries.iter().map(|entry| self.row(entry, here)).collect();
            render::json(&mut out, &rows)?;
        } else if entries.is_empty() {
            writeln!(out, "There are no tokens. `unstuck token make --name NAME` makes one.")?;
        } else {
            self.lines(&mut out, &entries, here)?;
        }
        Ok(out.flush()?)
    }

    fn lines(
        &self,
        out: &mut impl Write,
        entries: &[TokenEntry],
        here: Option<TokenId>,
    ) -> Result<(), Error> {
        let name =
            |entry: &TokenEntry| words::cut(&words::plain_line(&entry.name), NAME_COLUMNS_MAX);
        let columns = entries.iter().map(|entry| name(entry).chars().count());
        let widest = columns.max().unwrap_or_default();
        let code = style::CODE;
        let dim = style::DIM;
        for entry in entries {
            let TokenEntry { id, role, reach, created_at, .. } = entry;
            let id = format!("{id:<4}");
            let name = format!("{:<widest$}", name(entry));
            let role = format!("{role:<8}");
            let made = when::ago(*created_at, self.now);
            let end = self.end(entry);
            let here =
                if here == Some(entry.id) { "; kept here for your own programs" } else { "" };
            writeln!(
                out,
                "{code}{id}{code:#} {name}  {role}  {}{end}  {dim}made {made}{here}{dim:#}",
                said(reach)
            )?;
        }
        Ok(())
    }

    fn make(&self, wish: &MakeToken) -> Result<(), Error> {
        let MakeToken { name, role, projects, expires } = wish;
        let reach = if projects.is_empty() {
            Reach::All
        } else {
            Reach::Only(projects.iter().map(|name| name.as_str().into()).collect())
        };
        let expires_at = expires.map(|span| self.now + span);
        // A server that starts later then finds a token with all rights.
        self.tokens.begin(&project::whoever(), self.now)?;
        let wish = NewToken { name: name.clone(), role: (*role).into(), reach, expires_at };
        let (entry, token) = self.tokens.make(wish, self.now)?;
        self.show(&entry, &token)
    }

    fn rotate(&self, id: TokenId, yes: bool) -> Result<(), Error> {
        let entry = self.entry(id)?;
        let name = words::plain_line(&entry.name);
        let question = format!("Make token {id} ({name}) anew? The old one stops working then.");
        if !yes && !render::agreed(self.terminal, "token rotate", &question)? {
            return Ok(());
        }
        let (entry, token) = self.tokens.rotate(id, self.now)?;
        self.show(&entry, &token)
    }

    fn revoke(&self, id: TokenId, yes: bool) -> Result<(), Error> {
        let entry = self.entry(id)?;
        let name = words::plain_line(&entry.name);
        let question = format!("Take token {id} ({name}) back for good?");
        if !yes && !render::agreed(self.terminal, "token revoke", &question)? {
            return Ok(());
        }
        let entry = self.tokens.revoke(id)?;
        let mut out = self.terminal.styled();
        if self.json {
            render::json(&mut out, &self.row(&entry, None))?;
        } else {
            writeln!(out, "Token {id} ({name}) no longer works. Its sessions are over.")?;
        }
        Ok(out.flush()?)
    }

    /// Writes the token to standard output and the notes to standard error, so that a script can take the
    /// token as it is.
    fn show(&self, entry: &TokenEntry, token: &Token) -> Result<(), Error> {
        let here = self.tokens.here_id(self.now)?;
        let mut out = self.terminal.plain();
        if self.json {
            let row = Row { token: Some(token.as_str()), ..self.row(entry, here) };
            render::json(&mut out, &row)?;
        } else {
            let TokenEntry { id, name, role, reach, .. } = entry;
            let name = words::plain_line(name);
            let end = self.end(entry);
            render::note(&format!("Token {id} for {name}: {role}, {}{end}.", said(reach)));
            writeln!(out, "{}", token.as_str())?;
            out.flush()?;
            render::note(
                "Keep it now: it is not shown again. People log in with it; programs send it as\n\
                 `Authorization: Bearer TOKEN`.",
            );
        }
        Ok(out.flush()?)
    }

    fn entry(&self, id: TokenId) -> Result<TokenEntry, Error> {
        let found = self.tokens.list()?.into_iter().find(|entry| entry.id == id);
        let list = "unstuck token list";
        found.ok_or_else(|| Error::Unknown { what: "token", name: id.to_string(), list })
    }

    fn row<'a>(&self, entry: &'a TokenEntry, here: Option<TokenId>) -> Row<'a> {
        let projects = match &entry.reach {
            Reach::All => None,
            Reach::Only(names) => Some(names.iter().map(AsRef::as_ref).collect()),
        };
        Row {
            id: entry.id,
            name: &entry.name,
            role: entry.role,
            projects,
            created_at: entry.created_at,
            expires_at: entry.expires_at,
            expired: !entry.is_good(self.now),
            here: here == Some(entry.id),
            token: None,
        }
    }

    /// Formats the expiry, such as `, until 16 Dec 08:40`; empty for a token without one.
    fn end(&self, entry: &TokenEntry) -> String {
        match entry.expires_at {
            None => String::new(),
            Some(at) if entry.is_good(self.now) => format!(", until {}", when::minute(at)),
            Some(at) => format!(", expired {}", when::ago(at, self.now)),
        }
    }
}

/// Formats the projects of a token.
fn said(reach: &Reach) -> String {
    match reach {
        Reach::All => "all projects".to_owned(),
        Reach::Only(names) => {
            let names: Vec<String> = names.iter().map(|name| words::plain_line(name)).collect();
            format!("only {}", names.join(", "))
        }
    }
}

impl From<TokenRole> for Role {
    fn from(role: TokenRole) -> Self {
        match role {
            TokenRole::Answerer => Self::Answerer,
            TokenRole::Viewer => Self::Viewer,
            TokenRole::Operator => Self::Operator,
        }
    }
}
