//! `unstuck store`: backs up, restores and verifies the store of a project.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use unstuck_store::{AcceptedLoss, JournalVerification, SqliteStore, Store as _, StoreError};

use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::{self, Terminal};

/// Keep a copy of what a project remembers, go back to one, go on after a loss
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Everything that Unstuck remembers about a project is in one database: the journal, \
        questions and answers, the tries of each error, and which irreversible actions were performed. \
        `backup` copies it as it is at one moment, also while something runs. `restore` puts a copy in \
        its place. `verify` walks through the journal and its seals.\n\n\
        A journal that lost something is refused, because an action in it might be performed twice. \
        Where there is no copy, `accept-loss` goes on with what is left: of the actions that were let \
        go since, those that are known are asked about before they are performed again.\n\n\
        What happened after the copy was made is forgotten by going back to it, actions that were \
        performed included. So look first, and go back only when the database itself is lost.",
    after_long_help = STORE_EXAMPLES
)]
pub(crate) struct StoreArgs {
    /// What to do
    #[command(subcommand)]
    command: StoreCommand,
}

/// What can be done with a store.
#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Copy everything into a new file
    Backup {
        /// The file; it must not be there yet
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Go back to a copy; nothing may be running
    Restore {
        /// The copy
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Walk through the journal, and say whether it is what was written
    Verify,
    /// Go on without what the journal lost; nothing may be running
    AcceptLoss {
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

const STORE_EXAMPLES: &str = "\
Examples:
  unstuck store backup ~/copies/shop.db     copy it, also while something runs
  unstuck store restore ~/copies/shop.db    go back to that copy
  unstuck store verify                      is the journal what was written?
  unstuck store accept-loss                 go on with what is left of it";

pub(crate) fn run(
    args: &StoreArgs,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let project = LocalProject::find(dir)?;
    let here = |file: &Path| dir.unwrap_or(Path::new("")).join(file);
    match &args.command {
        StoreCommand::Backup { file } => back_up(&project, &here(file), terminal),
        StoreCommand::Restore { file, yes } => restore_copy(&project, &here(file), *yes, terminal),
        StoreCommand::Verify => verify_journal(&project, terminal),
        StoreCommand::AcceptLoss { yes } => accept_loss(&project, *yes, terminal),
    }
}

fn verify_journal(project: &LocalProject, terminal: &Terminal) -> Result<Exit, CliError> {
    project.open_store()?;
    let store = SqliteStore::open(project.database_path())?;
    let JournalVerification { events, last } =
        project::create_runtime()?.block_on(store.verify_journal(project.name()))?;
    let mut out = terminal.styled();
    let events = render::words::render_count(
        usize::try_from(events).unwrap_or(usize::MAX),
        "event",
        "events",
    );
    writeln!(
        out,
        "The journal of {} is what was written: {events}, the last of them {last}.",
        project.name()
    )?;
    out.flush()?;
    Ok(Exit::Done)
}

fn accept_loss(project: &LocalProject, yes: bool, terminal: &Terminal) -> Result<Exit, CliError> {
    let question = "Go on without what is lost? Builds, answers and actions of that time are \
                    forgotten; the files are kept aside.";
    if !SqliteStore::was_made(&project.database_path()) {
        return Err(CliError::NothingHere { root: project.root().to_owned() });
    }
    if !yes && !render::ask_confirmation(terminal, "store accept-loss", question)? {
        return Ok(Exit::Done);
    }
    let aside = aside_path(project, "before-loss");
    let holder = project::describe_holder("store accept-loss");
    let accepting =
        SqliteStore::accept_loss(project.database_path(), project.name(), &holder, &aside);
    let accepted = project::create_runtime()?.block_on(accepting)?;
    let mut out = terminal.styled();
    let Some(AcceptedLoss { kept, had, actions }) = accepted else {
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
fn aside_path(project: &LocalProject, name: &str) -> PathBuf {
    project.unstuck_folder().join(format!("{name}-{}", project::now().as_millis()))
}

fn back_up(project: &LocalProject, to: &Path, terminal: &Terminal) -> Result<Exit, CliError> {
    // Without a store there is nothing to copy.
    project.open_store()?;
    let store = SqliteStore::open(project.database_path())?;
    project::create_runtime()?.block_on(store.back_up(to.to_owned()))?;
    let mut out = terminal.styled();
    writeln!(out, "Copied all that {} remembers to {}.", project.name(), to.display())?;
    out.flush()?;
    Ok(Exit::Done)
}

fn restore_copy(
    project: &LocalProject,
    from: &Path,
    yes: bool,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let question = format!(
        "Go back to {}? What happened since is forgotten, actions that were performed included.",
        from.display()
    );
    if !yes && !render::ask_confirmation(terminal, "store restore", &question)? {
        return Ok(Exit::Done);
    }
    let database = project.database_path();
    let (store, kept) = match project.open_or_create_store() {
        Ok(store) => {
            drop(store);
            (
                SqliteStore::open(database)?,
                aside_path(project, "before-restore").with_extension("db"),
            )
        }
        // A damaged store is moved aside as it is, and need not be opened to be replaced.
        Err(CliError::Store(StoreError::Damaged { .. })) => {
            // A backup that is unusable too must not replace it.
            SqliteStore::check_copy(from, project.name())?;
            let aside = aside_path(project, "before-restore");
            (SqliteStore::set_aside(&database, &aside)?, aside)
        }
        Err(error) => return Err(error),
    };
    let events = project::create_runtime()?.block_on(async {
        // The claim keeps other processes from the store that is about to be replaced.
        let claim =
            store.claim_project(project.name(), &project::describe_holder("store restore")).await?;
        if !kept.exists() {
            store.back_up(kept.clone()).await?;
        }
        store.restore_copy(from.to_owned(), project.name()).await?;
        drop(claim);
        Ok::<_, CliError>(store.load_newest_seq(project.name()).await?)
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
