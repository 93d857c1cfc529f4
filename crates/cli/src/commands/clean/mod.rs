//! `unstuck clean`: removes the leftovers of builds that are over, unless they hold changes that are saved
//! nowhere else.

mod page;
mod size;
mod sweep;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use unstuck_store::Store;

use self::sweep::SweepResult;
use crate::args::CleanArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, CommandConnection, LocalProject};
use crate::render::{self, Terminal};

const VERB: &str = "clean";

pub(crate) fn run(
    args: &CleanArgs,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let project = LocalProject::find(dir)?;
    let store = project.open_store()?;
    let runtime = project::create_runtime()?;
    let found = || runtime.block_on(sweep_while_holding(&project, &store, false));
    let swept = if args.yes {
        runtime.block_on(sweep_while_holding(&project, &store, true))?
    } else {
        let found = found()?;
        if args.dry_run || found.removable_count() == 0 {
            found
        } else {
            if !args.json {
                write_result(&found, false, terminal)?;
            }
            // The project is released while the operator decides; the sweep is repeated afterwards.
            if !render::ask_confirmation(terminal, VERB, "Remove this?")? {
                let mut out = terminal.styled();
                writeln!(out, "Nothing was changed.")?;
                out.flush()?;
                return Ok(Exit::Done);
            }
            runtime.block_on(sweep_while_holding(&project, &store, true))?
        }
    };
    write_result(&swept, args.json, terminal)?;
    Ok(Exit::Done)
}

fn write_result(swept: &SweepResult, json: bool, terminal: &Terminal) -> Result<(), CliError> {
    let mut out = terminal.styled();
    if json {
        render::write_json(&mut out, swept)?;
    } else {
        page::write_page(&mut out, swept, terminal.width())?;
    }
    out.flush()?;
    Ok(())
}

/// Lists or removes the leftovers while holding the project, so that no other process begins work there.
async fn sweep_while_holding(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    remove: bool,
) -> Result<SweepResult, CliError> {
    let line = CommandConnection::open(project, store, VERB).await?;
    if line.is_held() {
        let holder = project::current_holder(project).await;
        let who = holder.map_or_else(|| "another process".to_owned(), |holder| holder.to_string());
        let hint = "wait until it is done, or stop it; then try again".to_owned();
        return Err(CliError::NotNow { verb: VERB, said: format!("{who} is at work here"), hint });
    }
    let swept = sweep::sweep_builds(project, store.as_ref(), remove).await;
    line.close().await?;
    swept
}
