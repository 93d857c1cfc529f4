//! `unstuck store`: copies of what a project remembers, and back from them.

use std::io::Write as _;
use std::path::Path;

use unstuck_store::{SqliteStore, Store as _};

use crate::args::{Store, StoreCommand};
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{self, Terminal};

/// Carries it out.
pub(crate) fn run(args: &Store, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let here = |file: &Path| dir.unwrap_or(Path::new("")).join(file);
    match &args.command {
        StoreCommand::Backup { file } => back_up(&project, &here(file), terminal),
        StoreCommand::Restore { file, yes } => restore(&project, &here(file), *yes, terminal),
    }
}

fn back_up(project: &Project, to: &Path, terminal: &Terminal) -> Result<Exit, Error> {
    // Whoever never ran anything here has nothing to copy.
    project.store()?;
    let store = SqliteStore::open(project.database())?;
    project::runtime()?.block_on(store.back_up(to.to_owned()))?;
    let mut out = terminal.styled();
    writeln!(out, "Copied all that {} remembers to {}.", project.name(), to.display())?;
    out.flush()?;
    Ok(Exit::Done)
}

fn restore(project: &Project, from: &Path, yes: bool, terminal: &Terminal) -> Result<Exit, Error> {
    let question = format!(
        "Go back to {}? What happened since is forgotten, actions that were performed included.",
        from.display()
    );
    if !yes && !render::agreed(terminal, "store restore", &question)? {
        return Ok(Exit::Done);
    }
    project.make_store()?;
    let kept = project.folder().join(format!("before-restore-{}.db", project::now().as_millis()));
    let events = project::runtime()?.block_on(async {
        let store = SqliteStore::open(project.database())?;
        // Nobody works with what is about to be replaced.
        let claim = store.claim(project.name(), &project::holder("store restore")).await?;
        store.back_up(kept.clone()).await?;
        store.restore(from.to_owned(), project.name()).await?;
        drop(claim);
        Ok::<_, Error>(store.newest(project.name()).await?)
    })?;
    let mut out = terminal.styled();
    writeln!(out, "{} is back at event {events}, as it was copied.", project.name())?;
    writeln!(out, "What was here before is kept in {}.", kept.display())?;
    writeln!(
        out,
        "Actions that were performed since are not known any more: look before you go on."
    )?;
    out.flush()?;
    Ok(Exit::Done)
}
