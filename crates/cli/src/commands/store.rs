//! `unstuck store`: backs up, restores and verifies the store of a project.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use unstuck_store::{LossAccepted, SqliteStore, Store as _, StoreError, Verified};

use crate::args::{Store, StoreCommand};
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{self, Terminal};

pub(crate) fn run(args: &Store, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let here = |file: &Path| dir.unwrap_or(Path::new("")).join(file);
    match &args.command {
        StoreCommand::Backup { file } => back_up(&project, &here(file), terminal),
        StoreCommand::Restore { file, yes } => restore(&project, &here(file), *yes, terminal),
        StoreCommand::Verify => verify(&project, terminal),
        StoreCommand::AcceptLoss { yes } => accept_loss(&project, *yes, terminal),
    }
}

fn verify(project: &Project, terminal: &Terminal) -> Result<Exit, Error> {
    project.store()?;
    let store = SqliteStore::open(project.database())?;
    let Verified { events, last } = project::runtime()?.block_on(store.verify(project.name()))?;
    let mut out = terminal.styled();
    let events =
        render::words::number(usize::try_from(events).unwrap_or(usize::MAX), "event", "events");
    writeln!(
        out,
        "The journal of {} is what was written: {events}, the last of them {last}.",
        project.name()
    )?;
    out.flush()?;
    Ok(Exit::Done)
}

fn accept_loss(project: &Project, yes: bool, terminal: &Terminal) -> Result<Exit, Error> {
    let question = "Go on without what is lost? Builds, answers and actions of that time are \
                    forgotten; the files are kept aside.";
    if !SqliteStore::was_made(&project.database()) {
        return Err(Error::NothingHere { root: project.root().to_owned() });
    }
    if !yes && !render::agreed(terminal, "store accept-loss", question)? {
        return Ok(Exit::Done);
    }
    let aside = kept_aside(project, "before-loss");
    let holder = project::holder("store accept-loss");
    let accepting = SqliteStore::accept_loss(project.database(), project.name(), &holder, &aside);
    let accepted = project::runtime()?.block_on(accepting)?;
    let mut out = terminal.styled();
    let Some(LossAccepted { kept, had, actions }) = accepted else {
        writeln!(out, "Nothing is lost: the journal is what was written. Nothing was changed.")?;
        out.flush()?;
        return Ok(Exit::Done);
    };
    match had {
        Some(had) => writeln!(
            out,
            "{} goes on from event {kept}; its journal had come to event {had}.",
            project.name()
        )?,
        None => writeln!(out, "{} goes on from event {kept}.", project.name())?,
    }
    let keys: Vec<&str> = actions.iter().map(|action| &*action.key).collect();
    if !keys.is_empty() {
        writeln!(
            out,
            "These actions may have happened, and you are asked before they are performed again: {}",
            keys.join(", ")
        )?;
    }
    writeln!(out, "There may have been others: look before you go on.")?;
    writeln!(out, "The files as they were are kept in {}.", aside.display())?;
    out.flush()?;
    Ok(Exit::Done)
}

/// Returns a path beside the store that does not exist yet.
fn kept_aside(project: &Project, name: &str) -> PathBuf {
    project.folder().join(format!("{name}-{}", project::now().as_millis()))
}

fn back_up(project: &Project, to: &Path, terminal: &Terminal) -> Result<Exit, Error> {
    // Without a store there is nothing to copy.
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
    let database = project.database();
    let (store, kept) = match project.make_store() {
        Ok(store) => {
            drop(store);
            (
                SqliteStore::open(database)?,
                kept_aside(project, "before-restore").with_extension("db"),
            )
        }
        // A damaged store is moved aside as it is, and need not be opened to be replaced.
        Err(Error::Store(StoreError::Damaged { .. })) => {
            // A backup that is unusable too must not replace it.
            SqliteStore::check_copy(from, project.name())?;
            let aside = kept_aside(project, "before-restore");
            (SqliteStore::set_aside(&database, &aside)?, aside)
        }
        Err(error) => return Err(error),
    };
    let events = project::runtime()?.block_on(async {
        // The claim keeps other processes from the store that is about to be replaced.
        let claim = store.claim(project.name(), &project::holder("store restore")).await?;
        if !kept.exists() {
            store.back_up(kept.clone()).await?;
        }
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
