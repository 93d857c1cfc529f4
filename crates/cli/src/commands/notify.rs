//! `unstuck notify test`: checks that notifications arrive.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;
use unstuck_core::fault::Code;
use unstuck_runner::notify::{Tested, test};
use unstuck_world::notify::Channel;

use crate::args::{Notify, NotifyCommand};
use crate::error::Error;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::project::{self, Project};
use crate::render::{self, Terminal, style};
use crate::settings::{Flags, Resolved};

/// The result of a channel in its JSON form.
#[derive(Serialize)]
struct Row {
    channel: String,
    arrived: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub(crate) fn run(args: &Notify, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let NotifyCommand::Test { channel, json, config } = &args.command;
    let project = Project::find(dir)?;
    let resolved = Resolved::load(project.root(), config.path.as_deref(), &Flags::new())?;
    let project = project.with(resolved);
    // Channels that run a program have their lock files there.
    project.make_store()?;
    let channels = wanted(project::channels(&project)?, channel.as_deref())?;
    let tested = project::runtime()?.block_on(test(project.name(), &channels, project::now()));
    let rows: Vec<Row> = tested.into_iter().map(row).collect();
    let all = rows.iter().all(|row| row.arrived);
    let mut out = terminal.styled();
    if *json {
        render::json(&mut out, &rows)?;
    } else {
        for row in &rows {
            let (mark, color) =
                if row.arrived { ("✔", style::HINT) } else { ("✘", style::ERROR) };
            let why = row.why.as_deref().unwrap_or("a test message was sent");
            writeln!(out, "{color}{mark}{color:#} {}: {why}", row.channel)?;
        }
    }
    out.flush()?;
    Ok(if all { Exit::Done } else { Exit::SomeFailed })
}

fn row(Tested { channel, arrived }: Tested) -> Row {
    let why = arrived.as_ref().err().map(ToString::to_string);
    Row { channel, arrived: arrived.is_ok(), why }
}

fn wanted(channels: Vec<Channel>, name: Option<&str>) -> Result<Vec<Channel>, Error> {
    if channels.is_empty() {
        let problem = Problem::at(Code::ConfigMissing, "notify", "no channel is set up");
        let hint = "for example: [notify.me] kind = \"desktop\"";
        return Err(Error::Problems(vec![problem.hinting(hint)]));
    }
    let Some(name) = name else { return Ok(channels) };
    let found: Vec<Channel> =
        channels.into_iter().filter(|channel| channel.name() == name).collect();
    if found.is_empty() {
        let list = "unstuck config notify";
        return Err(Error::Unknown { what: "channel", name: name.to_owned(), list });
    }
    Ok(found)
}
