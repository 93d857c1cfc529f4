//! `unstuck store`: backs up, restores and verifies the store of a project.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use unstuck_store::{AcceptedLoss, JournalVerification, SqliteStore, Store as _, StoreError};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::{self, Terminal, words};

/// Back up, restore and verify a project's database
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Everything that Unstuck remembers about a project is in one database: the \
        journal, questions and answers, the retry counters of each error, and which irreversible \
        actions were performed. `backup` copies it in one consistent state, also while something \
        runs. `restore` replaces it with a copy. `verify` checks the journal and its seals.\n\n\
        A journal that lost events is refused, because an action in it might be performed twice. \
        If there is no copy, `accept-loss` continues with what is left: the known actions of the \
        lost part are asked about before they are performed again.\n\n\
        Restoring a copy forgets everything that happened after it was made, including actions \
        that were performed. So check first, and restore only when the database itself is lost.",
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
    /// Copy the database into a new file
    Backup {
        /// The new file; it must not exist yet
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Restore a copy; nothing may be running
    Restore {
        /// The copy
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Verify that the journal is complete and unchanged
    Verify,
    /// Continue without the lost part of the journal; nothing may be running
    AcceptLoss {
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
}

const STORE_EXAMPLES: &str = "\
Examples:
  unstuck store backup ~/copies/shop.db     copy it, also while something runs
  unstuck store restore ~/copies/shop.db    restore that copy
  unstuck store verify                      check that the journal is complete and unchanged
  unstuck store accept-loss                 continue with what is left";

pub(crate) fn run(args: &StoreArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let terminal = context.terminal;
    let here = |file: &Path| context.dir.unwrap_or(Path::new("")).join(file);
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
    let events = usize::try_from(events).unwrap_or(usize::MAX);
    let events = words::render_count(events, "event", "events");
    let name = project.name();
    terminal.write_line(&format!(
        "The journal of {name} is what was written: {events}, the last of them {last}."
    ))?;
    Ok(Exit::Done)
}

fn accept_loss(project: &LocalProject, yes: bool, terminal: &Terminal) -> Result<Exit, CliError> {
    let question = "Continue without what is lost? Builds, answers and actions of that time are \
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
    let Some(loss) = accepted else {
        terminal
            .write_line("Nothing is lost: the journal is what was written. Nothing was changed.")?;
        return Ok(Exit::Done);
    };
    terminal.write_page(|out| write_loss(out, project.name(), &loss, &aside))?;
    Ok(Exit::Done)
}

fn write_loss(
    out: &mut impl Write,
    name: &str,
    loss: &AcceptedLoss,
    aside: &Path,
) -> io::Result<()> {
    let AcceptedLoss { kept, had, actions } = loss;
    match had {
        Some(had) => {
            writeln!(
                out,
                "{name} continues from event {kept}; its journal had come to event {had}."
            )?;
        }
        None => writeln!(out, "{name} continues from event {kept}.")?,
    }
    let keys: Vec<&str> = actions.iter().map(|action| &*action.key).collect();
    if !keys.is_empty() {
        writeln!(
            out,
            "These actions may have happened, and you are asked before they are performed again: {}",
            keys.join(", ")
        )?;
    }
    writeln!(out, "There may have been others: check before you continue.")?;
    writeln!(out, "The files as they were are kept in {}.", aside.display())
}

/// Returns a path beside the store that does not exist yet.
fn aside_path(project: &LocalProject, name: &str) -> PathBuf {
    project.unstuck_folder().join(format!("{name}-{}", project::now().as_millis()))
}

fn back_up(project: &LocalProject, to: &Path, terminal: &Terminal) -> Result<Exit, CliError> {
    // Without a store there is nothing to copy.
    project.open_store()?;
    if to.exists() {
        return Err(CliError::NotNow {
            verb: "store backup",
            said: format!("{} exists already", to.display()),
            hint: "name a new file".to_owned(),
        });
    }
    let store = SqliteStore::open(project.database_path())?;
    project::create_runtime()?.block_on(store.back_up(to.to_owned()))?;
    let name = project.name();
    terminal.write_line(&format!("Copied the database of {name} to {}.", to.display()))?;
    let results = project.results_folder();
    if fs::read_dir(&results).is_ok_and(|mut files| files.next().is_some()) {
        terminal.write_line(&format!(
            "It refers to long results of actions, which are files in {}: copy that folder as well.",
            results.display()
        ))?;
    }
    Ok(Exit::Done)
}

fn restore_copy(
    project: &LocalProject,
    from: &Path,
    yes: bool,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    refuse_unusable_copy(from, project.name())?;
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
    let name = project.name();
    terminal.write_line(&format!(
        "{name} is back at event {events}, as it was copied.\n\
         What was here before is kept in {}.\n\
         Actions that were performed since are not known any more: check before you continue.",
        kept.display()
    ))?;
    Ok(Exit::Done)
}

/// Refuses a copy that cannot be restored, before anything is changed.
fn refuse_unusable_copy(from: &Path, project: &str) -> Result<(), CliError> {
    let refuse = |said: String| CliError::NotNow {
        verb: "store restore",
        said: format!("{said}. Nothing was changed"),
        hint: "name a file that `unstuck store backup` wrote".to_owned(),
    };
    if !from.is_file() {
        return Err(refuse(format!("there is no file {}", from.display())));
    }
    match SqliteStore::check_copy(from, project) {
        Err(StoreError::Damaged { what, .. }) => {
            Err(refuse(format!("{} is not a usable copy: {what}", from.display())))
        }
        checked => Ok(checked?),
    }
}
