//! `unstuck init`: inspects a project and writes its first settings.

mod files;
mod found;
mod settings_file;
mod show;
mod tables;
mod when;

use std::io::Write as _;
use std::path::Path;

use crate::args::InitArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::{self, Terminal};
use found::ProjectFindings;
use show::InitReport;

pub(crate) fn run(
    args: &InitArgs,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let project = LocalProject::find(dir)?;
    let root = project.root();
    let found = project::create_runtime()?.block_on(ProjectFindings::inspect(root));
    let files = [
        files::write_settings(root, &settings_file::compose_settings(&found), args.force)?,
        files::write_example(root)?,
        files::write_gitignore(root, &found.not_ignored)?,
    ];
    let report = InitReport::new(root, &files, &found);
    if args.json {
        let mut out = terminal.plain();
        render::write_json(&mut out, &report)?;
        out.flush()?;
    } else {
        report.write_page(terminal)?;
    }
    Ok(Exit::Done)
}
