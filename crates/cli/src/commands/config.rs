//! `unstuck config`: shows the resolved settings. `unstuck schema`: writes the schema of all settings.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::args::{Config, Schema, SchemaOf};
use crate::error::Error;
use crate::exit::Exit;
use crate::project::Project;
use crate::render::{self, Terminal, style};
use crate::settings::{Flags, Origin, Resolved, Shown, schema};

/// A setting in its JSON form.
#[derive(Serialize)]
struct Row<'a> {
    key: &'a str,
    value: Option<&'a toml::Value>,
    origin: String,
}

pub(crate) fn run(args: &Config, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let resolved = Resolved::load(project.root(), args.file.path.as_deref(), &Flags::new())?;
    let wanted = |shown: &Shown| {
        let named = args.key.as_deref().is_none_or(|key| is_under(&shown.path, key));
        named && (!args.changed || shown.origin != Origin::Default)
    };
    let shown: Vec<Shown> = resolved.shown().into_iter().filter(wanted).collect();
    if let (Some(key), true) = (&args.key, shown.is_empty() && !args.changed) {
        return Err(Error::Unknown { what: "setting", name: key.clone(), list: "unstuck config" });
    }
    if args.json {
        let rows: Vec<Row<'_>> = shown.iter().map(row).collect();
        let mut out = terminal.plain();
        render::json(&mut out, &rows)?;
        out.flush()?;
    } else {
        page(&shown, terminal)?;
    }
    Ok(Exit::Done)
}

/// Writes the JSON schema of the settings or of the events.
pub(crate) fn schema_of(args: &Schema, terminal: &Terminal) -> Result<Exit, Error> {
    let mut out = terminal.plain();
    let schema = match args.of {
        SchemaOf::Settings => schema(),
        SchemaOf::Events => render::event_schema(),
    };
    render::json(&mut out, &schema)?;
    out.flush()?;
    Ok(Exit::Done)
}

fn row(Shown { path, value, origin }: &Shown) -> Row<'_> {
    Row { key: path, value: value.as_ref(), origin: origin.to_string() }
}

fn is_under(path: &str, key: &str) -> bool {
    path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn page(shown: &[Shown], terminal: &Terminal) -> Result<(), Error> {
    let title = style::TITLE;
    let dim = style::DIM;
    let mut out = terminal.styled();
    let mut section = "";
    for Shown { path, value, origin } in shown {
        // A job is a section of its own.
        let split =
            if path.starts_with("job.") { path.rsplit_once('.') } else { path.split_once('.') };
        let (in_section, key) = split.unwrap_or(("", path));
        if in_section != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            writeln!(out, "{gap}{title}[{in_section}]{title:#}")?;
            section = in_section;
        }
        let value = value.as_ref().map_or_else(|| "(not set)".to_owned(), ToString::to_string);
        let line = format!("{key} = {value}");
        match origin {
            Origin::Default => writeln!(out, "{dim}{line}{dim:#}")?,
            origin => writeln!(out, "{line}  {dim}# {origin}{dim:#}")?,
        }
    }
    out.flush()?;
    Ok(())
}
