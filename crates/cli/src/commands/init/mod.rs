//! `unstuck init`: inspects a project and writes its first settings.

mod files;
mod found;
mod settings_file;
mod show;
mod tables;
mod when;

use std::io::Write as _;
use std::path::Path;

use crate::args::Init;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{self, Terminal};
use found::Found;
use show::Report;

pub(crate) fn run(args: &Init, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let root = project.root();
    let found = project::runtime()?.block_on(Found::look(root));
    let files = [
        files::settings(root, &settings_file::text(&found), args.force)?,
        files::example(root)?,
        files::ignore(root, &found.not_ignored)?,
    ];
    let report = Report::new(root, &files, &found);
    if args.json {
        let mut out = terminal.plain();
        render::json(&mut out, &report)?;
        out.flush()?;
    } else {
        report.page(terminal)?;
    }
    Ok(Exit::Done)
}
